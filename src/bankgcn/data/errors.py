"""The error of invalid graphs."""

from __future__ import annotations


class GraphError(ValueError):
    """Invalid graphs: for example an edge to a missing node, or an attribute that is not a number.

    Args:
        message: What is wrong; a :class:`~bankgcn.messages.Message` if it names options.
    """

    def __init__(self, message: str):
        super().__init__(message)
        self.message = message
