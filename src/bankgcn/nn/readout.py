r"""From node signals to one vector per graph: :math:`\omega(\cdot)` of Eq. 21."""

from __future__ import annotations

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
