"""PyG's pooling layers, which can stand between the convolutions and make the graphs smaller; one row each.

Called with ``(x, edge_index, edge_weight, batch)``, each returns the same four of the smaller graphs first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from bankgcn.extras import require


@dataclass(frozen=True)
class PoolingSpec:
    """A pooling. Called with the number of channels, it makes a layer.

    Args:
        label: Name in tables and messages.
        make: Makes a layer from the number of channels.
    """

    label: str
    make: Callable[[int], nn.Module]

    def check_available(self) -> None:
        """Raise an ``ImportError`` that says what to install, if PyG is missing."""
        require("torch_geometric", f"{self.label} pooling")

    def __call__(self, channels: int) -> nn.Module:
        """Make a layer."""
        self.check_available()
        return self.make(channels)


class ConstantEdges(nn.Module):
    """A pooling layer whose new edge weights get no gradient: PyTorch cannot differentiate ASAP's sparse products."""

    def __init__(self, pool: nn.Module):
        super().__init__()
        self.pool: Any = pool

    def reset_parameters(self) -> None:
        """Reinitialise the parameters of the pooling layer."""
        self.pool.reset_parameters()

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None, batch: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
        """Pool, then detach the new edge weights."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse")  # of PyTorch about itself, on ASAP's sparse products
            x, edge_index, edge_weight, batch = self.pool(x, edge_index, edge_weight, batch)[:4]
        return x, edge_index, None if edge_weight is None else edge_weight.detach(), batch


def topk(channels: int) -> nn.Module:
    """Keep the half of the nodes with the highest scores; a score is the projection on a learned vector."""
    from torch_geometric.nn import TopKPooling

    return TopKPooling(channels)


def sag(channels: int) -> nn.Module:
    """Keep the half of the nodes with the highest scores; a graph convolution computes them."""
    from torch_geometric.nn import SAGPooling

    return SAGPooling(channels)


def asap(channels: int) -> nn.Module:
    """Merge neighbourhoods into clusters and keep the best half, with an edge between clusters that touch."""
    from torch_geometric.nn import ASAPooling

    return ConstantEdges(ASAPooling(channels))


POOLINGS: dict[str, PoolingSpec] = {
    "topk": PoolingSpec("TopK", topk),
    "sag": PoolingSpec("SAG", sag),
    "asap": PoolingSpec("ASAP", asap),
}
