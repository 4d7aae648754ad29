r"""From node signals to one vector per graph: :math:`\omega(\cdot)` of Eq. 21."""

from __future__ import annotations

import torch
from torch import Tensor


def graph_mean(x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    """Mean over the nodes of each graph, shape ``(num_graphs, channels)``; zero for a graph without nodes.

    Sums are taken in float64: one term after another, float32 is 9 % off for ten million equal nodes.
    """
    working = torch.float32 if x.device.type == "mps" else torch.float64  # which Apple's GPUs do not have
    total = x.new_zeros(num_graphs, x.size(1), dtype=working).index_add(0, batch, x.to(working))
    count = batch.new_zeros(num_graphs).index_add(0, batch, torch.ones_like(batch))
    return (total / count.clamp(min=1).unsqueeze(-1)).to(x.dtype)


def graph_max(x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    """Maximum over the nodes of each graph, shape ``(num_graphs, channels)``; zero for a graph without nodes."""
    place = batch.unsqueeze(-1).expand_as(x)
    return x.new_zeros(num_graphs, x.size(1)).scatter_reduce(0, place, x, reduce="amax", include_self=False)
