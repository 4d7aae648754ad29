r"""Graphs whose edges carry features, and the shift of each subspace of signals on them.

A filter bank that weighs edges by their features filters each subspace :math:`p` on a graph of its own: with the
weights :math:`W_{[p]}` of the edges there, and the degrees :math:`D_{[p]}` that follow, its shift is

.. math:: \tilde L_{[p]} = -D_{[p]}^{-1/2}\, W_{[p]}\, D_{[p]}^{-1/2}.

Weights that are positive and equal in both directions of an edge make it symmetric with its spectrum in
:math:`[-1, 1]`, as :class:`~bankgcn.spectral.GraphShift` is: polynomials, responses and adjoints keep their meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from bankgcn.spectral.shift import UNDIRECT, GraphShift, are_integers, check_edges, edge_list, normalize


@dataclass(frozen=True, eq=False)
class SubspaceShifts:
    r"""The shift :math:`\tilde L_{[p]}` of each of :math:`s` subspaces; they share the edges of one graph.

    Args:
        row: Row of each entry, ascending, shape ``(num_edges,)``.
        col: Column of each entry, shape ``(num_edges,)``.
        weight: Value of each entry in each subspace, shape ``(num_edges, s)``.
        num_nodes: Number of nodes.
    """

    row: Tensor
    col: Tensor
    weight: Tensor
    num_nodes: int

    def __call__(self, x: Tensor) -> Tensor:
        r""":math:`\tilde L_{[p]} x_{[p]}` for each block of columns of ``x``, shape ``(num_nodes, s * c)``."""
        parts = x.unflatten(1, (self.weight.size(1), -1))  # (n, s, c)
        messages = self.weight.unsqueeze(-1) * parts[self.col]
        return torch.zeros_like(parts, dtype=messages.dtype).index_add(0, self.row, messages).flatten(1)

    def to_dense(self) -> Tensor:
        r""":math:`\tilde L_{[p]}` as dense matrices, shape ``(s, num_nodes, num_nodes)``."""
        dense = self.weight.new_zeros(self.num_nodes, self.num_nodes, self.weight.size(1))
        return dense.index_put((self.row, self.col), self.weight, accumulate=True).permute(2, 0, 1)


@dataclass(frozen=True, eq=False)
class FeaturedEdges:
    """The edges of an undirected graph with their features, checked and sorted once for all layers.

    Conventions: self-loops are removed, and edges that agree in nodes and features are one, with the sum of their
    weights. Edges between the same nodes with other features stay apart.

    Args:
        row: First node of each directed edge, ascending, shape ``(num_edges,)``.
        col: Second node of each directed edge, shape ``(num_edges,)``.
        weight: Weight of each edge, shape ``(num_edges,)``.
        features: Features of each edge, shape ``(num_edges, edge_dim)``.
        num_nodes: Number of nodes, of the whole batch if there are several graphs.
    """

    row: Tensor
    col: Tensor
    weight: Tensor
    features: Tensor
    num_nodes: int

    @classmethod
    def of(
        cls,
        edge_index: Tensor | FeaturedEdges | GraphShift,
        edge_weight: Tensor | None,
        edge_attr: Tensor | None,
        *,
        num_nodes: int,
        edge_dim: int,
        dtype: torch.dtype,
    ) -> FeaturedEdges:
        """The edges in a form that layers use.

        Args:
            edge_index: An edge list of shape ``(2, num_edges)`` with each edge in both directions, PyG's ``EdgeIndex``,
                or a ``FeaturedEdges``, which is returned.
            edge_weight: One weight per edge; ``None`` means 1 for each.
            edge_attr: Features of each edge, the same in both directions, shape ``(num_edges, edge_dim)``, or
                ``(num_edges,)`` for one feature.
            num_nodes: Number of nodes.
            edge_dim: Expected number of features.
            dtype: Precision of the result.

        Raises:
            ValueError: The features have another shape or are not finite, the two directions of an edge have different
                features, or the edges are not those of an undirected graph. Inside ``torch.compile`` and
                ``torch.export``, where the values are unknown, only shapes are checked.
        """
        if isinstance(edge_index, FeaturedEdges):
            if edge_attr is not None or edge_weight is not None:
                raise ValueError("FeaturedEdges contain features and weights: edge_attr and edge_weight must be None")
            return edge_index
        if isinstance(edge_index, GraphShift) or edge_index.layout != torch.strided:
            raise ValueError("edge features need an edge_index, not a GraphShift or a sparse adjacency")
        if edge_attr is None:
            raise ValueError(f"edge_attr is missing: the layer has edge_dim={edge_dim}")
        edges, _ = edge_list(edge_index, edge_weight, num_nodes)
        if edges.dim() != 2 or edges.size(0) != 2 or not are_integers(edges):
            raise ValueError(
                f"edge_index has shape {tuple(edges.shape)} and dtype {edges.dtype}, expected integers (2, num_edges)"
            )
        features = edge_attr.to(dtype)
        features = features.unsqueeze(-1) if features.dim() == 1 else features
        if features.shape != (edges.size(1), edge_dim):
            raise ValueError(
                f"edge_attr has shape {tuple(edge_attr.shape)}, expected ({edges.size(1)}, edge_dim={edge_dim})"
            )
        if edge_weight is not None and edge_weight.shape != edges.shape[1:]:
            raise ValueError(
                f"edge_weight has shape {tuple(edge_weight.shape)}, expected ({edges.size(1)},): one per edge"
            )
        row, col = edges.long().unbind()
        weight = features.new_ones(row.shape) if edge_weight is None else edge_weight.to(dtype)
        if torch.compiler.is_compiling():
            row, order = row.sort()
            col = col[order]
            return cls(row, col, weight[order].masked_fill(row == col, 0), features[order], num_nodes)
        check_edges(row, col, weight, num_nodes)
        check_finite(features, row, col)
        return cls._merged(row, col, weight, features, num_nodes)

    @classmethod
    def _merged(cls, row: Tensor, col: Tensor, weight: Tensor, features: Tensor, num_nodes: int) -> FeaturedEdges:
        proper = row != col
        row, col, weight, features = row[proper], col[proper], weight[proper], features[proper]
        distinct, number = features.detach().unique(dim=0, return_inverse=True)
        pairs, pair = (row * num_nodes + col).unique(return_inverse=True)
        key, place = (pair * max(len(distinct), 1) + number).unique(return_inverse=True)  # sorted by row, col, features
        example = torch.empty_like(key).scatter_(0, place, torch.arange(len(row), device=row.device))
        weight = weight.new_zeros(len(key)).index_add(0, place, weight)
        merged = cls(row[example], col[example], weight, features[example], num_nodes)
        _check_reverses(merged, pairs, number[example])
        return merged

    def to(self, dtype: torch.dtype) -> FeaturedEdges:
        """The same edges with weights and features in another precision."""
        if self.weight.dtype == self.features.dtype == dtype:
            return self
        return replace(self, weight=self.weight.to(dtype), features=self.features.to(dtype))

    def only(self, kept: Tensor) -> FeaturedEdges:
        """Some of the edges of the same graph; a mask of shape ``(num_edges,)`` names them, both directions alike."""
        weight, features = self.weight[kept], self.features[kept]
        return FeaturedEdges(self.row[kept], self.col[kept], weight, features, self.num_nodes)

    def shift(self) -> GraphShift | SubspaceShifts:
        """The shift without regard to the features."""
        edges = torch.stack([self.row, self.col])
        return GraphShift.from_edges(edges, self.weight, num_nodes=self.num_nodes, dtype=self.weight.dtype)

    def shifts(self, weights: Tensor) -> SubspaceShifts:
        """The shift of each subspace, given the weight of each edge there, shape ``(num_edges, s)``."""
        weighted = self.weight.unsqueeze(-1) * weights
        degree = weighted.new_zeros(self.num_nodes, weights.size(1)).index_add(0, self.row, weighted)
        return SubspaceShifts(self.row, self.col, normalize(self.row, self.col, weighted, degree), self.num_nodes)

    def sums(self) -> Tensor:
        """The sum of the features of each node's edges, each times its weight, shape ``(num_nodes, edge_dim)``."""
        terms = self.weight.unsqueeze(-1) * self.features
        return terms.new_zeros(self.num_nodes, terms.size(1)).index_add(0, self.row, terms)


