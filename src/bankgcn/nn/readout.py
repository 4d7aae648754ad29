r"""From node signals to one vector per graph: :math:`\omega(\cdot)` of Eq. 21."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def graph_mean(x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    """Mean over the nodes of each graph, shape ``(num_graphs, channels)``; zero for a graph without nodes."""
    total = x.new_zeros(num_graphs, x.size(1)).index_add(0, batch, x)
    count = x.new_zeros(num_graphs).index_add(0, batch, x.new_ones(batch.shape))
    return total / count.clamp(min=1).unsqueeze(-1)


def graph_max(x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    """Maximum over the nodes of each graph, shape ``(num_graphs, channels)``; zero for a graph without nodes."""
    place = batch.unsqueeze(-1).expand_as(x)
    return x.new_zeros(num_graphs, x.size(1)).scatter_reduce(0, place, x, reduce="amax", include_self=False)


def graph_mean_max(x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    """Mean and maximum side by side, shape ``(num_graphs, 2 * channels)``."""
    return torch.cat([graph_mean(x, batch, num_graphs), graph_max(x, batch, num_graphs)], dim=1)


Readout = Callable[[Tensor, Tensor, int], Tensor]

READOUTS: dict[str, tuple[Readout, int]] = {"mean_max": (graph_mean_max, 2), "mean": (graph_mean, 1)}
"""Each readout, called with node signals, the graph of each node and the number of graphs; and how much it widens."""
