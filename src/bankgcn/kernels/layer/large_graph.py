r"""A filter bank over one large graph: hop by hop over all nodes, on one thread or several.

Where the signal of a graph does not fit into the cache, memory traffic dominates. The forward pass therefore uses
Clenshaw's recurrence

.. math::
    b_k = c_k x + 2 \tilde L b_{k+1} - b_{k+2}, \qquad \sum_k c_k T_k(\tilde L) x = c_0 x + \tilde L b_1 - b_2,

which needs no array for the sum, and every step overwrites the term before the last: a row needs only its own entry
there. Nodes are divided into chunks of a fixed size. Each chunk has its own partial sums, which are added in order, so
the result does not depend on the number of threads.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import jit_cached, jit_cached_parallel
from bankgcn.kernels.jit.threads import available_threads, several_threads
from bankgcn.kernels.layer.shift_arrays import ShiftArrays

CHUNK = 512  # nodes
LARGE_SIGNAL = 2**19  # bytes: a larger signal of a block does not stay in the cache of a core
# Multiplications of a hop, about ten milliseconds: with fewer, waiting for the slowest thread after each hop takes
# almost as long on a busy machine.
MIN_THREADED_WORK = 2**24

Floats = NDArray[np.floating]


def is_large(shift: ShiftArrays, x: Floats, c: Floats) -> bool:
    """Whether filtering hop by hop over all nodes is faster than block by block."""
    if c.shape[0] == 1:  # order 0 has no hops
        return False
    if _threads_for(shift, x) > 1:
        return True
    return x.nbytes > LARGE_SIGNAL and np.diff(shift.block_ptr).max() * x[0].nbytes > LARGE_SIGNAL


def forward(shift: ShiftArrays, x: Floats, c: Floats) -> Floats:
    """Sum of c[k] * T_k(L~) x, for an order of at least 1."""
    order = c.shape[0] - 1
    out = np.empty_like(x)  # NumPy asks the system for huge pages, numba does not
    terms = (out, np.empty_like(x) if order > 1 else out)
    following = x
    with several_threads(_threads_for(shift, x)) as threaded:
        one_hop = _forward_hop_threaded if threaded else _forward_hop
        for k in reversed(range(order)):
            one_hop(0, _num_chunks(x), *shift[:3], k, following, x, c, terms[k % 2])
            following = terms[k % 2]
    return out


def backward(shift: ShiftArrays, x: Floats, c: Floats, g: Floats) -> tuple[Floats, Floats]:
    """Gradients of the signals and, channel by channel, of the coefficients, for an order of at least 1."""
    order = c.shape[0] - 1
    grad_x = np.empty_like(x)
    # Two terms are stored; the last one is used at once, so low orders need fewer arrays.
    terms = (np.empty_like(x) if order > 2 else grad_x, np.empty_like(x) if order > 1 else grad_x)
    sums = np.empty((_num_chunks(x), *c.shape), x.dtype)
    previous = g
    with several_threads(_threads_for(shift, x)) as threaded:
        one_hop = _backward_hop_threaded if threaded else _backward_hop
        for k in range(1, order + 1):
            one_hop(0, len(sums), *shift[:3], k, previous, x, c, g, terms[k % 2], grad_x, sums)
            previous = terms[k % 2]
    return grad_x, sums.sum(0, dtype=np.float64).astype(x.dtype)


def _threads_for(shift: ShiftArrays, x: Floats) -> int:
    return available_threads() if shift.col.size * x.shape[1] >= MIN_THREADED_WORK else 1


def _num_chunks(x: Floats) -> int:
    return -(-x.shape[0] // CHUNK)


@numba.njit(inline="always")
def _shift_row(rowptr, col, weight, i, x, out):
    """Row i of L~ x. The first four neighbours, all that most nodes of a mesh have, need no intermediate result."""
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


@jit_cached
def _forward_hop(first, last, rowptr, col, weight, k, following, x, c, term):
    """Rows of b_k, or of the result if k is 0, for some chunks; ``term`` holds b_{k+2}."""
    order, channels = c.shape[0] - 1, x.shape[1]
    row = np.empty(channels, x.dtype)
    twice = x.dtype.type(1 if k == 0 else 2)
    for i in range(first * CHUNK, min(last * CHUNK, x.shape[0])):
        _shift_row(rowptr, col, weight, i, following, row)
        if k == order - 1:  # b_{k+1} = c_{k+1} x; only x was shifted
            for j in range(channels):
                term[i, j] = c[k, j] * x[i, j] + twice * c[order, j] * row[j]
        elif k == order - 2:
            for j in range(channels):
                term[i, j] = (c[k, j] - c[order, j]) * x[i, j] + twice * row[j]
        else:
            for j in range(channels):
                term[i, j] = c[k, j] * x[i, j] + twice * row[j] - term[i, j]


@jit_cached
def _backward_hop(first, last, rowptr, col, weight, k, previous, x, c, g, term, grad_x, sums):
    """Rows of T_k(L~) g for some chunks, and their terms of the gradients; ``term`` holds T_{k-2}(L~) g."""
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
            # The second hop adds the first three terms at once, which saves one write and one read of the gradient.
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


@jit_cached_parallel
def _forward_hop_threaded(first, last, rowptr, col, weight, k, following, x, c, term):
    for chunk in numba.prange(first, last):
        _forward_hop(chunk, chunk + 1, rowptr, col, weight, k, following, x, c, term)


@jit_cached_parallel
def _backward_hop_threaded(first, last, rowptr, col, weight, k, previous, x, c, g, term, grad_x, sums):
    for chunk in numba.prange(first, last):
        _backward_hop(chunk, chunk + 1, rowptr, col, weight, k, previous, x, c, g, term, grad_x, sums)
