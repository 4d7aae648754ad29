"""Gathers some graphs of a set, as the executor takes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import jit_cached
from bankgcn.kernels.network.flat_arrays import FlatArrays


class CollatedGraphs(NamedTuple):
    """G graphs with N nodes and E directed edges, numbered one graph after another.

    The signal of a node is its attributes, followed by one-hot columns.
    """

    node_ptr: NDArray[np.int64]  # (G + 1,): start of each graph's nodes
    rowptr: NDArray[np.int64]  # (N + 1,): the shift in CSR form
    col: NDArray[np.int64]  # (E,)
    weight: NDArray[np.floating]  # (E,)
    attributes: NDArray[np.floating]  # (N, attributes)
    labels: NDArray[np.int64]  # (N, labels): column of the signal that is 1, counted with the attributes
    multiplicity: NDArray[np.floating]  # (N,): nodes that each one represents


def collate(arrays: FlatArrays, indices: NDArray[np.integer]) -> CollatedGraphs:
    """The graphs with these numbers, in this order."""
    return CollatedGraphs(*_collate(arrays, np.ascontiguousarray(indices)))


@jit_cached
def _collate(arrays, indices):
    nodes = edges = 0
    for graph in indices:
        nodes += arrays.node_ptr[graph + 1] - arrays.node_ptr[graph]
        edges += arrays.edge_ptr[graph + 1] - arrays.edge_ptr[graph]
    columns, num_labels = arrays.attributes.shape[1], arrays.labels.shape[1]
    node_ptr, rowptr = np.empty(len(indices) + 1, np.int64), np.empty(nodes + 1, np.int64)
    col, weight = np.empty(edges, np.int64), np.empty(edges, arrays.shift.dtype)
    attributes = np.empty((nodes, columns), arrays.attributes.dtype)
    labels = np.empty((nodes, num_labels), np.int64)
    multiplicity = np.ones(nodes, arrays.shift.dtype)
    node = edge = 0
    node_ptr[0] = rowptr[0] = 0
    for number, graph in enumerate(indices):
        first = node
        start, end = arrays.edge_ptr[graph], arrays.edge_ptr[graph + 1]
        for e in range(start, end):
            col[edge + e - start] = first + arrays.neighbor[e]
            weight[edge + e - start] = arrays.shift[e]
        for i in range(arrays.node_ptr[graph], arrays.node_ptr[graph + 1]):
            for k in range(columns):
                attributes[node, k] = arrays.attributes[i, k]
            for k in range(num_labels):
                labels[node, k] = arrays.label_start[k] + arrays.labels[i, k]
            if len(arrays.multiplicity):
                multiplicity[node] = arrays.multiplicity[i]
            edge += arrays.degree[i]
            node += 1
            rowptr[node] = edge
        node_ptr[number + 1] = node
    return node_ptr, rowptr, col, weight, attributes, labels, multiplicity