@dataclass(frozen=True, eq=False)
class MaskedEdges(FeaturedEdges):
    """Edges with a factor for what passes along each of them, which the degrees do not see; as given, without merging.

    The factors of the two directions of an edge may differ: the shifts are then not symmetric, and gradients go through
    each of their entries.

    Args:
        mask: The factors, shape ``(num_edges,)``.
    """

    mask: Tensor

    def shift(self) -> SubspaceShifts:
        """The shift without regard to the features, as that of a single subspace."""
        return self.shifts(self.weight.new_ones(len(self.weight), 1))

    def shifts(self, weights: Tensor) -> SubspaceShifts:
        """The shift of each subspace: that of the edges without their mask, times the mask."""
        shifts = super().shifts(weights)
        return replace(shifts, weight=shifts.weight * self.mask.unsqueeze(-1))

    def sums(self) -> Tensor:
        """The sum of the features of each node's edges, each times its weight and its factor."""
        return replace(self.unmasked, weight=self.weight * self.mask).sums()

    @property
    def unmasked(self) -> FeaturedEdges:
        """The same edges without their mask."""
        return FeaturedEdges(self.row, self.col, self.weight, self.features, self.num_nodes)


def check_finite(features: Tensor, row: Tensor, col: Tensor) -> None:
    """Raise if a feature of an edge is NaN or infinite."""
    for edge, column in torch.nonzero(~features.isfinite())[:1].tolist():
        raise ValueError(
            f"edge {edge} ({row[edge].item()}, {col[edge].item()}) has feature {column} = "
            f"{features[edge, column].item()}: expected finite numbers"
        )


