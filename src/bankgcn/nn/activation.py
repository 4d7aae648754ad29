r"""What follows each convolution: ReLU and :math:`\ell_2` normalisation of the nodes, and the readout of the graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from bankgcn.kernels import fused_for, operators_for
from bankgcn.nn.readout import graph_max, graph_mean


def _normalize_then_relu(h: Tensor) -> Tensor:
    return F.relu(F.normalize(h, dim=-1))


def _relu_then_normalize(h: Tensor) -> Tensor:
    return F.normalize(F.relu(h), dim=-1)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "before": _normalize_then_relu,
    "after": _relu_then_normalize,
    "none": F.relu,
}
"""The nonlinearity, by where the normalisation stands: before or after the ReLU, or nowhere."""

READOUTS: dict[str, bool] = {"mean_max": True, "mean": False}
"""Whether the maximum stands beside the mean."""


def activate_and_read(
    h: Tensor, batch: Tensor, num_graphs: int, normalize: str = "before", with_max: bool = True
) -> tuple[Tensor, ...]:
    """The activated signals, then the mean and, if wanted, the maximum of each graph.

    Args:
        h: Output of a convolution, shape ``(num_nodes, channels)``.
        batch: Graph of each node, shape ``(num_nodes,)``.
        num_graphs: Number of graphs.
        normalize: A name in ``ACTIVATIONS``.
        with_max: Whether the maximum is wanted.

    Returns:
        Signals of shape ``(num_nodes, channels)``, and one or two readouts of shape ``(num_graphs, channels)``.
    """
    if batch.dtype == torch.int64:
        if fused_for(h, batch):
            return _FusedActivation.apply(h, batch, num_graphs, normalize, with_max)
        if operators_for(h, batch):
            x, _, mean, highest = torch.ops.bankgcn.activate_and_read(h, batch, num_graphs, normalize, with_max)
            return (x, mean, highest) if with_max else (x, mean)
    return _plain(h, batch, num_graphs, normalize, with_max)


def _plain(h: Tensor, batch: Tensor, num_graphs: int, normalize: str, with_max: bool) -> tuple[Tensor, ...]:
    x = ACTIVATIONS[normalize](h)
    mean = graph_mean(x, batch, num_graphs)
    return (x, mean, graph_max(x, batch, num_graphs)) if with_max else (x, mean)


class _FusedActivation(torch.autograd.Function):
    """The same in one pass over the nodes, and one back."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, batch: Tensor, num_graphs: int, normalize: str, with_max: bool
    ) -> tuple[Tensor, ...]:
        from bankgcn.kernels.layer.activation import activate

        x, scale, mean, highest = activate(h, batch, num_graphs, normalize, with_max)
        ctx.save_for_backward(h, batch, x, scale, highest)
        ctx.options = num_graphs, normalize, with_max
        return (x, mean, highest) if with_max else (x, mean)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from bankgcn.kernels.layer.activation import activate_adjoint

        h, batch, x, scale, highest = ctx.saved_tensors
        num_graphs, normalize, with_max = ctx.options
        if torch.is_grad_enabled():  # a second derivative is wanted, which needs a record of the steps
            outputs = _plain(h, batch, num_graphs, normalize, with_max)
            (grad_h,) = torch.autograd.grad(outputs, h, gradients, create_graph=True)
        else:
            grad_x, grad_mean, *rest = gradients
            grad_max = rest[0] if rest else highest
            grad_h = activate_adjoint(h, batch, normalize, x, scale, highest, grad_x, grad_mean, grad_max)
        return grad_h, None, None, None, None
