r"""A filter bank over one large graph: hop by hop over all nodes, on one thread or several.

Where the signal of a graph does not fit into the cache, time goes into moving it. The forward pass therefore runs
Clenshaw's recurrence

.. math::
    b_k = c_k x + 2 \tilde L b_{k+1} - b_{k+2}, \qquad \sum_k c_k T_k(\tilde L) x = c_0 x + \tilde L b_1 - b_2,

which has no sum of its own to carry along, and every recurrence overwrites its term before last, of which a row needs
only itself. Nodes are taken in chunks of a fixed size, each with sums of its own that are added in order, so the result
does not depend on the number of threads.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import compiled, compiled_parallel
from bankgcn.kernels.jit.threads import available_threads, several_threads
from bankgcn.kernels.layer.shift_arrays import ShiftArrays

CHUNK = 512  # nodes
LARGE_SIGNAL = 2**19  # bytes of a block's signal that no longer stay in the cache of a core
# Multiplications of a hop, some ten milliseconds of them: after each hop the threads wait for the last one, and on a
# busy machine that one may have to wait for its turn, which takes almost as long.
WORTH_THREADS = 2**24

Floats = NDArray[np.floating]


def is_large(shift: ShiftArrays, x: Floats, c: Floats) -> bool:
    """Whether a filter is better done hop by hop over all nodes than block by block."""
    if c.shape[0] == 1:  # without hops nothing is gathered
        return False
    if _threads_for(shift, x) > 1:
        return True
    return x.nbytes > LARGE_SIGNAL and np.diff(shift.blocks).max() * x[0].nbytes > LARGE_SIGNAL


def forward(shift: ShiftArrays, x: Floats, c: Floats) -> Floats:
    """Sum of c[k] * T_k(L~) x, for an order of at least 1."""
    order = c.shape[0] - 1
    out = np.empty_like(x)  # by NumPy, which asks the system for huge pages where numba does not
    terms = (out, np.empty_like(x) if order > 1 else out)
    following = x
    with several_threads(_threads_for(shift, x)) as together:
        one_hop = _forward_hop_together if together else _forward_hop
        for k in reversed(range(order)):
            one_hop(0, _num_chunks(x), *shift[:3], k, following, x, c, terms[k % 2])
            following = terms[k % 2]
    return out


def backward(shift: ShiftArrays, x: Floats, c: Floats, g: Floats) -> tuple[Floats, Floats]:
    """Gradients of the signals and, channel by channel, of the coefficients, for an order of at least 1."""
    order = c.shape[0] - 1
    grad_x = np.empty_like(x)
    # Two terms are kept; the last is used as it is made, so low orders need less.
    terms = (np.empty_like(x) if order > 2 else grad_x, np.empty_like(x) if order > 1 else grad_x)
    sums = np.empty((_num_chunks(x), *c.shape), x.dtype)
    previous = g
    with several_threads(_threads_for(shift, x)) as together:
        one_hop = _backward_hop_together if together else _backward_hop
        for k in range(1, order + 1):
            one_hop(0, len(sums), *shift[:3], k, previous, x, c, g, terms[k % 2], grad_x, sums)
            previous = terms[k % 2]
    return grad_x, sums.sum(0, dtype=np.float64).astype(x.dtype)


def _threads_for(shift: ShiftArrays, x: Floats) -> int:
    return available_threads() if shift.col.size * x.shape[1] >= WORTH_THREADS else 1


def _num_chunks(x: Floats) -> int:
    return -(-x.shape[0] // CHUNK)


@numba.njit(inline="always")
def _shift_row(rowptr, col, weight, i, x, out):
    """Row i of L~ x; up to four neighbours, which most meshes have, are summed without an intermediate result."""
    start, end = rowptr[i], rowptr[i + 1]
    channels = x.shape[1]
    count = end - start
    if count == 0:
        for k in range(channels):
            out[k] = 0
    elif count == 1:
        w0, j0 = weight[start], col[start]
        for k in range(channels):
            out[k] = w0 * x[j0, k]
    elif count == 2:
        w0, j0 = weight[start], col[start]
        w1, j1 = weight[start + 1], col[start + 1]
        for k in range(channels):
            out[k] = w0 * x[j0, k] + w1 * x[j1, k]
    elif count == 3:
        w0, j0 = weight[start], col[start]
        w1, j1 = weight[start + 1], col[start + 1]
        w2, j2 = weight[start + 2], col[start + 2]
        for k in range(channels):
            out[k] = w0 * x[j0, k] + w1 * x[j1, k] + w2 * x[j2, k]
    else:
        w0, j0 = weight[start], col[start]
        w1, j1 = weight[start + 1], col[start + 1]
        w2, j2 = weight[start + 2], col[start + 2]
        w3, j3 = weight[start + 3], col[start + 3]
        for k in range(channels):
            out[k] = w0 * x[j0, k] + w1 * x[j1, k] + w2 * x[j2, k] + w3 * x[j3, k]
        for e in range(start + 4, end):
            w0, j0 = weight[e], col[e]
            for k in range(channels):
                out[k] += w0 * x[j0, k]


@compiled
def _forward_hop(first, last, rowptr, col, weight, k, following, x, c, term):
    """Rows of b_k, or of the result if k is 0, for some chunks; ``term`` holds b_{k+2}."""
    order, channels = c.shape[0] - 1, x.shape[1]
    row = np.empty(channels, x.dtype)
    twice = x.dtype.type(1 if k == 0 else 2)
    for i in range(first * CHUNK, min(last * CHUNK, x.shape[0])):
        _shift_row(rowptr, col, weight, i, following, row)
        if k == order - 1:  # b_{k+1} is c_{k+1} x, of which only x was shifted
            for j in range(channels):
                term[i, j] = c[k, j] * x[i, j] + twice * c[order, j] * row[j]
        elif k == order - 2:
            for j in range(channels):
                term[i, j] = (c[k, j] - c[order, j]) * x[i, j] + twice * row[j]
        else:
            for j in range(channels):
                term[i, j] = c[k, j] * x[i, j] + twice * row[j] - term[i, j]


@compiled
def _backward_hop(first, last, rowptr, col, weight, k, previous, x, c, g, term, grad_x, sums):
    """Rows of T_k(L~) g for some chunks, and what they add to the gradients; ``term`` holds T_{k-2}(L~) g."""
    order, channels = c.shape[0] - 1, x.shape[1]
    row = np.empty(channels, x.dtype)
    for chunk in range(first, last):
        sums[chunk, k] = 0
        if k == 1:
            sums[chunk, 0] = 0
        for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, x.shape[0])):
            _shift_row(rowptr, col, weight, i, previous, row)
            if k == 1:
                for j in range(channels):
                    sums[chunk, 0, j] += g[i, j] * x[i, j]
            elif k == 2:
                for j in range(channels):
                    row[j] = 2 * row[j] - g[i, j]
            else:
                for j in range(channels):
                    row[j] = 2 * row[j] - term[i, j]
            for j in range(channels):
                sums[chunk, k, j] += row[j] * x[i, j]
            # The second hop adds the first three terms at once: the gradient is written and read once less.
            if k == 1 and order == 1:
                for j in range(channels):
                    grad_x[i, j] = c[0, j] * g[i, j] + c[1, j] * row[j]
            elif k == 2:
                for j in range(channels):
                    grad_x[i, j] = c[0, j] * g[i, j] + c[1, j] * previous[i, j] + c[2, j] * row[j]
            elif k > 2:
                for j in range(channels):
                    grad_x[i, j] += c[k, j] * row[j]
            if k < order:
                for j in range(channels):
                    term[i, j] = row[j]


@compiled_parallel
def _forward_hop_together(first, last, rowptr, col, weight, k, following, x, c, term):
    for chunk in numba.prange(first, last):
        _forward_hop(chunk, chunk + 1, rowptr, col, weight, k, following, x, c, term)


@compiled_parallel
def _backward_hop_together(first, last, rowptr, col, weight, k, previous, x, c, g, term, grad_x, sums):
    for chunk in numba.prange(first, last):
        _backward_hop(chunk, chunk + 1, rowptr, col, weight, k, previous, x, c, g, term, grad_x, sums)
