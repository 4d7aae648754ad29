r"""What follows each convolution: ReLU and :math:`\ell_2` normalisation of the nodes, and the readout of the graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bankgcn.kernels import fused_for, operators_for
from bankgcn.nn.readout import READOUT_PARTS, graph_mean

EPSILON = 1e-12  # as torch.nn.functional.normalize


def shortest_length(dtype: torch.dtype) -> float:
    """The shortest length that is scaled to 1. In half precision, ``EPSILON`` would be 0."""
    return max(EPSILON, torch.finfo(dtype).tiny)


def l2_norm(x: Tensor) -> Tensor:
    """Scale the signal of each node to length 1; zeros stay zeros. Where the length overflows, the result is NaN."""
    length = x.norm(dim=-1, keepdim=True)
    return x / length.masked_fill(length.isinf(), torch.nan).clamp_min(shortest_length(x.dtype))


class GraphNorm(nn.Module):
    r"""Normalisation over the nodes of each graph, from `GraphNorm <https://arxiv.org/abs/2009.03294>`_.

    .. math::
        Z = X - \mu\, \text{mean}(X), \qquad Y = \gamma\, Z / \sqrt{\text{mean}(Z^2) + \epsilon} + \beta

    The means are over the nodes of a graph, for each channel. The factor :math:`\mu` is learned: it says how much of
    the mean to subtract. The same as PyG's ``GraphNorm``, for users without PyG.

    Args:
        channels: Width of the signals.
        eps: The constant :math:`\epsilon`, which keeps the root away from 0.
    """

    def __init__(self, channels: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(channels))
        self.bias = nn.Parameter(torch.empty(channels))
        self.mean_scale = nn.Parameter(torch.empty(channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start with the whole mean subtracted, and the unit scale."""
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)
        nn.init.ones_(self.mean_scale)

    def forward(self, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
        """Normalise signals of shape ``(num_nodes, channels)``; ``batch`` holds the graph of each node."""
        centred = x - graph_mean(x, batch, num_graphs)[batch] * self.mean_scale
        deviation = (graph_mean(centred.square(), batch, num_graphs) + self.eps).sqrt()
        return centred * self.weight / deviation[batch] + self.bias


@dataclass(frozen=True)
class NormSpec:
    """A kind of normalisation.

    Args:
        apply: Normalises: takes the layer's module (``None`` without one), the signals, the graph of each node, and the
            number of graphs.
        make: Makes the module of a layer from its width, if there is something to learn.
        ends_block: Whether it follows the sum of a feed-forward block and its input; else it stands before the block,
            and the sum carries the whole input.
    """

    apply: Callable[[Any, Tensor, Tensor, int], Tensor]
    make: Callable[[int], nn.Module] | None = None
    ends_block: bool = False

    def modules(self, channels: int, num_layers: int) -> nn.ModuleList:
        """A module for each layer; none if there is nothing to learn."""
        return nn.ModuleList([] if self.make is None else [self.make(channels) for _ in range(num_layers)])


def _l2(module: None, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    return l2_norm(x)


def _layer(module: nn.LayerNorm, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    return module(x)


def _graph(module: GraphNorm, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    return module(x, batch, num_graphs)


def _batch(module: nn.BatchNorm1d, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    if module.training and len(x) < 2:  # fewer than two nodes have no deviation: torch would raise
        return F.batch_norm(x, module.running_mean, module.running_var, module.weight, module.bias, eps=module.eps)
    return module(x)


def _none(module: None, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    return x


NORMS: dict[str, NormSpec] = {
    "l2": NormSpec(_l2, ends_block=True),  # what is read has length 1, as without blocks
    "layer": NormSpec(_layer, nn.LayerNorm),
    "graph": NormSpec(_graph, GraphNorm),
    "batch": NormSpec(_batch, nn.BatchNorm1d),
    "none": NormSpec(_none),
}
"""Normalises each node to length 1, each node to mean 0 and deviation 1, each graph, the whole batch, or nothing."""


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
