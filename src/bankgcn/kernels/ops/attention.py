"""Attention over the neighbours of each node, as in GAT, forward and backward.

The columns of a row are ordered channel by channel, all heads of a channel side by side. So a vector of one value for
each head, such as the attention of an edge, applies to the columns without moving any value: :func:`tile` repeats it.

A node attends to itself first and then to its neighbours. An edge of a quotient graph stands for several edges with
the same attention; the operator has their number.
"""

from __future__ import annotations

from functools import cache

from bankgcn.kernels.jit.compiler import Operation, jit_inner, operation, unpack
from bankgcn.kernels.jit.vector import (
    add,
    divide,
    exp,
    floats_at,
    fma,
    fold,
    integers_at,
    lanes,
    load,
    maximum,
    multiply,
    number,
    store,
    subtract,
    tile,
    where_positive,
    zeros8,
    zeros_of_lanes,
)
from bankgcn.kernels.ops.blocks import COL, FIRST_NODE, MULTIPLICITY, ROWPTR, ROWS, WEIGHT

SLOPE = 0.2  # of the leaky ReLU, as PyG's default
# Values of a row that a sum over columns takes at once: such vectors end with the padding. The gap holds any values.
SUMMED = 16


@jit_inner
def _leaky(x, one_minus_slope, slope):
    """``x`` where it is positive, else ``slope x``."""
    return fma(slope, x, multiply(one_minus_slope, where_positive(x, x)))


@cache
def attend(heads: int) -> Operation:
    """Attention with so many heads, a power of two."""
    summed = max(heads, SUMMED)

    @operation("x: buffer, source: slot, target: slot, bias: slot, scores: buffer, attention: buffer, out: buffer")
    def attend(instruction, table, work, parameters, gradients):
        """``out_i = bias + sum_j a_ij x_j``, where ``a_i`` is the softmax over j of the scores of i and j.

        ``scores`` gets the scores of each node as a source and as a target, ``attention`` those of each edge.
        """
        (
            x, x_stride, width, source, _, target, _, bias, _, scores, scores_stride, _, attention, _, _,
            out, stride, _,
        ) = unpack(instruction, 18)  # fmt: skip
        rowptr, col, weight = integers_at(table[ROWPTR]), integers_at(table[COL]), floats_at(work, table[WEIGHT])
        wide, part, zero = zeros8(work), zeros_of_lanes(work, summed), zeros_of_lanes(work, heads)
        first, rows = table[FIRST_NODE], table[ROWS]
        one, slope = number(work, 1), number(work, SLOPE)
        rest = one - slope
        for i in range(rows):
            of_source = of_target = part
            for j in range(0, width, lanes(part)):
                v = load(part, work, x + i * x_stride + j)
                of_source = fma(v, load(part, parameters, source + j), of_source)
                of_target = fma(v, load(part, parameters, target + j), of_target)
            store(work, scores + i * scores_stride, fold(of_source, zero))
            store(work, scores + i * scores_stride + heads, fold(of_target, zero))
        for i in range(rows):
            begin, end = rowptr[first + i], rowptr[first + i + 1]
            at = attention + (begin - rowptr[first] + i) * heads
            own = load(zero, work, scores + i * scores_stride + heads)
            score = _leaky(add(own, load(zero, work, scores + i * scores_stride)), rest, slope)
            store(work, at, score)
            highest = score
            for e in range(begin, end):
                other = load(zero, work, scores + (col[e] - first) * scores_stride)
                score = _leaky(add(own, other), rest, slope)
                store(work, at + (e - begin + 1) * heads, score)
                highest = maximum(score, highest)
            total = exp(subtract(load(zero, work, at), highest))
            store(work, at, total)
            for e in range(begin, end):
                place = at + (e - begin + 1) * heads
                share = multiply(weight[e], exp(subtract(load(zero, work, place), highest)))
                store(work, place, share)
                total = add(total, share)
            inverse = divide(one, total)
            for e in range(begin, end + 1):
                place = at + (e - begin) * heads
                store(work, place, multiply(inverse, load(zero, work, place)))
            for j in range(0, width, lanes(wide)):
                s = load(wide, parameters, bias + j)
                s = fma(tile(load(zero, work, at), wide), load(wide, work, x + i * x_stride + j), s)
                for e in range(begin, end):
                    share = tile(load(zero, work, at + (e - begin + 1) * heads), wide)
                    s = fma(share, load(wide, work, x + (col[e] - first) * x_stride + j), s)
                store(work, out + i * stride + j, s)

    return attend


