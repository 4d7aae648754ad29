"""Some graphs of a flat set, gathered in one pass as :mod:`bankgcn.kernels.network` takes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.compiler import compiled
from bankgcn.kernels.network import Graphs


class FlatArrays(NamedTuple):
    """The fields of a ``GraphSet`` that a network looks at; ``label_start`` is the first column of each one-hot block.

    A field that a set lacks is empty. All are read-only, so that it makes no difference for the compiler whether they
    lie in a file or in memory.
    """

    node_ptr: NDArray[np.int64]
    entry_ptr: NDArray[np.int64]
    degree: NDArray[np.unsignedinteger]
    neighbor: NDArray[np.unsignedinteger]
    shift: NDArray[np.float32]
    attributes: NDArray[np.float32]
    labels: NDArray[np.unsignedinteger]
    label_start: NDArray[np.int64]


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
            entry += arrays.degree[i]
            node += 1
            rowptr[node] = entry
        ptr[number + 1] = node
    return ptr, rowptr, col, weight, attributes, labels
