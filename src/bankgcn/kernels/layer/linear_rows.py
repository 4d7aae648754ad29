"""A linear layer whose result for a row depends on that row alone, to the last bit.

The plain twin is :func:`bankgcn.training.evaluation.linear_by_row`: it multiplies, and NumPy adds. The same sums are
added here in the same order, which is NumPy's: halves of a row, down to 128 numbers or fewer, of which every eighth one
goes to the same of eight sums.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import jit_cached_exact

LEAF, SUMS = 128, 8
ROWS_AT_ONCE = 4  # that share one pass over the weights


def linear_rows(x: NDArray, weight: NDArray) -> NDArray:
    """The products of rows with all rows of a weight, shape ``(rows, out_features)``.

    Args:
        x: Shape ``(rows, in_features)``, of the type of the weight.
        weight: Shape ``(out_features, in_features)``.
    """
    out = np.empty((len(x), len(weight)), weight.dtype)
    leaves = np.array([*_leaves(0, x.shape[1])], np.int64)
    levels = 1 + int(np.max(np.cumsum(1 - leaves[:, 2]))) + int(leaves[:, 2].max())
    work = np.empty((ROWS_AT_ONCE, SUMS + levels, len(weight)), weight.dtype)
    _multiply(np.ascontiguousarray(x), np.ascontiguousarray(weight.T), leaves, work, out)
    return out


def _leaves(start: int, count: int) -> Iterator[tuple[int, int, int]]:
    """The ends of what is added at once, and how many of the last sums are then added to those before them."""
    if count <= LEAF:
        yield start, start + count, 0
        return
    half = count // 2 - count // 2 % SUMS
    yield from _leaves(start, half)
    *others, (first, last, joined) = _leaves(start + half, count - half)
    yield from others
    yield first, last, joined + 1


@jit_cached_exact
def _multiply(x, weight_t, leaves, work, out):
    """Write the products. ``work`` holds, for some rows, the sums of a leaf and those of leaves not yet joined."""
    rows, width = out.shape
    for begin in range(0, rows, ROWS_AT_ONCE):
        count = min(ROWS_AT_ONCE, rows - begin)
        top = SUMS - 1
        for leaf in range(len(leaves)):
            start, end = leaves[leaf, 0], leaves[leaf, 1]
            top += 1
            whole = end - (end - start) % SUMS if end - start >= SUMS else start
            for k in range(start, whole):
                for row in range(count):
                    number, sums = x[begin + row, k], work[row, (k - start) % SUMS]
                    if k < start + SUMS:
                        for j in range(width):
                            sums[j] = number * weight_t[k, j]
                    else:
                        for j in range(width):
                            sums[j] += number * weight_t[k, j]
            for row in range(count):
                own, total = work[row], work[row, top]
                if whole > start:
                    for j in range(width):
                        total[j] = ((own[0, j] + own[1, j]) + (own[2, j] + own[3, j])) + (
                            (own[4, j] + own[5, j]) + (own[6, j] + own[7, j])
                        )
                else:
                    for j in range(width):
                        total[j] = 0
            for k in range(whole, end):
                for row in range(count):
                    number, total = x[begin + row, k], work[row, top]
                    for j in range(width):
                        total[j] += number * weight_t[k, j]
            for _ in range(leaves[leaf, 2]):
                top -= 1
                for row in range(count):
                    for j in range(width):
                        work[row, top, j] += work[row, top + 1, j]
        for row in range(count):
            for j in range(width):
                out[begin + row, j] = work[row, top, j]
