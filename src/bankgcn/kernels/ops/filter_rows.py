"""The filter bank on the rows of one graph, a vector of columns at a time, there and back."""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import part
from bankgcn.kernels.jit.vector import fma, load, minus, none_of, plus, store, times


@part
def room_for_hops(order, rows, columns, dtype):
    """What :func:`filter_rows` needs for graphs of so many rows and so many columns at a time."""
    return np.empty((min(max(order - 1, 0), 3) * rows, columns), dtype)


@part
def filter_rows(like, rowptr, col, weight, first, start, rows, x, j, c, hops, out, signal, grad_c):
    """``out = sum_k c[k] T_k(L~) x`` for the rows of a graph; with a ``grad_c``, ``grad_c[k] += <T_k(L~) x, signal>``.

    It is done for the columns from ``j`` on, as many as the vector ``like`` has. Row 0 is that of node ``first``, and
    the graph has the rows from ``start`` on. The second is for the gradient ``x`` of what was made of a ``signal``; its
    sums are those of each column.

    No array is given a second name here: numba would count references each time, which takes as long as a few rows.
    """
    order, back, zero = c.shape[0] - 1, grad_c.shape[0] > 0, none_of(like)
    if back:
        s = zero
        for i in range(start, start + rows):
            s = fma(load(like, x, i, j), load(like, signal, i, j), s)
        store(grad_c, 0, j, plus(s, load(like, grad_c, 0, j)))
    if order == 0:
        for i in range(start, start + rows):
            store(out, i, j, times(load(like, c, 0, j), load(like, x, i, j)))
    for k in range(1, order + 1):
        # Where row 0 would be in the last three hops, which have the rows of this graph alone.
        following = (k - 1) % 3 * rows - start
        current = (k - 2) % 3 * rows - start
        previous = (k - 3) % 3 * rows - start
        s = zero
        for i in range(start, start + rows):
            t = zero
            if k == 1:
                for e in range(rowptr[first + i], rowptr[first + i + 1]):
                    t = fma(weight[e], load(like, x, col[e] - first, j), t)
                sofar = times(load(like, c, 0, j), load(like, x, i, j))
            else:
                for e in range(rowptr[first + i], rowptr[first + i + 1]):
                    t = fma(weight[e], load(like, hops, current + col[e] - first, 0), t)
                before = load(like, x, i, j) if k == 2 else load(like, hops, previous + i, 0)
                t = minus(plus(t, t), before)
                sofar = load(like, out, i, j)
            store(out, i, j, fma(load(like, c, k, j), t, sofar))
            if k < order:
                store(hops, following + i, 0, t)
            if back:
                s = fma(t, load(like, signal, i, j), s)
        if back:
            store(grad_c, k, j, plus(s, load(like, grad_c, k, j)))
