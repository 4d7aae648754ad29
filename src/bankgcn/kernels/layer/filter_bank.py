r"""All hops and all subspaces of a filter bank in one pass over each graph, forward and backward.

The signal of a small graph fits into the first cache, so the hops of one graph after another cost little more than
reading and writing the signals once. Graphs that do not fit are left to :mod:`~bankgcn.kernels.layer.large_graph`.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.kernels.jit.compiler import compiled
from bankgcn.kernels.jit.vector import lanes, pair_of, row_of
from bankgcn.kernels.layer import large_graph
from bankgcn.kernels.layer.shift_arrays import ShiftArrays, shift_arrays
from bankgcn.kernels.ops.filter_rows import filter_rows, room_for_hops

__all__ = ["ShiftArrays", "filter_bank", "filter_bank_adjoint", "shift_arrays"]


def filter_bank(shift: ShiftArrays, x: Tensor, coefficients: Tensor) -> Tensor:
    r""":math:`\sum_k c_k T_k(\tilde L) x`; the channels are divided among the columns of the coefficients."""
    x = x.contiguous()
    wide = _per_channel(coefficients, x)
    if large_graph.is_large(shift, x.numpy(), wide):
        return torch.from_numpy(large_graph.forward(shift, x.numpy(), wide))
    out = torch.empty_like(x)
    _filter(*shift, x.numpy(), wide, out.numpy(), x.numpy(), wide[:0])
    return out


def filter_bank_adjoint(shift: ShiftArrays, x: Tensor, coefficients: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of the signals and of the coefficients."""
    x, gradient = x.contiguous(), gradient.contiguous()
    wide = _per_channel(coefficients, x)
    if large_graph.is_large(shift, x.numpy(), wide):
        grad_x, grad_wide = large_graph.backward(shift, x.numpy(), wide, gradient.numpy())
    else:
        grad_x, grad_wide = np.empty_like(x.numpy()), np.zeros_like(wide)
        _filter(*shift, gradient.numpy(), wide, grad_x, x.numpy(), grad_wide)
    grad_c = grad_wide.reshape(*coefficients.shape, -1).sum(-1) if grad_wide.size else grad_wide
    return torch.from_numpy(grad_x), torch.from_numpy(grad_c)


def _per_channel(coefficients: Tensor, x: Tensor) -> NDArray[np.floating]:
    """The coefficients of each channel: those of the filter that it belongs to."""
    return np.repeat(coefficients.numpy(), x.size(1) // coefficients.size(1), axis=1)


@compiled
def _filter(rowptr, col, weight, cuts, x, c, out, signal, grad_c):
    """:func:`~bankgcn.kernels.ops.filter_rows.filter_rows` for all columns of one block of nodes after another."""
    channels, back = x.shape[1], grad_c.shape[0] > 0
    row, pair = row_of(x.dtype.type(0)), pair_of(x.dtype.type(0))
    largest = 0
    for b in range(cuts.shape[0] - 1):
        largest = max(largest, cuts[b + 1] - cuts[b])
    hops = room_for_hops(c.shape[0] - 1, largest, lanes(row), x.dtype)
    # The last columns, if they do not fill a vector, are laid beside zeros.
    last_column = channels // lanes(pair) * lanes(pair)
    rest = channels - last_column
    room = np.zeros((3, largest if rest else 0, lanes(pair)), x.dtype)
    last_c, last_grad_c = np.zeros((len(c), lanes(pair)), c.dtype), np.zeros((len(grad_c), lanes(pair)), c.dtype)
    last_c[:, :rest] = c[:, last_column:]
    for b in range(cuts.shape[0] - 1):
        first, rows, j = cuts[b], cuts[b + 1] - cuts[b], 0
        while j + lanes(row) <= last_column:
            filter_rows(row, rowptr, col, weight, 0, first, rows, x, j, c, hops, out, signal, grad_c)
            j += lanes(row)
        while j < last_column:
            filter_rows(pair, rowptr, col, weight, 0, first, rows, x, j, c, hops, out, signal, grad_c)
            j += lanes(pair)
        if rest:
            for i in range(rows):
                for k in range(rest):
                    room[0, i, k] = x[first + i, j + k]
                    room[1, i, k] = signal[first + i, j + k]
            filter_rows(
                pair, rowptr, col, weight, first, 0, rows, room[0], 0, last_c, hops, room[2], room[1], last_grad_c
            )
            for i in range(rows):
                for k in range(rest):
                    out[first + i, j + k] = room[2, i, k]
    if back:
        grad_c[:, last_column:] = last_grad_c[:, :rest]
