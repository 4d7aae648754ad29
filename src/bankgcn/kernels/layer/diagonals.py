r"""The diagonals of Chebyshev polynomials of the shift, some columns of the matrices at a time.

The plain twin is :func:`bankgcn.data.features.encodings.chebyshev_diagonals`. A graph goes through all hops while its
rows are in the cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import jit_cached
from bankgcn.kernels.layer.shift_arrays import ShiftArrays

WIDTH = 32
"""Columns of the identity matrix that are filtered together: the width of all loops, so that they are vectorised, and
that a graph gets the same bits beside any others."""


def add_row_sums(
    shift: ShiftArrays, node_ptr: NDArray[np.int64], first: int, hops: int, sums: NDArray[np.float64]
) -> None:
    r"""Add the sums over rows of :math:`T_k \circ T_k` and :math:`T_k \circ T_{k-1}`, for some columns of each graph.

    Args:
        shift: The shift of all graphs in double precision.
        node_ptr: Where the nodes of each graph start.
        first: The first of ``WIDTH`` columns, counted within each graph.
        hops: The largest k.
        sums: Shape ``(N, 2 * hops + 1)``: column ``2 * k`` is for the square, ``2 * k - 1`` for the other product.
    """
    rows = int(np.diff(node_ptr).max(initial=0))
    _add(shift.rowptr, shift.col, shift.weight, node_ptr, first, hops, np.empty((3, rows, WIDTH)), sums)


@jit_cached
def _add(rowptr, col, weight, node_ptr, first, hops, matrices, sums):
    """:func:`add_row_sums`; ``matrices`` is workspace for the last three polynomials."""
    for graph in range(len(node_ptr) - 1):
        start, rows = node_ptr[graph], node_ptr[graph + 1] - node_ptr[graph]
        if rows <= first:
            continue
        for i in range(rows):
            for c in range(WIDTH):
                matrices[0, i, c] = 0.0
            if first <= i < first + WIDTH:
                matrices[0, i, i - first] = 1.0
                sums[start + i, 0] += 1.0
        for k in range(1, hops + 1):
            now, before, earlier = matrices[k % 3], matrices[(k - 1) % 3], matrices[(k - 2) % 3]
            factor = 1.0 if k == 1 else 2.0
            for i in range(rows):
                for c in range(WIDTH):
                    now[i, c] = 0.0 if k == 1 else -earlier[i, c]
                for e in range(rowptr[start + i], rowptr[start + i + 1]):
                    entry, j = factor * weight[e], col[e] - start
                    for c in range(WIDTH):
                        now[i, c] += entry * before[j, c]
                square = product = 0.0
                for c in range(WIDTH):
                    square += now[i, c] * now[i, c]
                    product += now[i, c] * before[i, c]
                sums[start + i, 2 * k] += square
                sums[start + i, 2 * k - 1] += product
