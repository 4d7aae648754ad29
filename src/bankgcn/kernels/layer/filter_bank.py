r"""All hops and all subspaces of a filter bank, graph by graph, forward and backward.

The signal of a small graph fits into the first-level cache, so all hops of a graph cost little more than reading and
writing its signal once. :mod:`~bankgcn.kernels.layer.large_graph` filters graphs that do not fit.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.kernels.jit.compiler import jit_cached
from bankgcn.kernels.jit.vector import lanes, pointer_to, zeros2, zeros8
from bankgcn.kernels.layer import large_graph
from bankgcn.kernels.layer.shift_arrays import ShiftArrays, shift_arrays
from bankgcn.kernels.ops.propagate import filter_rows

ROWS_OF_A_SUM = 1 << 16
"""After so many rows, sums of single precision are added to sums of double precision. Single precision would lose the
small terms of a sum over millions of nodes."""

__all__ = ["ShiftArrays", "filter_bank", "filter_bank_adjoint", "shift_arrays"]


def filter_bank(shift: ShiftArrays, x: Tensor, coefficients: Tensor) -> Tensor:
    r""":math:`\sum_k c_k T_k(\tilde L) x`; each column of the coefficients is for an equal share of the channels."""
    x = x.contiguous()
    wide = _per_channel(coefficients, x)
    if large_graph.is_large(shift, x.numpy(), wide):
        return torch.from_numpy(large_graph.forward(shift, x.numpy(), wide))
    out = torch.empty_like(x)
    _filter(*_cut(shift, wide), x.numpy(), wide, out.numpy(), x.numpy(), wide[:0])
    return out


def filter_bank_adjoint(shift: ShiftArrays, x: Tensor, coefficients: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of the signals and of the coefficients."""
    x, gradient = x.contiguous(), gradient.contiguous()
    wide = _per_channel(coefficients, x)
    if large_graph.is_large(shift, x.numpy(), wide):
        grad_x, grad_wide = large_graph.backward(shift, x.numpy(), wide, gradient.numpy())
    else:
        grad_x, grad_wide = np.empty_like(x.numpy()), np.zeros_like(wide)
        _filter(*_cut(shift, wide), gradient.numpy(), wide, grad_x, x.numpy(), grad_wide)
    grad_c = grad_wide.reshape(*coefficients.shape, x.size(1) // coefficients.size(1)).sum(-1)
    return torch.from_numpy(grad_x), torch.from_numpy(grad_c)


def _per_channel(coefficients: Tensor, x: Tensor) -> NDArray[np.floating]:
    """Coefficients of each channel: those of its subspace's filter."""
    return np.repeat(coefficients.numpy(), x.size(1) // coefficients.size(1), axis=1)


def _cut(shift: ShiftArrays, c: NDArray[np.floating]) -> ShiftArrays:
    """The shift with small blocks where that is possible: order 0 has no hops, so a graph can be cut anywhere."""
    if len(c) > 1:
        return shift
    nodes = len(shift.rowptr) - 1
    return shift._replace(block_ptr=np.append(np.arange(0, nodes, large_graph.CHUNK), nodes))


@jit_cached
def _filter(rowptr, col, weight, block_ptr, x, c, out, signal, grad_c):
    """:func:`~bankgcn.kernels.ops.propagate.filter_rows` for all columns of each block of nodes."""
    channels, order, adjoint = x.shape[1], c.shape[0] - 1, grad_c.shape[0] > 0
    from_x, from_c, to, from_signal, to_c = (
        pointer_to(x), pointer_to(c), pointer_to(out), pointer_to(signal), pointer_to(grad_c),
    )  # fmt: skip
    edges = pointer_to(rowptr), pointer_to(col), pointer_to(weight)
    zero8, zero2 = zeros8(from_x), zeros2(from_x)
    largest = 0
    for b in range(block_ptr.shape[0] - 1):
        largest = max(largest, block_ptr[b + 1] - block_ptr[b])
    hops = np.empty(min(max(order - 1, 0), 3) * largest * lanes(zero8), x.dtype)
    # The last columns, if they do not fill a vector, are copied and padded with zeros.
    few = lanes(zero2)
    last_column = channels // few * few
    rest = channels - last_column
    padded = np.zeros((3, largest if rest else 0, few), x.dtype)
    last_c, last_grad_c = np.zeros((len(c), few), c.dtype), np.zeros((len(grad_c), few), c.dtype)
    last_c[:, :rest] = c[:, last_column:]
    copies = pointer_to(padded)
    totals, last_totals, summed_rows = np.zeros(grad_c.shape), np.zeros(last_grad_c.shape), 0
    for b in range(block_ptr.shape[0] - 1):
        first, rows, j = block_ptr[b], block_ptr[b + 1] - block_ptr[b], 0
        while j + lanes(zero8) <= last_column:
            at = first * channels + j
            filter_rows(
                zero8, edges[0], edges[1], edges[2], first, rows, from_x, at, channels, from_c, j, channels, order,
                pointer_to(hops), 0, to, at, channels, from_signal, at, channels, to_c, j, channels, adjoint,
            )  # fmt: skip
            j += lanes(zero8)
        while j < last_column:
            at = first * channels + j
            filter_rows(
                zero2, edges[0], edges[1], edges[2], first, rows, from_x, at, channels, from_c, j, channels, order,
                pointer_to(hops), 0, to, at, channels, from_signal, at, channels, to_c, j, channels, adjoint,
            )  # fmt: skip
            j += few
        if rest:
            for i in range(rows):
                for k in range(rest):
                    padded[0, i, k] = x[first + i, j + k]
                    padded[1, i, k] = signal[first + i, j + k]
            size = largest * few
            filter_rows(
                zero2, edges[0], edges[1], edges[2], first, rows, copies, 0, few, pointer_to(last_c), 0, few, order,
                pointer_to(hops), 0, copies, 2 * size, few, copies, size, few, pointer_to(last_grad_c), 0, few, adjoint,
            )  # fmt: skip
            for i in range(rows):
                for k in range(rest):
                    out[first + i, j + k] = padded[2, i, k]
        summed_rows += rows
        if adjoint and summed_rows >= ROWS_OF_A_SUM:
            totals += grad_c
            last_totals += last_grad_c
            grad_c[:], last_grad_c[:], summed_rows = 0, 0, 0
    if adjoint:
        grad_c += totals
        grad_c[:, last_column:] = last_grad_c[:, :rest] + last_totals[:, :rest]
