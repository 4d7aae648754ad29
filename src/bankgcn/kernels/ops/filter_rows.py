"""The filter bank on the rows of one graph, one vector of columns at a time, and its adjoint."""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import jit_inner
from bankgcn.kernels.jit.vector import add, fma, load, multiply, store, subtract, zeros_like


@jit_inner
def allocate_hops(order, rows, columns, dtype):
    """Workspace of :func:`filter_rows` for graphs of up to ``rows`` rows: the last three ``T_k(L~) x``."""
    return np.empty((min(max(order - 1, 0), 3) * rows, columns), dtype)


@jit_inner
def filter_rows(like, rowptr, col, weight, first, start, rows, x, j, c, hops, out, signal, grad_c):
    """``out = sum_k c[k] T_k(L~) x`` for the rows of a graph.

    The adjoint is the same filter. There ``x`` is the gradient of the filtered ``signal``, and the function also
    computes ``grad_c[k] += <T_k(L~) x, signal>``, column by column. The forward pass has an empty ``grad_c``.

    Works on the columns from ``j`` on, as many as the vector ``like`` has. Row 0 belongs to node ``first``; the graph
    occupies ``rows`` rows from ``start`` on. No array gets a second name here: numba would count a reference each
    time, which takes as long as a few rows.
    """
    order, adjoint, zero = c.shape[0] - 1, grad_c.shape[0] > 0, zeros_like(like)
    if adjoint:
        s = zero
        for i in range(start, start + rows):
            s = fma(load(like, x, i, j), load(like, signal, i, j), s)
        store(grad_c, 0, j, add(s, load(like, grad_c, 0, j)))
    if order == 0:
        for i in range(start, start + rows):
            store(out, i, j, multiply(load(like, c, 0, j), load(like, x, i, j)))
    for k in range(1, order + 1):
        # Position of row 0 in the last three hops, which hold the rows of this graph alone.
        following = (k - 1) % 3 * rows - start
        current = (k - 2) % 3 * rows - start
        previous = (k - 3) % 3 * rows - start
        s = zero
        for i in range(start, start + rows):
            t = zero
            if k == 1:
                for e in range(rowptr[first + i], rowptr[first + i + 1]):
                    t = fma(weight[e], load(like, x, col[e] - first, j), t)
                partial = multiply(load(like, c, 0, j), load(like, x, i, j))
            else:
                for e in range(rowptr[first + i], rowptr[first + i + 1]):
                    t = fma(weight[e], load(like, hops, current + col[e] - first, 0), t)
                before = load(like, x, i, j) if k == 2 else load(like, hops, previous + i, 0)
                t = subtract(add(t, t), before)
                partial = load(like, out, i, j)
            store(out, i, j, fma(load(like, c, k, j), t, partial))
            if k < order:
                store(hops, following + i, 0, t)
            if adjoint:
                s = fma(t, load(like, signal, i, j), s)
        if adjoint:
            store(grad_c, k, j, add(s, load(like, grad_c, k, j)))
