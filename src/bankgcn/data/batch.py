"""Some graphs of a set as one block-diagonal graph, the input of a network."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # processes that only read graphs do without PyTorch
    import torch
    from torch import Tensor

    from bankgcn.data.graphs import GraphSet
    from bankgcn.kernels.network.collate import CollatedGraphs
    from bankgcn.kernels.network.program import Operator
    from bankgcn.spectral.featured_edges import FeaturedEdges
    from bankgcn.spectral.shift import GraphShift


def pointers(counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Start of each run if runs of these lengths follow one another, and the end of the last."""
    ptr = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ptr[1:])
    return ptr


def spans(starts: NDArray[np.integer], counts: NDArray[np.integer], ptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of all members of some runs of a flat array, one run after another.

    Args:
        starts: Where each run starts in the flat array.
        counts: Length of each run.
        ptr: Its :func:`pointers`.

    Example:
        >>> spans(np.array([10, 50]), np.array([3, 2]), np.array([0, 3, 5]))
        array([10, 11, 12, 50, 51])
    """
    positions = (starts - ptr[:-1]).repeat(counts)
    positions += np.arange(len(positions))
    return positions


class GraphBatch:
    """Some graphs of a set, their nodes numbered one after another; each field is computed when it is first used.

    Args:
        source: The set that holds the graphs.
        indices: Numbers of the graphs in it, from 0.
        device: Device of the fields.
    """

    def __init__(self, source: GraphSet, indices: NDArray[np.integer], device: torch.device | str = "cpu"):
        if indices.ndim != 1 or indices.dtype.kind not in "iu" or ((indices < 0) | (indices >= len(source))).any():
            raise IndexError(f"indices={indices}: expected numbers of graphs from 0 to {len(source) - 1}")
        import torch

        self.source = source
        self.indices = indices
        self.device = torch.device(device)

    def to(self, device: torch.device | str) -> GraphBatch:
        """The same batch on another device."""
        import torch

        return self if torch.device(device) == self.device else GraphBatch(self.source, self.indices, device)

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        return len(self.indices)

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all graphs together."""
        return int(self._node_ptr[-1])

    @cached_property
    def x(self) -> Tensor:
        """Node signals, shape ``(num_nodes, num_features)``: attributes, then labels as one-hot columns."""
        return self._tensor(self.source.signals(self._nodes))

    @cached_property
    def shift(self) -> GraphShift:
        r"""The shift :math:`\tilde L` of all graphs, block diagonal."""
        from bankgcn.spectral.shift import GraphShift

        rowptr, weight = pointers(self._degree), self.source.shift[self._edges]
        return GraphShift(self._tensor(rowptr), self._tensor(self._col), self._tensor(weight))

    def collate(
        self, operator: Operator, *, merged: bool = True, by_kinds: bool = False, features: bool = False
    ) -> CollatedGraphs:
        """Signals and operator of all graphs as arrays for the kernels.

        Args:
            operator: What the convolutions of a network multiply by.
            merged: Whether nodes that no network can distinguish are merged.
            by_kinds: Whether to include the kinds of the merged nodes.
            features: Whether to include the features of the graphs.
        """
        from bankgcn.kernels.network.collate import collate

        arrays = self.source.arrays(operator, merged)
        graphs = collate(arrays, self.indices, operator)
        if features:
            graphs = graphs._replace(graph_features=self.source.graph_signals(self.indices))
        if not by_kinds:
            return graphs
        kinds = self.source.kinds(operator)
        assert kinds is not None
        start = arrays.node_ptr[self.indices] - graphs.node_ptr[:-1]
        nodes = np.arange(graphs.node_ptr[-1]) + start.repeat(np.diff(graphs.node_ptr))
        return graphs._replace(kinds=kinds[nodes])

    @cached_property
    def ptr(self) -> Tensor:
        """Where the nodes of each graph start, and the number of nodes: shape ``(num_graphs + 1,)``."""
        return self._tensor(self._node_ptr)

    @cached_property
    def batch(self) -> Tensor:
        """Graph of each node, shape ``(num_nodes,)``."""
        return self._tensor(np.arange(self.num_graphs).repeat(self._num_nodes))

    @cached_property
    def edge_index(self) -> Tensor:
        """The directed edges, sorted, shape ``(2, num_directed_edges)``; no self-loops, no duplicates."""
        row = np.arange(self.num_nodes).repeat(self._degree)
        return self._tensor(np.stack([row, self._col]))

    @cached_property
    def adjacency(self) -> Tensor:
        """The edges without their weights as a ``torch.sparse`` matrix in CSR form: 1 for each directed edge."""
        import torch

        rowptr, ones = pointers(self._degree), np.ones(len(self._col), np.float32)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            return torch.sparse_csr_tensor(
                self._tensor(rowptr),
                self._tensor(self._col),
                self._tensor(ones),
                (self.num_nodes, self.num_nodes),
                check_invariants=False,
            )

    @cached_property
    def edge_weight(self) -> Tensor | None:
        """Weight of each edge, not normalised; ``None`` where all are 1."""
        weight = self.source.edge_weight
        return None if weight is None else self._tensor(weight[self._edges])

    @cached_property
    def edge_attr(self) -> Tensor | None:
        """Features of each edge, shape ``(num_directed_edges, num_edge_features)``: attributes, then one-hot labels."""
        features = self.source.num_edge_features
        return self._tensor(self.source.edge_signals(self._edges)) if features else None

    @cached_property
    def featured_edges(self) -> FeaturedEdges:
        """The edges with their weights and features, in the form that networks prepare; the set has checked them."""
        import torch

        from bankgcn.spectral.featured_edges import FeaturedEdges

        row, col = self.edge_index.unbind()
        features = self._tensor(self.source.edge_signals(self._edges))
        weight = torch.ones(len(row), device=self.device) if self.edge_weight is None else self.edge_weight
        return FeaturedEdges(row, col, weight, features, self.num_nodes)

    @cached_property
    def edge_labels(self) -> Tensor | None:
        """Integers of each edge, shape ``(num_directed_edges, columns)``, if the set has them."""
        labels = self.source.edge_labels
        return None if labels is None else self._tensor(labels[self._edges].astype(np.int64))

    @cached_property
    def graph_attr(self) -> Tensor | None:
        """Features of each graph, shape ``(num_graphs, num_graph_features)``, if the set has them."""
        if self.source.graph_features is None:
            return None
        return self._tensor(self.source.graph_signals(self.indices))

    @cached_property
    def y(self) -> Tensor | None:
        """Class or targets of each graph, if they are known."""
        return None if self.source.y is None else self._tensor(self.source.y[self.indices])

    def __repr__(self) -> str:
        return f"GraphBatch(num_graphs={self.num_graphs}, num_nodes={self.num_nodes})"

    @cached_property
    def _num_nodes(self) -> NDArray[np.int64]:
        return self.source.num_nodes[self.indices]

    @cached_property
    def _node_ptr(self) -> NDArray[np.int64]:
        return pointers(self._num_nodes)

    @cached_property
    def _nodes(self) -> NDArray[np.int64]:
        """Positions of the nodes in the arrays of the set."""
        return spans(self.source.node_ptr[self.indices], self._num_nodes, self._node_ptr)

    @cached_property
    def _degree(self) -> NDArray[np.unsignedinteger]:
        return self.source.degree[self._nodes]

    @cached_property
    def _num_edges(self) -> NDArray[np.int64]:
        return self.source.num_directed_edges[self.indices]

    @cached_property
    def _edges(self) -> NDArray[np.int64]:
        """Positions of the directed edges in the arrays of the set."""
        return spans(self.source.edge_ptr[self.indices], self._num_edges, pointers(self._num_edges))

    @cached_property
    def _col(self) -> NDArray[np.int64]:
        """Target node of each directed edge, numbered within the batch."""
        col = self._node_ptr[:-1].repeat(self._num_edges)
        col += self.source.neighbor[self._edges]
        return col

    def _tensor(self, array: NDArray) -> Tensor:
        import torch

        return torch.from_numpy(array).to(self.device)