def _check_reverses(edges: FeaturedEdges, pairs: Tensor, number: Tensor) -> None:
    """Raise unless each edge has a reverse with the same features and weight.

    Args:
        edges: The edges, without duplicates, sorted by row, column and features.
        pairs: The sorted numbers ``row * num_nodes + col`` of the pairs of nodes that have an edge.
        number: A number for the features of each edge.
    """
    row, col = edges.row, edges.col
    mirrored = col * edges.num_nodes + row
    for edge in torch.nonzero(~torch.isin(mirrored, pairs))[:1].flatten().tolist():
        i, j = row[edge].item(), col[edge].item()
        raise ValueError(f"the graph is directed: edge ({i}, {j}) has no reverse ({j}, {i}); {UNDIRECT}")
    count = int(number.max()) + 1 if len(number) else 1
    place = torch.searchsorted(pairs, mirrored) * count + number  # as the edges are sorted
    order = place.argsort()
    same = (row[order] == col) & (col[order] == row) & (number[order] == number)
    for edge in torch.nonzero(~same)[:1].flatten().tolist():
        i, j = row[edge].item(), col[edge].item()
        reverse = torch.nonzero((row == j) & (col == i)).flatten()[0]
        raise ValueError(
            f"edge ({i}, {j}) has the features {_shown(edges.features[edge])}, its reverse ({j}, {i}) "
            f"{_shown(edges.features[reverse])}: an undirected graph has the same in both directions. "
            "torch_geometric.utils.to_undirected(edge_index, edge_attr, reduce='mean') takes the mean"
        )
    weight = edges.weight.detach()
    for edge in torch.nonzero(~torch.isclose(weight, weight[order], rtol=torch.finfo(weight.dtype).eps ** 0.5, atol=0))[
        :1
    ].flatten():
        i, j = row[edge].item(), col[edge].item()
        raise ValueError(
            f"the weights are asymmetric: edge ({i}, {j}) weighs {weight[edge].item()}, "
            f"its reverse ({j}, {i}) {weight[order[edge]].item()}; {UNDIRECT}"
        )


def _shown(features: Tensor) -> str:
    """The features of an edge, at most eight of them."""
    values = [f"{value:g}" for value in features[:8].tolist()]
    return f"({', '.join(values)}{', ...' if len(features) > 8 else ''})"