@cache
def attend_adjoint(heads: int) -> Operation:
    """The adjoint of :func:`attend`."""
    summed = max(heads, SUMMED)

    @operation(
        "grad: buffer, x: buffer, source: slot, target: slot, scores: buffer, attention: buffer, "
        "grad_attention: buffer, grad_scores: buffer, out: buffer"
    )
    def attend_adjoint(instruction, table, work, parameters, gradients):
        """Gradients of the signals, and of both vectors that the scores are products with.

        ``out`` and ``grad_scores`` first collect sums over the nodes that each row stands for: a source of one row may
        be a neighbour of more nodes than that row has.
        """
        (
            grad, grad_stride, _, x, x_stride, _, source, _, target, _, scores, scores_stride, _, attention, _, _,
            grad_attention, _, _, grad_scores, grad_scores_stride, _, out, stride, width,
        ) = unpack(instruction, 25)  # fmt: skip
        rowptr, col, multiplicity = (
            integers_at(table[ROWPTR]), integers_at(table[COL]), floats_at(work, table[MULTIPLICITY]),
        )  # fmt: skip
        wide, part, zero = zeros8(work), zeros_of_lanes(work, summed), zeros_of_lanes(work, heads)
        first, rows = table[FIRST_NODE], table[ROWS]
        one, slope = number(work, 1), number(work, SLOPE)
        for i in range(rows):
            for j in range(0, width, lanes(wide)):
                store(work, out + i * stride + j, wide)
            store(work, grad_scores + i * grad_scores_stride, zero)
            store(work, grad_scores + i * grad_scores_stride + heads, zero)
        for i in range(rows):
            begin, end, nodes = rowptr[first + i], rowptr[first + i + 1], multiplicity[first + i]
            place = (begin - rowptr[first] + i) * heads
            at, to, mean = attention + place, grad_attention + place, zero
            for e in range(begin, end + 1):
                other, share = i if e == begin else col[e - 1] - first, load(zero, work, at + (e - begin) * heads)
                products, shares = part, tile(multiply(nodes, share), part)
                for j in range(0, width, lanes(part)):
                    g = load(part, work, grad + i * grad_stride + j)
                    products = fma(load(part, work, x + other * x_stride + j), g, products)
                    place = out + other * stride + j
                    store(work, place, fma(shares, g, load(part, work, place)))
                s = fold(products, zero)
                store(work, to + (e - begin) * heads, s)
                mean = fma(s, share, mean)
            # From the attention to the scores: the adjoint of the softmax subtracts the weighted mean.
            own, of_target = load(zero, work, scores + i * scores_stride + heads), zero
            for e in range(begin, end + 1):
                other, share = i if e == begin else col[e - 1] - first, load(zero, work, at + (e - begin) * heads)
                g = multiply(multiply(nodes, share), subtract(load(zero, work, to + (e - begin) * heads), mean))
                score = add(own, load(zero, work, scores + other * scores_stride))
                g = fma(slope, g, multiply(one - slope, where_positive(score, g)))
                place = grad_scores + other * grad_scores_stride
                store(work, place, add(g, load(zero, work, place)))
                of_target = add(of_target, g)
            store(work, grad_scores + i * grad_scores_stride + heads, of_target)
        for i in range(rows):
            of_source = load(zero, work, grad_scores + i * grad_scores_stride)
            of_target = load(zero, work, grad_scores + i * grad_scores_stride + heads)
            share = one / multiplicity[first + i]
            for j in range(0, width, lanes(wide)):
                v, of_sources = load(wide, work, x + i * x_stride + j), tile(of_source, wide)
                of_targets = tile(of_target, wide)
                store(gradients, source + j, fma(of_sources, v, load(wide, gradients, source + j)))
                store(gradients, target + j, fma(of_targets, v, load(wide, gradients, target + j)))
                g = fma(of_sources, load(wide, parameters, source + j), load(wide, work, out + i * stride + j))
                g = fma(of_targets, load(wide, parameters, target + j), g)
                store(work, out + i * stride + j, multiply(share, g))

    return attend_adjoint
