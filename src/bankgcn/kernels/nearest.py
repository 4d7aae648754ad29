"""The nearest row of a reference set: fingerprints by their Tanimoto similarity, vectors by their distance.

The result for a query does not depend on the other queries. Each function has a plain twin, for which the kernels need
not be compiled.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.switch import fused_for

BLOCK_NUMBERS = 1 << 22  # that a plain twin holds at once
STRIDE = 16  # numbers of two vectors that are compared before the search looks at the sum

Bits = NDArray[np.uint64]

_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)  # of each byte


def pack_bits(bits: NDArray[np.uint8]) -> Bits:
    """Rows of 0 and 1 as rows of words; the number of columns is a multiple of 64."""
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)


def count_bits(rows: Bits) -> NDArray[np.int64]:
    """Number of the ones in each row."""
    return _ONES[rows.view(np.uint8)].sum(axis=1, dtype=np.int64)


def most_similar(queries: Bits, reference: Bits) -> NDArray[np.float64]:
    """The largest Tanimoto similarity of each query to a row of the reference set, shape ``(Q,)``.

    The similarity of two rows is the number of ones that both have, divided by the number that either has. It is at
    most the smaller of their numbers of ones divided by the larger one. So the search begins with rows that have as
    many ones as the query, and ends when the others cannot be nearer.

    Args:
        queries: Rows of words, see :func:`pack_bits`.
        reference: Rows of words, in the order of their numbers of ones; at least one.
    """
    counts = count_bits(reference)
    if fused_for():
        similarities = np.empty(len(queries))
        _kernels()[0](queries, count_bits(queries), reference, counts, similarities)
        return similarities
    unpacked = _unpacked(reference)
    step = max(1, BLOCK_NUMBERS // len(reference))
    blocks = [
        _block_similarity(queries[start : start + step], unpacked, counts) for start in range(0, len(queries), step)
    ]
    return np.concatenate([np.empty(0), *blocks])


def nearest_distance(
    queries: NDArray[np.float32], reference: NDArray[np.float32], skip_self: bool = False
) -> NDArray[np.float64]:
    """The smallest Euclidean distance of each query to a row of the reference set, shape ``(Q,)``.

    Args:
        queries: Vectors, shape ``(Q, width)``.
        reference: Vectors, shape ``(n, width)``; at least one.
        skip_self: Whether the queries are the reference set, and each looks for the nearest other row.
    """
    if fused_for():
        squares = np.empty(len(queries))
        _kernels()[1](np.ascontiguousarray(queries), np.ascontiguousarray(reference), skip_self, squares)
        return np.sqrt(squares)
    step = max(1, BLOCK_NUMBERS // max(reference.size, 1))
    nearest = np.empty(len(queries))
    for start in range(0, len(queries), step):
        block = queries[start : start + step].astype(np.float64)
        squares = ((block[:, None, :] - reference) ** 2).sum(axis=2)
        if skip_self:
            squares[np.arange(len(block)), np.arange(start, start + len(block))] = np.inf
        nearest[start : start + step] = squares.min(axis=1)
    return np.sqrt(nearest)


def _unpacked(rows: Bits) -> NDArray[np.float32]:
    """Ones and zeros, whose sums of products are exact in single precision."""
    return np.unpackbits(rows.view(np.uint8), axis=1).astype(np.float32)


def _block_similarity(queries: Bits, reference: NDArray[np.float32], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    bits = _unpacked(queries)
    both = (bits @ reference.T).astype(np.float64)
    either = bits.sum(axis=1, dtype=np.float64)[:, None] + counts - both
    return (both / np.maximum(either, 1)).max(axis=1)


@cache
def _kernels() -> tuple[Any, Any]:
    """The compiled searches. numba is loaded when they are first used."""
    from bankgcn.kernels.jit.compiler import jit_cached

    return jit_cached(_search_similar), jit_cached(_search_near)


def _search_similar(queries, query_counts, reference, counts, out):
    """See :func:`most_similar`."""
    m1, m2, m4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
    h01, one, two, four, top = np.uint64(0x0101010101010101), np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
    number, words = reference.shape
    for query in range(len(queries)):
        own = query_counts[query]
        above = np.searchsorted(counts, own)
        below = above - 1
        best = 0.0
        while below >= 0 or above < number:
            low = counts[below] / max(own, 1) if below >= 0 else -1.0
            high = own / max(counts[above], 1) if above < number else -1.0
            if max(low, high) <= best:
                break
            if high >= low:
                row = above
                above += 1
            else:
                row = below
                below -= 1
            both = np.uint64(0)
            for word in range(words):  # the ones of a word, which the compiler knows as one instruction
                x = queries[query, word] & reference[row, word]
                x -= (x >> one) & m1
                x = (x & m2) + ((x >> two) & m2)
                x = (x + (x >> four)) & m4
                both += (x * h01) >> top
            either = own + counts[row] - np.int64(both)
            best = max(best, np.int64(both) / max(either, 1))
        out[query] = best


def _search_near(queries, reference, skip_self, out):
    """See :func:`nearest_distance`; squares of distances."""
    number, width = reference.shape
    for query in range(len(queries)):
        best = np.inf
        for row in range(number):
            if skip_self and row == query:
                continue
            total = 0.0
            for start in range(0, width, STRIDE):
                for column in range(start, min(start + STRIDE, width)):
                    gap = np.float64(queries[query, column]) - np.float64(reference[row, column])
                    total += gap * gap
                if total >= best:
                    break
            best = min(best, total)
        out[query] = best
