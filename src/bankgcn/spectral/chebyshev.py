r"""The Chebyshev recurrence :math:`\sum_k c_k T_k(\tilde L)\,x`, which is its own adjoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from bankgcn.kernels import fused_for, is_transformed, operators_for
from bankgcn.spectral.shift import GraphShift


def apply(shift: GraphShift | Callable[[Tensor], Tensor], x: Tensor, coefficients: Tensor) -> Tensor:
    r"""Chebyshev filters :math:`\sum_{k=0}^K c_k T_k(\tilde L)\,x`, each on its own channels (Eq. 15).

    Args:
        shift: The operator :math:`\tilde L`: a :class:`GraphShift`, or any symmetric linear map of ``x``.
        x: Signals, shape ``(num_nodes, channels)``.
        coefficients: :math:`c_k` in row ``k``, one column per filter: shape ``(order + 1, num_filters)``. Each filter
            gets a block of channels; all blocks have the same width. ``(order + 1,)`` is one filter for all channels.

    Returns:
        The filtered signals, shape ``(num_nodes, channels)``.

    The result is differentiable in ``x`` and ``coefficients``, and in the edge weights if the shift was built from
    weights that require a gradient. Only in that case, and inside ``torch.func``, autograd records every hop;
    otherwise it keeps just ``x``.
    """
    if coefficients.dim() not in (1, 2) or 0 in coefficients.shape:
        raise ValueError(
            f"coefficients have shape {tuple(coefficients.shape)}, expected (order + 1, num_filters), both at least 1"
        )
    if coefficients.dim() == 1:
        coefficients = coefficients.unsqueeze(-1)
    if not isinstance(shift, GraphShift):
        blocks = x.dim() == 2 and x.size(1) % coefficients.size(1) == 0  # else one signal for all filters
        return _combine(shift, x, _per_channel(coefficients, x.size(1)) if blocks else coefficients)
    if x.dim() != 2 or x.size(0) != shift.num_nodes:
        raise ValueError(f"x has shape {tuple(x.shape)}, expected one row for each of num_nodes={shift.num_nodes}")
    if x.size(1) % coefficients.size(1):
        raise ValueError(f"{x.size(1)} channels cannot be divided among {coefficients.size(1)} filters")
    if is_transformed() or (shift.weight.requires_grad and torch.is_grad_enabled()):
        return _combine(shift, x, _per_channel(coefficients, x.size(1)))
    if x.dtype == coefficients.dtype == shift.dtype:
        if fused_for(x, coefficients, shift.weight):
            return _FusedFilter.apply(shift, x, coefficients)
        if operators_for(x, coefficients, shift.weight):
            return torch.ops.bankgcn.filter_bank(shift.rowptr, shift.col, shift.weight, x, coefficients)
    wide = _per_channel(coefficients, x.size(1))
    return _SelfAdjointFilter.apply(shift.rowptr, shift.col, shift.weight, shift.row, x, wide)


def polynomials(shift: Callable[[Tensor], Tensor], x: Tensor, order: int) -> Iterator[Tensor]:
    r"""Yield :math:`T_0(\tilde L)x, \dots, T_K(\tilde L)x` by :math:`T_k = 2 \tilde L T_{k-1} - T_{k-2}`."""
    previous, current = x, x
    yield x
    for k in range(1, order + 1):
        previous, current = current, shift(x) if k == 1 else 2 * shift(current) - previous
        yield current


def _combine(shift: Callable[[Tensor], Tensor], x: Tensor, coefficients: Tensor) -> Tensor:
    hops = zip(coefficients.unbind(), polynomials(shift, x, coefficients.size(0) - 1), strict=True)
    first, t_0 = next(hops)
    out = first * t_0
    for c_k, t_k in hops:
        out = out + c_k * t_k
    return out


def _per_channel(coefficients: Tensor, channels: int) -> Tensor:
    """The coefficients of each channel's filter, shape ``(order + 1, channels)``."""
    terms, filters = coefficients.shape
    return coefficients.unsqueeze(-1).expand(-1, -1, channels // filters).reshape(terms, channels)


class _SelfAdjointFilter(torch.autograd.Function):
    r"""The filter with a backward pass written by hand, for a shift that needs no gradient.

    :math:`\tilde L` is symmetric, so every :math:`T_k(\tilde L)` is. With the incoming gradient :math:`g`,

    .. math::
        \partial x = \sum_k c_k\, T_k(\tilde L)\, g, \qquad
        \partial c_k = \langle g, T_k(\tilde L) x \rangle = \langle T_k(\tilde L) g, x \rangle:

    one recurrence over :math:`g` gives both, and autograd keeps only :math:`x`.
    """

    @staticmethod
    def forward(rowptr: Tensor, col: Tensor, weight: Tensor, row: Tensor, x: Tensor, coefficients: Tensor) -> Tensor:
        return _combine(GraphShift(rowptr, col, weight, row), x, coefficients)

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rowptr, col, weight, row, x, coefficients = ctx.saved_tensors
        return None, None, None, None, *_adjoint(GraphShift(rowptr, col, weight, row), x, coefficients, gradient)


class _FusedFilter(torch.autograd.Function):
    """The same filter and the same adjoint, computed by compiled passes."""

    @staticmethod
    def forward(ctx: Any, shift: GraphShift, x: Tensor, coefficients: Tensor) -> Tensor:
        from bankgcn.kernels.layer.filter_bank import filter_bank

        out = filter_bank(shift.csr, x, coefficients)
        ctx.shift = copy(shift)  # its weights may be replaced before the backward pass
        ctx.save_for_backward(x, coefficients)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        from bankgcn.kernels.layer.filter_bank import filter_bank_adjoint

        shift, (x, coefficients) = ctx.shift, ctx.saved_tensors
        if torch.is_grad_enabled():  # the caller wants a second derivative: autograd must record the steps
            grad_x, wide = _adjoint(shift, x, _per_channel(coefficients, x.size(1)), gradient)
            return None, grad_x, wide.unflatten(1, (coefficients.size(1), -1)).sum(-1)
        return None, *filter_bank_adjoint(shift.csr, x, coefficients, gradient)


def _adjoint(shift: GraphShift, x: Tensor, coefficients: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of the signals and the coefficients, by one recurrence over the incoming gradient."""
    grad_x, grad_coefficients = coefficients[0] * gradient, []
    for k, t_k in enumerate(polynomials(shift, gradient, coefficients.size(0) - 1)):
        if k > 0:
            grad_x = grad_x + coefficients[k] * t_k
        grad_coefficients.append((t_k * x).sum(0))
    return grad_x, torch.stack(grad_coefficients).to(coefficients.dtype)
