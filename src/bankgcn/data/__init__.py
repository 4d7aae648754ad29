"""Graphs in, batches out."""

from typing import TYPE_CHECKING

from bankgcn.extras import lazy_names
from bankgcn.files.checked import FileError

if TYPE_CHECKING:
    from bankgcn.data.batch import GraphBatch
    from bankgcn.data.errors import GraphError
    from bankgcn.data.graphs import GraphSet

__all__ = ["FileError", "GraphBatch", "GraphError", "GraphSet"]

__getattr__ = lazy_names(
    __name__,
    {
        "batch": ("GraphBatch",),
        "errors": ("GraphError",),
        "graphs": ("GraphSet",),
    },
)
