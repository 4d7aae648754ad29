"""Gathers some graphs of a set, as the executor takes them, with the operator of a convolution.

Graphs are divided into blocks, which go through the network one by one, and the blocks of a batch into chunks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bankgcn.kernels.jit.compiler import jit_cached
from bankgcn.kernels.network.flat_arrays import FlatArrays
from bankgcn.kernels.network.program import MAX_BLOCK_NODES, Operator

LAPLACIAN, RENORMALIZED, MEAN, SUM = range(4)
OPERATORS = {
    "laplacian": LAPLACIAN,  # L~ = -D^-1/2 A D^-1/2
    "renormalized": RENORMALIZED,  # (D + I)^-1/2 (A + I) (D + I)^-1/2
    "mean": MEAN,  # D^-1 A
    "sum": SUM,  # A + loop I
}


NO_KINDS, NO_FEATURES = np.empty(0, np.int64), np.empty((0, 0))


class CollatedGraphs(NamedTuple):
    """G graphs with N nodes and E directed edges, numbered one graph after another.

    The signal of a node is its attributes, followed by one-hot columns.
    """

    node_ptr: NDArray[np.int64]  # (G + 1,): start of each graph's nodes
    rowptr: NDArray[np.int64]  # (N + 1,): the operator in CSR form, without its diagonal
    col: NDArray[np.int64]  # (E,)
    weight: NDArray[np.floating]  # (E,)
    adjoint_weight: NDArray[np.floating]  # (E,): of the transposed operator
    diagonal: NDArray[np.floating]  # (N,)
    attributes: NDArray[np.floating]  # (N, attributes)
    labels: NDArray[np.int64]  # (N, labels): column of the signal that is 1, counted with the attributes
    multiplicity: NDArray[np.floating]  # (N,): nodes that each one represents
    kinds: NDArray[np.int64] = NO_KINDS  # (N,): see bankgcn.kernels.network.kinds; empty if they are not used
    edge_kind: NDArray[np.int64] = NO_KINDS  # (E,): row of the features of each edge; empty if they are not used
    edge_features: NDArray[np.floating] = NO_FEATURES  # (F, edge features)
    graph_features: NDArray[np.floating] = NO_FEATURES  # (G, graph features); empty if they are not used


def collate(
    arrays: FlatArrays, indices: NDArray[np.integer], operator: Operator, dtype: DTypeLike = np.float32
) -> CollatedGraphs:
    """The graphs with these numbers, in this order.

    Args:
        arrays: A set of graphs.
        indices: Numbers of graphs in the set.
        operator: The operator of the convolutions.
        dtype: Type of all floats.
    """
    indices = np.ascontiguousarray(indices, np.int64)
    nodes = int((arrays.node_ptr[indices + 1] - arrays.node_ptr[indices]).sum())
    edges = int((arrays.edge_ptr[indices + 1] - arrays.edge_ptr[indices]).sum())
    kind, features = OPERATORS[operator.kind], arrays.edge_features.astype(dtype, copy=False)
    weight, summed = np.empty(edges, dtype), features.shape[1] if "input" in operator.edges else 0
    weighs = "weights" in operator.edges
    graphs = CollatedGraphs(
        node_ptr=np.zeros(len(indices) + 1, np.int64),
        rowptr=np.zeros(nodes + 1, np.int64),
        col=np.empty(edges, np.int64),
        weight=weight,
        adjoint_weight=np.empty(edges, dtype) if kind == MEAN else weight,
        diagonal=np.empty(nodes, dtype),
        attributes=np.zeros((nodes, summed + arrays.attributes.shape[1]), dtype),
        labels=np.empty((nodes, arrays.labels.shape[1]), np.int64),
        multiplicity=np.ones(nodes, dtype),
        edge_kind=np.empty(edges if weighs else 0, np.int64),
        edge_features=features if weighs else np.empty((0, 0), dtype),
    )
    largest = int((arrays.node_ptr[indices + 1] - arrays.node_ptr[indices]).max(initial=0))
    _collate(arrays, indices, kind, float(operator.loop), summed, np.empty(largest), graphs)
    return graphs


def look_up_attributes(graphs: CollatedGraphs, num_values: tuple[int, ...]) -> CollatedGraphs:
    """The graphs with their integer attributes as labels: rows of one table, in which columns follow one another.

    Args:
        graphs: The graphs.
        num_values: Number of values of each column.

    Raises:
        ValueError: A value is out of range.
    """
    labels = graphs.attributes.astype(np.int64)
    wrong = (labels < 0) | (labels >= np.array(num_values)) | (labels != graphs.attributes)
    for node, column in np.argwhere(wrong)[:1].tolist():
        raise ValueError(
            f"column {column} of a node is {graphs.attributes[node, column]}: "
            f"expected a whole number from 0 to {num_values[column] - 1}"
        )
    labels += np.cumsum([0, *num_values[:-1]])
    return graphs._replace(attributes=graphs.attributes[:, :0].copy(), labels=labels)


@jit_cached
def _collate(arrays, indices, kind, loop, summed, factor, graphs):
    """Write the graphs. The first ``summed`` attributes are sums over the edges of a node.

    ``factor`` is workspace: a number for each node of a graph.
    """
    rowptr, col, weight, adjoint_weight = graphs.rowptr, graphs.col, graphs.weight, graphs.adjoint_weight
    neighbor, given, degrees, diagonal = arrays.neighbor, arrays.weight, arrays.degree, graphs.diagonal
    node = edge = 0
    for number in range(len(indices)):
        graph = indices[number]
        first, start, e = node, arrays.node_ptr[graph], arrays.edge_ptr[graph]
        for i in range(start, arrays.node_ptr[graph + 1]):
            count, degree = degrees[i], 0.0
            for k in range(count):
                col[edge + k] = first + neighbor[e + k]
            if len(given):
                for k in range(count):
                    weight[edge + k] = given[e + k]
                    degree += given[e + k]
            else:
                for k in range(count):
                    weight[edge + k] = 1
                degree = float(count)
            if len(graphs.edge_kind):
                for k in range(count):
                    graphs.edge_kind[edge + k] = arrays.edge_kind[e + k]
            if summed:
                for k in range(count):
                    own = weight[edge + k]
                    for column in range(summed):
                        graphs.attributes[node, column] += own * arrays.edge_features[arrays.edge_kind[e + k], column]
            e += count
            edge += count
            for k in range(arrays.attributes.shape[1]):
                graphs.attributes[node, summed + k] = arrays.attributes[i, k]
            for k in range(arrays.labels.shape[1]):
                graphs.labels[node, k] = summed + arrays.label_start[k] + arrays.labels[i, k]
            if len(arrays.multiplicity):
                graphs.multiplicity[node] = arrays.multiplicity[i]
            diagonal[node] = 0
            if kind == LAPLACIAN:
                factor[i - start] = 1 / math.sqrt(degree) if degree > 0 else 0.0
            elif kind == RENORMALIZED:
                factor[i - start] = 1 / math.sqrt(degree + 1)
                diagonal[node] = 1 / (degree + 1)
            elif kind == MEAN:
                factor[i - start] = 1 / degree if degree > 0 else 0.0
            else:
                diagonal[node] = loop
            node += 1
            rowptr[node] = edge
        graphs.node_ptr[number + 1] = node
        if kind == SUM:
            continue
        sign = -1.0 if kind == LAPLACIAN else 1.0
        for i in range(first, node):
            own = sign * factor[i - first]
            for k in range(rowptr[i], rowptr[i + 1]):
                other = factor[col[k] - first]
                if kind == MEAN:
                    adjoint_weight[k] = weight[k] * other
                    weight[k] = own * weight[k]
                else:
                    weight[k] = own * weight[k] * other


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
