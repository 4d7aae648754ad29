r"""From node signals to one vector per graph: :math:`\omega(\cdot)` of Eq. 21."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from bankgcn.choices import pick
from bankgcn.nn.names import READOUTS


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
