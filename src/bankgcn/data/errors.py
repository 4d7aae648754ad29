"""The error of invalid graphs."""

from __future__ import annotations


class GraphError(ValueError):
    """Invalid graphs: for example an edge to a missing node, or an attribute that is not a number."""
