"""Divides graphs into blocks, which go through the network one by one, and the blocks of a batch into chunks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import jit_cached

MAX_BLOCK_NODES = 96  # a graph with more nodes is a block by itself
# A chunk of a batch has its own gradient. They are added in order, whichever thread computed them.
MIN_CHUNK_NODES, MAX_CHUNKS = 1024, 16


class Chunks(NamedTuple):
    """Batches of graphs, divided into chunks of whole blocks, and the size of the largest block."""

    graph_ptr: NDArray[np.int64]  # (chunks + 1,): start of each chunk's graphs
    batch_ptr: NDArray[np.int64]  # (batches + 1,): start of each batch's chunks
    nodes: int
    graphs: int
    edges: int


def divide(node_ptr: NDArray[np.int64], rowptr: NDArray[np.int64], batch_ptr: NDArray[np.int64]) -> Chunks:
    """Divide each batch; the result depends on its graphs alone.

    Args:
        node_ptr: Start of each graph's nodes.
        rowptr: Start of each node's edges.
        batch_ptr: Start of each batch's graphs.
    """
    graph_ptr = np.zeros(len(node_ptr) + len(batch_ptr), np.int64)
    chunk_ptr = np.zeros(len(batch_ptr), np.int64)
    largest = np.zeros(3, np.int64)
    chunks = _divide(node_ptr, rowptr, batch_ptr, graph_ptr, chunk_ptr, largest)
    return Chunks(graph_ptr[: chunks + 1].copy(), chunk_ptr, *map(int, largest))


@jit_cached
def block_end(node_ptr, begin, last):
    """The end of the block that starts with graph ``begin``: at most ``last``."""
    end = begin + 1
    while end < last and end - begin < MAX_BLOCK_NODES and node_ptr[end + 1] - node_ptr[begin] <= MAX_BLOCK_NODES:
        end += 1
    return end


@jit_cached
def _divide(node_ptr, rowptr, batch_ptr, graph_ptr, chunk_ptr, largest):
    """Write the start of each chunk and each batch's first chunk; return the number of chunks."""
    chunk = 0
    for batch in range(len(batch_ptr) - 1):
        begin, last = batch_ptr[batch], batch_ptr[batch + 1]
        nodes = node_ptr[last] - node_ptr[begin]
        enough = max(MIN_CHUNK_NODES, (nodes + MAX_CHUNKS - 1) // MAX_CHUNKS)
        start = begin
        while begin < last:
            end = block_end(node_ptr, begin, last)
            first, after = node_ptr[begin], node_ptr[end]
            largest[0] = max(largest[0], after - first)
            largest[1] = max(largest[1], end - begin)
            largest[2] = max(largest[2], rowptr[after] - rowptr[first] + after - first)
            begin = end
            if after - node_ptr[start] >= enough or begin == last:
                chunk += 1
                graph_ptr[chunk] = begin
                start = begin
        chunk_ptr[batch + 1] = chunk
    return chunk
