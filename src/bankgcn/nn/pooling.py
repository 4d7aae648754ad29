"""Pooling layers that can stand between convolutions, as the paper promises: PyG's, which make smaller graphs.

Called with ``(x, edge_index, edge_weight, batch)``, each returns the same four of the smaller graphs first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn


class ConstantEdges(nn.Module):
    """A pooling layer whose new edge weights take no gradient: PyTorch cannot pass one through ASAP's products."""

    def __init__(self, pool: nn.Module):
        super().__init__()
        self.pool: Any = pool

    def reset_parameters(self) -> None:
        """Draw the pooling's parameters anew."""
        self.pool.reset_parameters()

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None, batch: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
        """Pool, then hold on to nothing that made the weights."""
        x, edge_index, edge_weight, batch = self.pool(x, edge_index, edge_weight, batch)[:4]
        return x, edge_index, None if edge_weight is None else edge_weight.detach(), batch


def topk(channels: int) -> nn.Module:
    """Keep the half of the nodes that a learned direction scores highest."""
    from torch_geometric.nn import TopKPooling

    return TopKPooling(channels)


def sag(channels: int) -> nn.Module:
    """Keep the half of the nodes that a graph convolution scores highest."""
    from torch_geometric.nn import SAGPooling

    return SAGPooling(channels)


def asap(channels: int) -> nn.Module:
    """Merge neighbourhoods into clusters and keep the best half, with an edge where two clusters touch."""
    from torch_geometric.nn import ASAPooling

    return ConstantEdges(ASAPooling(channels))


POOLINGS: dict[str, Callable[[int], nn.Module]] = {"topk": topk, "sag": sag, "asap": asap}
