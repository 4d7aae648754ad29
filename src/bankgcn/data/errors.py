"""What can be wrong with graphs."""

from __future__ import annotations


class GraphError(ValueError):
    """Graphs that contradict themselves: an edge to a missing node, a signal that is not a number."""
