"""Graphs in, batches out."""

from bankgcn.data.batch import GraphBatch
from bankgcn.data.errors import GraphError
from bankgcn.data.graphs import GraphSet
from bankgcn.files.errors import FileError

__all__ = ["FileError", "GraphBatch", "GraphError", "GraphSet"]
