r"""All hops and all subspaces of a filter bank in one pass over each graph, forward and backward.

The signal of a small graph fits into the first cache, so the hops of one graph after another cost little more than
reading and writing the signals once. Rows of up to four neighbours, which molecules and most meshes have, are summed
without an intermediate result.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.kernels.compiler import compiled

NODES_AT_ONCE = 16  # graphs smaller than this are taken together


class ShiftArrays(NamedTuple):
    """A shift in CSR form, and where its nodes can be parted."""

    rowptr: NDArray[np.int64]
    col: NDArray[np.int64]
    weight: NDArray[np.floating]
    blocks: NDArray[np.int64]


def shift_arrays(rowptr: Tensor, col: Tensor, weight: Tensor) -> ShiftArrays:
    """The arrays of a shift, with the ranges of nodes that no edge leaves: the graphs of a batch, found from the edges.

    Raises:
        ValueError: A column is out of range, which the passes below would not notice.
    """
    arrays = (rowptr.contiguous().numpy(), col.contiguous().numpy())
    blocks = _find_blocks(*arrays)
    if not len(blocks):
        raise ValueError(f"the shift has columns outside 0 to {rowptr.numel() - 2}, or pointers that do not ascend")
    return ShiftArrays(*arrays, weight.detach().contiguous().numpy(), blocks)


def filter_bank(shift: ShiftArrays, x: Tensor, coefficients: Tensor) -> Tensor:
    r""":math:`\sum_k c_k T_k(\tilde L) x`; the channels are divided among the columns of the coefficients."""
    x = x.contiguous()
    out = torch.empty_like(x)
    _forward(*shift, x.numpy(), _per_channel(coefficients, x), out.numpy())
    return out


def filter_bank_adjoint(shift: ShiftArrays, x: Tensor, coefficients: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of the signals and of the coefficients."""
    x, gradient = x.contiguous(), gradient.contiguous()
    grad_x, wide = torch.empty_like(x), _per_channel(coefficients, x)
    grad_wide = np.empty_like(wide)
    _backward(*shift, x.numpy(), wide, gradient.numpy(), grad_x.numpy(), grad_wide)
    grad_c = grad_wide.reshape(*coefficients.shape, -1).sum(-1) if grad_wide.size else grad_wide
    return grad_x, torch.from_numpy(grad_c)


def _per_channel(coefficients: Tensor, x: Tensor) -> NDArray[np.floating]:
    """The coefficients of each channel: those of the filter that it belongs to."""
    return np.repeat(coefficients.numpy(), x.size(1) // coefficients.size(1), axis=1)


@compiled
def _find_blocks(rowptr, col):
    num_nodes = rowptr.shape[0] - 1
    if rowptr[0] != 0 or rowptr[num_nodes] != col.shape[0]:
        return np.empty(0, np.int64)
    cuts = np.empty(num_nodes // NODES_AT_ONCE + 2, np.int64)
    cuts[0] = 0
    count, furthest = 1, np.int64(-1)
    for i in range(num_nodes):
        if rowptr[i] > rowptr[i + 1]:
            return np.empty(0, np.int64)
        for e in range(rowptr[i], rowptr[i + 1]):
            if col[e] < 0 or col[e] >= num_nodes:
                return np.empty(0, np.int64)
            furthest = max(furthest, col[e])
        if furthest <= i and i + 1 - cuts[count - 1] >= NODES_AT_ONCE:
            cuts[count] = i + 1
            count += 1
    if cuts[count - 1] != num_nodes:
        cuts[count] = num_nodes
        count += 1
    return cuts[:count].copy()


@numba.njit(inline="always")
def _shift_row(rowptr, col, weight, i, x, first, out, at):
    """Row i of L~ x into row ``at`` of ``out``, where row j of the signal stands at j - first."""
    start, end = rowptr[i], rowptr[i + 1]
    channels = x.shape[1]
    count = end - start
    if count == 0:
        for k in range(channels):
            out[at, k] = 0
    elif count == 1:
        w0, j0 = weight[start], col[start] - first
        for k in range(channels):
            out[at, k] = w0 * x[j0, k]
    elif count == 2:
        w0, j0 = weight[start], col[start] - first
        w1, j1 = weight[start + 1], col[start + 1] - first
        for k in range(channels):
            out[at, k] = w0 * x[j0, k] + w1 * x[j1, k]
    elif count == 3:
        w0, j0 = weight[start], col[start] - first
        w1, j1 = weight[start + 1], col[start + 1] - first
        w2, j2 = weight[start + 2], col[start + 2] - first
        for k in range(channels):
            out[at, k] = w0 * x[j0, k] + w1 * x[j1, k] + w2 * x[j2, k]
    else:
        w0, j0 = weight[start], col[start] - first
        w1, j1 = weight[start + 1], col[start + 1] - first
        w2, j2 = weight[start + 2], col[start + 2] - first
        w3, j3 = weight[start + 3], col[start + 3] - first
        for k in range(channels):
            out[at, k] = w0 * x[j0, k] + w1 * x[j1, k] + w2 * x[j2, k] + w3 * x[j3, k]
        for e in range(start + 4, end):
            w0, j0 = weight[e], col[e] - first
            for k in range(channels):
                out[at, k] += w0 * x[j0, k]


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
