"""Some graphs of a flat set, gathered in one pass as :mod:`bankgcn.kernels.network.executor` takes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import compiled
from bankgcn.kernels.network.executor import Graphs
from bankgcn.kernels.network.flat_arrays import FlatArrays


def collate(arrays: FlatArrays, indices: NDArray[np.integer]) -> Graphs:
    """The graphs with these numbers, in this order."""
    return Graphs(*_gather(arrays, np.ascontiguousarray(indices)))


@compiled
def _gather(arrays, indices):
    nodes = entries = 0
    for graph in indices:
        nodes += arrays.node_ptr[graph + 1] - arrays.node_ptr[graph]
        entries += arrays.entry_ptr[graph + 1] - arrays.entry_ptr[graph]
    columns, blocks = arrays.attributes.shape[1], arrays.labels.shape[1]
    ptr, rowptr = np.empty(len(indices) + 1, np.int64), np.empty(nodes + 1, np.int64)
    col, weight = np.empty(entries, np.int64), np.empty(entries, arrays.shift.dtype)
    attributes = np.empty((nodes, columns), arrays.attributes.dtype)
    labels = np.empty((nodes, blocks), np.int64)
    alike = np.ones(nodes, arrays.shift.dtype)
    node = entry = 0
    ptr[0] = rowptr[0] = 0
    for number, graph in enumerate(indices):
        first = node
        start, end = arrays.entry_ptr[graph], arrays.entry_ptr[graph + 1]
        for e in range(start, end):
            col[entry + e - start] = first + arrays.neighbor[e]
            weight[entry + e - start] = arrays.shift[e]
        for i in range(arrays.node_ptr[graph], arrays.node_ptr[graph + 1]):
            for k in range(columns):
                attributes[node, k] = arrays.attributes[i, k]
            for k in range(blocks):
                labels[node, k] = arrays.label_start[k] + arrays.labels[i, k]
            if len(arrays.alike):
                alike[node] = arrays.alike[i]
            entry += arrays.degree[i]
            node += 1
            rowptr[node] = entry
        ptr[number + 1] = node
    return ptr, rowptr, col, weight, attributes, labels, alike
