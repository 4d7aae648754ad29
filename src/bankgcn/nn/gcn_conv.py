"""PyG's GCN layer, with edges that can be normalised once for all layers. Importing this module needs PyG."""

from __future__ import annotations

from typing import NamedTuple

import torch_geometric.nn
from torch import Tensor
from torch_geometric.nn.conv import gcn_conv


class NormalizedEdges(NamedTuple):
    """Edges with self-loops and GCN's weights.

    Args:
        edge_index: The edges, in any form that PyG takes.
        edge_weight: Weight of each edge; ``None`` if ``edge_index`` is a sparse matrix, which holds the weights itself.
    """

    edge_index: Tensor
    edge_weight: Tensor | None


class GCNConv(torch_geometric.nn.GCNConv):
    """PyG's ``GCNConv``, which also takes the result of :meth:`prepare_edges` in place of the edges."""

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__(in_channels, out_channels)

    def prepare_edges(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> NormalizedEdges:
        """Add the self-loops and normalise, as PyG's layer does in each call."""
        edges = gcn_conv.gcn_norm(edge_index, edge_weight, x.size(0), dtype=x.dtype)
        return NormalizedEdges(*edges) if isinstance(edges, tuple) else NormalizedEdges(edges, None)

    def forward(self, x: Tensor, edge_index: Tensor | NormalizedEdges, edge_weight: Tensor | None = None) -> Tensor:
        """Filter the signals of a graph, or of a batch of graphs."""
        if not isinstance(edge_index, NormalizedEdges):
            return super().forward(x, edge_index, edge_weight)
        edges = edge_index
        out = self.propagate(edges.edge_index, x=self.lin(x), edge_weight=edges.edge_weight)
        return out + self.bias
