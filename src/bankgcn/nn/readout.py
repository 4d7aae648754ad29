"""From nodes to graphs: the parts of a readout, and PyG's pooling layers; one row each.

Pooling layers can stand between the convolutions and make the graphs smaller. Called with ``(x, edge_index,
edge_weight, batch)``, each returns the same four of the smaller graphs first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bankgcn.extras import require
from bankgcn.nn.names import READOUTS
from bankgcn.settings import pick


def graph_mean(x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    """Mean over the nodes of each graph, shape ``(num_graphs, channels)``; zero for a graph without nodes."""
    count = batch.new_zeros(num_graphs).index_add(0, batch, torch.ones_like(batch))
    return (_precise_sum(x, batch, num_graphs) / count.clamp(min=1).unsqueeze(-1)).to(x.dtype)


def graph_max(x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    """Maximum over the nodes of each graph, shape ``(num_graphs, channels)``; zero for a graph without nodes."""
    index = batch.unsqueeze(-1).expand_as(x)
    return x.new_zeros(num_graphs, x.size(1)).scatter_reduce(0, index, x, reduce="amax", include_self=False)


def graph_sum(x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    """Sum over the nodes of each graph, shape ``(num_graphs, channels)``; zero for a graph without nodes."""
    return _precise_sum(x, batch, num_graphs).to(x.dtype)


def _precise_sum(x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    """The sums in float64: added up in float32, ten million equal nodes give a sum that is 9 % wrong."""
    working = torch.float32 if x.device.type == "mps" else torch.float64  # which Apple's GPUs do not have
    return x.new_zeros(num_graphs, x.size(1), dtype=working).index_add(0, batch, x.to(working))


READOUT_PARTS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "mean": graph_mean,
    "max": graph_max,
    "sum": graph_sum,
}
"""What a readout can be made of. Each part maps ``(x, batch, num_graphs)`` to ``(num_graphs, channels)``."""


def readout_parts(readout: str | Sequence[str]) -> tuple[str, ...]:
    """The parts of a readout, given as a name in ``READOUTS`` or as the parts themselves, in the same order."""
    return pick(READOUTS, readout if isinstance(readout, str) else "_".join(readout), "readout")


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
