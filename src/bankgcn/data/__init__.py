"""Graphs in, batches out."""

from bankgcn.data.batch import GraphBatch
from bankgcn.data.errors import DataFileError, GraphError
from bankgcn.data.graphs import GraphSet

__all__ = ["DataFileError", "GraphBatch", "GraphError", "GraphSet"]
