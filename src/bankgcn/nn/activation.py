r"""What follows each convolution: ReLU and :math:`\ell_2` normalisation of the nodes, and the readout of the graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from bankgcn.kernels import fused_for, operators_for
from bankgcn.nn.norms import l2_norm
from bankgcn.nn.readout import READOUT_PARTS

Norm = Callable[[Tensor], Tensor]


def _normalize_then_relu(h: Tensor, norm: Norm) -> Tensor:
    return F.relu(norm(h))


def _relu_then_normalize(h: Tensor, norm: Norm) -> Tensor:
    return norm(F.relu(h))


def _relu(h: Tensor, norm: Norm) -> Tensor:
    return F.relu(h)


ACTIVATIONS: dict[str, Callable[[Tensor, Norm], Tensor]] = {
    "before": _normalize_then_relu,
    "after": _relu_then_normalize,
    "none": _relu,
}
"""The nonlinearity, by the place of the normalisation: before the ReLU, after it, or none.

Each takes the signals and the normalisation.
"""

COMPILED_READOUTS = (("mean",), ("mean", "max"))
"""The readouts that the compiled passes compute."""


def activate_and_read(
    h: Tensor, batch: Tensor, num_graphs: int, normalize: str = "before", readout: tuple[str, ...] = ("mean", "max")
) -> tuple[Tensor, ...]:
    r"""Activate the signals with :math:`\ell_2` normalisation, and read out the graphs.

    Args:
        h: Output of a convolution, shape ``(num_nodes, channels)``.
        batch: Graph of each node, shape ``(num_nodes,)``.
        num_graphs: Number of graphs.
        normalize: A name in ``ACTIVATIONS``.
        readout: Names in ``READOUT_PARTS``.

    Returns:
        The activated signals, shape ``(num_nodes, channels)``, then each part of the readout, shape ``(num_graphs,
        channels)``.
    """
    if batch.dtype == torch.int64 and readout in COMPILED_READOUTS:
        if fused_for(h, batch):
            return _FusedActivation.apply(h, batch, num_graphs, normalize, readout)
        if operators_for(h, batch):
            with_max = "max" in readout
            x, _, mean, maximum = torch.ops.bankgcn.activate_and_read(h, batch, num_graphs, normalize, with_max)
            return (x, mean, maximum) if with_max else (x, mean)
    return _plain(h, batch, num_graphs, normalize, readout)


def _plain(h: Tensor, batch: Tensor, num_graphs: int, normalize: str, readout: tuple[str, ...]) -> tuple[Tensor, ...]:
    x = ACTIVATIONS[normalize](h, l2_norm)
    return (x, *(READOUT_PARTS[part](x, batch, num_graphs) for part in readout))


class _FusedActivation(torch.autograd.Function):
    """Activation and readout in one pass over the nodes, and their gradient in another."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, batch: Tensor, num_graphs: int, normalize: str, readout: tuple[str, ...]
    ) -> tuple[Tensor, ...]:
        from bankgcn.kernels.layer.activation import activate

        with_max = "max" in readout
        x, scale, mean, maximum = activate(h, batch, num_graphs, normalize, with_max)
        ctx.save_for_backward(h, batch, x, scale, maximum)
        ctx.options = num_graphs, normalize, readout
        return (x, mean, maximum) if with_max else (x, mean)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from bankgcn.kernels.layer.activation import activate_adjoint

        h, batch, x, scale, maximum = ctx.saved_tensors
        num_graphs, normalize, readout = ctx.options
        if torch.is_grad_enabled():  # the caller wants a second derivative: autograd must record the steps
            outputs = _plain(h, batch, num_graphs, normalize, readout)
            (grad_h,) = torch.autograd.grad(outputs, h, gradients, create_graph=True)
        else:
            grad_x, grad_mean, *rest = gradients
            grad_max = rest[0] if rest else maximum
            grad_h = activate_adjoint(h, batch, normalize, x, scale, maximum, grad_x, grad_mean, grad_max)
        return grad_h, None, None, None, None
