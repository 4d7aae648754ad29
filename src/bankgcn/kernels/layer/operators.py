"""The kernels as PyTorch operators, which ``torch.compile`` puts into its graph as they are.

A traced graph holds tensors and no Python objects, so the operators take the arrays of a shift one by one. Outside
``torch.compile`` the kernels are called directly, which costs less per call.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_library = torch.library.Library("bankgcn", "DEF")
_library.define("filter_bank(Tensor rowptr, Tensor col, Tensor weight, Tensor x, Tensor coefficients) -> Tensor")
_library.define(
    "filter_bank_adjoint(Tensor rowptr, Tensor col, Tensor weight, Tensor x, Tensor coefficients, Tensor gradient)"
    " -> (Tensor, Tensor)"
)
_library.define(
    "activate_and_read(Tensor h, Tensor batch, SymInt num_graphs, str normalize, bool with_max)"
    " -> (Tensor, Tensor, Tensor, Tensor)"
)
_library.define(
    "activate_and_read_adjoint(Tensor h, Tensor batch, str normalize, Tensor x, Tensor scale, Tensor largest,"
    " Tensor grad_x, Tensor grad_mean, Tensor grad_max) -> Tensor"
)


def _filter_bank(rowptr: Tensor, col: Tensor, weight: Tensor, x: Tensor, coefficients: Tensor) -> Tensor:
    from bankgcn.kernels.layer.filter_bank import filter_bank, shift_arrays

    return filter_bank(shift_arrays(rowptr, col, weight), x, coefficients)


def _filter_bank_adjoint(
    rowptr: Tensor, col: Tensor, weight: Tensor, x: Tensor, coefficients: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    from bankgcn.kernels.layer.filter_bank import filter_bank_adjoint, shift_arrays

    return filter_bank_adjoint(shift_arrays(rowptr, col, weight), x, coefficients, gradient)


def _activate_and_read(
    h: Tensor, batch: Tensor, num_graphs: int, normalize: str, with_max: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    from bankgcn.kernels.layer.activation import activate

    return activate(h, batch, num_graphs, normalize, with_max)


def _activate_and_read_adjoint(h: Tensor, batch: Tensor, normalize: str, *tensors: Tensor) -> Tensor:
    from bankgcn.kernels.layer.activation import activate_adjoint

    return activate_adjoint(h, batch, normalize, *tensors)


_library.impl("filter_bank", _filter_bank, "CPU")
_library.impl("filter_bank_adjoint", _filter_bank_adjoint, "CPU")
_library.impl("activate_and_read", _activate_and_read, "CPU")
_library.impl("activate_and_read_adjoint", _activate_and_read_adjoint, "CPU")


# Shapes of the results, for the compiler.


@torch.library.register_fake("bankgcn::filter_bank", lib=_library)
def _(rowptr: Tensor, col: Tensor, weight: Tensor, x: Tensor, coefficients: Tensor) -> Tensor:
    return x.new_empty(x.shape)


@torch.library.register_fake("bankgcn::filter_bank_adjoint", lib=_library)
def _(
    rowptr: Tensor, col: Tensor, weight: Tensor, x: Tensor, coefficients: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), coefficients.new_empty(coefficients.shape)


@torch.library.register_fake("bankgcn::activate_and_read", lib=_library)
def _(
    h: Tensor, batch: Tensor, num_graphs: int, normalize: str, with_max: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    num_nodes, channels = h.shape
    largest = h.new_empty(num_graphs, channels if with_max else 0)
    return h.new_empty(h.shape), h.new_empty(num_nodes), h.new_empty(num_graphs, channels), largest


@torch.library.register_fake("bankgcn::activate_and_read_adjoint", lib=_library)
def _(h: Tensor, batch: Tensor, normalize: str, *tensors: Tensor) -> Tensor:
    return h.new_empty(h.shape)


# Their derivatives.


def _save_filter(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _filter_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    return None, None, None, *torch.ops.bankgcn.filter_bank_adjoint(*ctx.saved_tensors, gradient)


def _save_activation(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    (h, batch, _, ctx.normalize, _), (x, scale, _, largest) = inputs, output
    ctx.save_for_backward(h, batch, x, scale, largest)
    ctx.mark_non_differentiable(scale)


def _activation_backward(
    ctx: Any, grad_x: Tensor, grad_scale: Tensor, grad_mean: Tensor, grad_max: Tensor
) -> tuple[Tensor | None, ...]:
    h, batch, *results = ctx.saved_tensors
    grad_h = torch.ops.bankgcn.activate_and_read_adjoint(h, batch, ctx.normalize, *results, grad_x, grad_mean, grad_max)
    return grad_h, None, None, None, None


torch.library.register_autograd("bankgcn::filter_bank", _filter_backward, setup_context=_save_filter, lib=_library)
torch.library.register_autograd(
    "bankgcn::activate_and_read", _activation_backward, setup_context=_save_activation, lib=_library
)
