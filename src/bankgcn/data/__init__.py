"""Graphs in, batches out; and the error of invalid graphs."""

from typing import TYPE_CHECKING

from bankgcn.extras import lazy_names
from bankgcn.files.checked import FileError

if TYPE_CHECKING:
    from bankgcn.data.batch import GraphBatch
    from bankgcn.data.graphs import GraphSet

__all__ = ["FileError", "GraphBatch", "GraphError", "GraphSet", "UnsuitableGraphs"]

__getattr__ = lazy_names(
    __name__,
    {
        "batch": ("GraphBatch",),
        "graphs": ("GraphSet",),
    },
)


class GraphError(ValueError):
    """Invalid graphs: for example an edge to a missing node, or an attribute that is not a number.

    Args:
        message: What is wrong; a :class:`~bankgcn.messages.Message` if it names options.
    """

    def __init__(self, message: str):
        super().__init__(message)
        self.message = message


class UnsuitableGraphs(ValueError):
    """Valid graphs that a model of this kind cannot take: it lacks what they carry, or they are too many."""
