r"""All hops and all subspaces of a filter bank in one pass over each graph, forward and backward.

The signal of a small graph fits into the first cache, so the hops of one graph after another cost little more than
reading and writing the signals once. Rows of up to four neighbours, which molecules and most meshes have, are summed
without an intermediate result. Graphs that do not fit are left to :mod:`~bankgcn.kernels.large_graph`.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.kernels import large_graph
from bankgcn.kernels.compiler import compiled
from bankgcn.kernels.shift_arrays import ShiftArrays, _shift_row, shift_arrays

__all__ = ["ShiftArrays", "filter_bank", "filter_bank_adjoint", "shift_arrays"]


def filter_bank(shift: ShiftArrays, x: Tensor, coefficients: Tensor) -> Tensor:
    r""":math:`\sum_k c_k T_k(\tilde L) x`; the channels are divided among the columns of the coefficients."""
    x = x.contiguous()
    wide = _per_channel(coefficients, x)
    if large_graph.is_large(shift, x.numpy(), wide):
        return torch.from_numpy(large_graph.forward(shift, x.numpy(), wide))
    out = torch.empty_like(x)
    _forward(*shift, x.numpy(), wide, out.numpy())
    return out


def filter_bank_adjoint(shift: ShiftArrays, x: Tensor, coefficients: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of the signals and of the coefficients."""
    x, gradient = x.contiguous(), gradient.contiguous()
    wide = _per_channel(coefficients, x)
    if large_graph.is_large(shift, x.numpy(), wide):
        grad, grad_wide = large_graph.backward(shift, x.numpy(), wide, gradient.numpy())
        grad_x = torch.from_numpy(grad)
    else:
        grad_x, grad_wide = torch.empty_like(x), np.empty_like(wide)
        _backward(*shift, x.numpy(), wide, gradient.numpy(), grad_x.numpy(), grad_wide)
    grad_c = grad_wide.reshape(*coefficients.shape, -1).sum(-1) if grad_wide.size else grad_wide
    return grad_x, torch.from_numpy(grad_c)


def _per_channel(coefficients: Tensor, x: Tensor) -> NDArray[np.floating]:
    """The coefficients of each channel: those of the filter that it belongs to."""
    return np.repeat(coefficients.numpy(), x.size(1) // coefficients.size(1), axis=1)


@compiled
def _forward(rowptr, col, weight, cuts, x, c, out):
    """Out = sum_k c[k] * T_k(L~) x, a block of nodes at a time."""
    order, channels = c.shape[0] - 1, x.shape[1]
    if order == 0:
        for i in range(x.shape[0]):
            for k in range(channels):
                out[i, k] = c[0, k] * x[i, k]
        return
    largest = 0
    for b in range(cuts.shape[0] - 1):
        largest = max(largest, cuts[b + 1] - cuts[b])
    hops = np.empty((3, largest if order > 1 else 1, channels), x.dtype)
    row = np.empty((1, channels), x.dtype)
    for b in range(cuts.shape[0] - 1):
        first, last = cuts[b], cuts[b + 1]
        current = hops[0]
        for i in range(first, last):  # T_1
            at = i - first if order > 1 else 0
            _shift_row(rowptr, col, weight, i, x, 0, current, at)
            for k in range(channels):
                out[i, k] = c[0, k] * x[i, k] + c[1, k] * current[at, k]
        for hop in range(2, order + 1):
            current, previous, following = hops[(hop - 2) % 3], hops[(hop - 3) % 3], hops[(hop - 1) % 3]
            for i in range(first, last):
                _shift_row(rowptr, col, weight, i, current, first, row, 0)
                at = i - first
                if hop == 2 and order == 2:
                    for k in range(channels):
                        out[i, k] += c[2, k] * (2 * row[0, k] - x[i, k])
                elif hop == 2:
                    for k in range(channels):
                        following[at, k] = 2 * row[0, k] - x[i, k]
                        out[i, k] += c[2, k] * following[at, k]
                else:
                    for k in range(channels):
                        following[at, k] = 2 * row[0, k] - previous[at, k]
                        out[i, k] += c[hop, k] * following[at, k]


@compiled
def _backward(rowptr, col, weight, cuts, x, c, g, grad_x, grad_c):
    """grad_x = the same filter of g; grad_c[k] = <T_k(L~) g, x>, channel by channel."""
    order, channels = c.shape[0] - 1, x.shape[1]
    largest = 0
    for b in range(cuts.shape[0] - 1):
        largest = max(largest, cuts[b + 1] - cuts[b])
    hops = np.empty((3, largest, channels), x.dtype)
    partial = np.empty((order + 1, channels), x.dtype)  # a sum of sums loses less to rounding than one long sum
    grad_c[:] = 0
    for b in range(cuts.shape[0] - 1):
        first, last = cuts[b], cuts[b + 1]
        partial[:] = 0
        current = hops[0]
        for i in range(first, last):
            if order == 0:
                for k in range(channels):
                    grad_x[i, k] = c[0, k] * g[i, k]
                    partial[0, k] += g[i, k] * x[i, k]
            else:
                at = i - first
                _shift_row(rowptr, col, weight, i, g, 0, current, at)
                for k in range(channels):
                    grad_x[i, k] = c[0, k] * g[i, k] + c[1, k] * current[at, k]
                    partial[0, k] += g[i, k] * x[i, k]
                    partial[1, k] += current[at, k] * x[i, k]
        for hop in range(2, order + 1):
            current, previous, following = hops[(hop - 2) % 3], hops[(hop - 3) % 3], hops[(hop - 1) % 3]
            for i in range(first, last):
                at = i - first
                _shift_row(rowptr, col, weight, i, current, first, following, at)
                if hop == 2:
                    for k in range(channels):
                        following[at, k] = 2 * following[at, k] - g[i, k]
                        grad_x[i, k] += c[2, k] * following[at, k]
                        partial[2, k] += following[at, k] * x[i, k]
                else:
                    for k in range(channels):
                        following[at, k] = 2 * following[at, k] - previous[at, k]
                        grad_x[i, k] += c[hop, k] * following[at, k]
                        partial[hop, k] += following[at, k] * x[i, k]
        grad_c += partial
