"""The arrays of a set of graphs, and of the colours of its nodes, for compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class FlatArrays(NamedTuple):
    """G graphs with N nodes and E directed edges: the fields of a ``GraphSet`` that a network needs.

    A field that a set lacks has no columns. All are read-only and of fixed types, so that one compiled function serves
    every set.
    """

    node_ptr: NDArray[np.int64]  # (G + 1,): start of each graph's nodes
    edge_ptr: NDArray[np.int64]  # (G + 1,): start of each graph's edges
    degree: NDArray[np.int32]  # (N,): number of neighbours
    neighbor: NDArray[np.int32]  # (E,): counted within the graph, node by node
    weight: NDArray[np.float32]  # (E,): of each edge; empty if that is 1 for all
    attributes: NDArray[np.float32]  # (N, attributes)
    labels: NDArray[np.int32]  # (N, labels)
    label_start: NDArray[np.int64]  # (labels + 1,): first column of each one-hot block
    multiplicity: NDArray[np.float32]  # (N,): nodes that each one represents; empty if that is 1 for all
    edge_kind: NDArray[np.int32]  # (E,): row of the features of each edge; empty if edges have none
    edge_features: NDArray[np.float32]  # (F, edge features): rows that differ from each other


class NodeColors(NamedTuple):
    """The colours of the nodes of a set. Its subsets share them; each graph is coloured once, on first use.

    ``graphs`` are the numbers of a subset's graphs in the set; the other fields belong to the set.
    """

    node_ptr: NDArray[np.int64]  # (G + 1,): start of each graph's nodes
    color: NDArray[np.int32]  # (N,): numbered from 0 in each graph, in the order of first appearance
    num_colors: NDArray[np.int64]  # (G,): -1 if the graph is not coloured yet
    graphs: NDArray[np.int64]  # (graphs of the subset,)

    @classmethod
    def unknown(cls, node_ptr: NDArray[np.int64]) -> NodeColors:
        """Colours of a set of which no graph is coloured yet."""
        graphs = np.arange(len(node_ptr) - 1)
        return cls(read_only(node_ptr), np.empty(node_ptr[-1], np.int32), np.full_like(graphs, -1), graphs)

    def of(self, chosen: NDArray[np.int64]) -> NodeColors:
        """The colours of a subset."""
        return self._replace(graphs=self.graphs[chosen])


def read_only(array: NDArray) -> NDArray:
    """A read-only view of the array."""
    view = np.ascontiguousarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view
