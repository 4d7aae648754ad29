r"""A filter bank whose subspaces weigh edges by their features, forward and backward.

The columns of a row are ordered channel by channel, all subspaces of a channel side by side, as the heads of an
attention. So a vector of one value for each subspace, such as the weights of an edge, applies to the columns without
moving any value.

With :math:`z_e = \theta f_e + b`, the weight of an edge is :math:`w_e = 2 a_e \sigma(z_e)`, and the entry of the
shift is :math:`S_{ij} = -w_e / \sqrt{d_i d_j}` with :math:`d_i = \sum_e w_e` over the edges of node i. An edge of a
quotient graph stands for several edges with the same features; :math:`a_e` is the sum of their weights.
"""

from __future__ import annotations

from functools import cache

from bankgcn.kernels.jit.compiler import Operation, operation, unpack
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
    square_root,
    store,
    subtract,
    tile,
    where_positive,
    zeros8,
    zeros_of_lanes,
)
from bankgcn.kernels.ops.attention import SUMMED
from bankgcn.kernels.ops.blocks import (
    COL,
    EDGE_FEATURES,
    EDGE_KIND,
    FIRST_NODE,
    MULTIPLICITY,
    NUM_EDGE_FEATURES,
    ROWPTR,
    ROWS,
    WEIGHT,
)


@cache
def edge_shifts(subspaces: int) -> Operation:
    """The shift of each of so many subspaces, a power of two."""

    @operation("theta: slot, bias: slot, slope: buffer, scale: buffer, out: buffer")
    def edge_shifts(instruction, table, work, parameters, gradients):
        r"""Entries of the shifts of a block: ``out_e = S_e``.

        ``slope`` gets :math:`1 - \sigma(z_e)`, the derivative of :math:`\log w_e`, and ``scale`` :math:`d_i^{-1/2}`.
        """
        (theta, theta_stride, bias, _, slope, _, _, scale, scale_stride, _, out, _, _) = unpack(instruction, 13)
        rowptr, col, kind = integers_at(table[ROWPTR]), integers_at(table[COL]), integers_at(table[EDGE_KIND])
        weight, features = floats_at(work, table[WEIGHT]), floats_at(work, table[EDGE_FEATURES])
        columns, first, rows = table[NUM_EDGE_FEATURES], table[FIRST_NODE], table[ROWS]
        zero, one = zeros_of_lanes(work, subspaces), number(work, 1)
        start, ones = rowptr[first], add(zero, one)
        for i in range(rows):
            degree = zero
            for e in range(rowptr[first + i], rowptr[first + i + 1]):
                z = load(zero, parameters, bias)
                for k in range(columns):
                    f = features[kind[e] * columns + k]
                    if f != 0:  # most features are one-hot
                        z = fma(f, load(zero, parameters, theta + k * theta_stride), z)
                # The smaller of sigmoid(z) and sigmoid(-z) is tail / (1 + tail), which never overflows.
                tail = exp(subtract(zero, maximum(z, subtract(zero, z))))
                inverse = divide(one, add(ones, tail))
                low, high = multiply(tail, inverse), inverse
                sigmoid = add(low, where_positive(z, subtract(high, low)))
                w = multiply(weight[e] + weight[e], sigmoid)
                degree = add(degree, w)
                store(work, slope + (e - start) * subspaces, add(high, where_positive(z, subtract(low, high))))
                store(work, out + (e - start) * subspaces, w)
            store(work, scale + i * scale_stride, where_positive(degree, divide(one, square_root(degree))))
        for i in range(rows):
            own = subtract(zero, load(zero, work, scale + i * scale_stride))
            for e in range(rowptr[first + i], rowptr[first + i + 1]):
                at = out + (e - start) * subspaces
                other = load(zero, work, scale + (col[e] - first) * scale_stride)
                store(work, at, multiply(multiply(own, load(zero, work, at)), other))

    return edge_shifts


@cache
def edge_shifts_adjoint(subspaces: int) -> Operation:
    """The adjoint of :func:`edge_shifts`."""

    @operation("grad: buffer, shift: buffer, slope: buffer, scale: buffer, theta: slot, bias: slot, sums: buffer")
    def edge_shifts_adjoint(instruction, table, work, parameters, gradients):
        r"""Add the gradients of ``theta`` and ``bias``, given that of each entry of the shifts.

        A weight moves its entry, and through the degree all entries in the row and the column of its node:
        :math:`\partial/\partial \log w_e = S_e G_e - \tfrac12 \frac{w_e}{d_i} \sum (S G)` over row and column i.
        ``sums`` are these sums, over all nodes that a row of the block stands for.
        """
        (
            grad, _, _, shift, _, _, slope, _, _, scale, scale_stride, _, theta, theta_stride, bias, _,
            sums, sums_stride, _,
        ) = unpack(instruction, 19)  # fmt: skip
        rowptr, col, kind = integers_at(table[ROWPTR]), integers_at(table[COL]), integers_at(table[EDGE_KIND])
        features, multiplicity = floats_at(work, table[EDGE_FEATURES]), floats_at(work, table[MULTIPLICITY])
        columns, first, rows = table[NUM_EDGE_FEATURES], table[FIRST_NODE], table[ROWS]
        zero, one, half = zeros_of_lanes(work, subspaces), number(work, 1), number(work, 0.5)
        start = rowptr[first]
        for i in range(rows):
            store(work, sums + i * sums_stride, zero)
        for i in range(rows):
            nodes, own = multiplicity[first + i], zero
            for e in range(rowptr[first + i], rowptr[first + i + 1]):
                place = (e - start) * subspaces
                product = multiply(load(zero, work, shift + place), load(zero, work, grad + place))
                term = multiply(nodes, product)
                own = add(own, term)
                at = sums + (col[e] - first) * sums_stride
                store(work, at, add(term, load(zero, work, at)))
            at = sums + i * sums_stride
            store(work, at, add(own, load(zero, work, at)))
        of_bias = zero
        for i in range(rows):
            nodes = multiplicity[first + i]
            # w_e / d_i = -S_e scale_i / scale_j
            both = multiply(half, load(zero, work, sums + i * sums_stride))
            both = multiply(both, load(zero, work, scale + i * scale_stride))
            for e in range(rowptr[first + i], rowptr[first + i + 1]):
                place = (e - start) * subspaces
                other = load(zero, work, scale + (col[e] - first) * scale_stride)
                through = multiply(both, where_positive(other, divide(one, other)))
                g = fma(nodes, load(zero, work, grad + place), through)
                g = multiply(multiply(g, load(zero, work, shift + place)), load(zero, work, slope + place))
                of_bias = add(of_bias, g)
                for k in range(columns):
                    f = features[kind[e] * columns + k]
                    if f != 0:
                        at = theta + k * theta_stride
                        store(gradients, at, fma(f, g, load(zero, gradients, at)))
        store(gradients, bias, add(of_bias, load(zero, gradients, bias)))

    return edge_shifts_adjoint


@cache
def edge_filter_bank(subspaces: int) -> Operation:
    """The filters of so many subspaces, a power of two, each on its own graph."""

    @operation("x: buffer, c: slot, order, shift: buffer, hops: buffer, out: buffer")
    def edge_filter_bank(instruction, table, work, parameters, gradients):
        """``out = sum_k c[k] T_k(S) x``; ``hops`` gets ``T_k(S) x`` from ``k = 1`` on, ``order`` rows for each node."""
        (x, x_stride, width, c, c_stride, order, shift, _, _, hops, hop_stride, _, out, stride, _) = unpack(
            instruction, 15
        )
        rowptr, col, zero = integers_at(table[ROWPTR]), integers_at(table[COL]), zeros8(work)
        first, rows, narrow = table[FIRST_NODE], table[ROWS], zeros_of_lanes(work, subspaces)
        start, row = rowptr[first], order * hop_stride  # distance of two nodes in hops
        for j in range(0, width, lanes(zero)):
            factor = tile(load(narrow, parameters, c), zero)
            for i in range(rows):
                store(work, out + i * stride + j, multiply(factor, load(zero, work, x + i * x_stride + j)))
            for k in range(1, order + 1):
                factor = tile(load(narrow, parameters, c + k * c_stride), zero)
                source, distance = x + j, x_stride
                if k > 1:
                    source, distance = hops + (k - 2) * hop_stride + j, row
                for i in range(rows):
                    t = zero
                    for e in range(rowptr[first + i], rowptr[first + i + 1]):
                        weight = tile(load(narrow, work, shift + (e - start) * subspaces), zero)
                        t = fma(weight, load(zero, work, source + (col[e] - first) * distance), t)
                    if k == 2:
                        t = subtract(add(t, t), load(zero, work, x + i * x_stride + j))
                    elif k > 2:
                        t = subtract(add(t, t), load(zero, work, hops + i * row + (k - 3) * hop_stride + j))
                    store(work, hops + i * row + (k - 1) * hop_stride + j, t)
                    at = out + i * stride + j
                    store(work, at, fma(factor, t, load(zero, work, at)))

    return edge_filter_bank


@cache
def edge_filter_bank_adjoint(subspaces: int) -> Operation:
    """The adjoint of :func:`edge_filter_bank`."""
    summed = max(subspaces, SUMMED)

    @operation(
        "grad: buffer, x: buffer, c: slot, order, shift: buffer, hops: buffer, adjoints: buffer, grad_shift: buffer, "
        "out: buffer"
    )
    def edge_filter_bank_adjoint(instruction, table, work, parameters, gradients):
        r"""Gradients of the signal, of the coefficients, and of each entry of the shifts.

        By Clenshaw's recurrence: :math:`b_k = c_k g + 2 S b_{k+1} - b_{k+2}`, ``adjoints``, for k from the order down
        to 1. Then :math:`\partial x = c_0 g + S b_1 - b_2`, and with :math:`t_k = T_k(S) x`,
        :math:`\partial S_{ij} = \langle b_1^i, t_0^j \rangle + 2 \sum_k \langle b_{k+1}^i, t_k^j \rangle`, over the
        channels of a subspace.
        """
        (
            grad, grad_stride, _, x, x_stride, _, c, c_stride, order, shift, _, _, hops, hop_stride, _,
            adjoints, adjoint_stride, _, grad_shift, _, _, out, stride, width,
        ) = unpack(instruction, 24)  # fmt: skip
        rowptr, col, multiplicity = (
            integers_at(table[ROWPTR]), integers_at(table[COL]), floats_at(work, table[MULTIPLICITY]),
        )  # fmt: skip
        zero, part, narrow = zeros8(work), zeros_of_lanes(work, summed), zeros_of_lanes(work, subspaces)
        first, rows, two = table[FIRST_NODE], table[ROWS], number(work, 2)
        start, hop_row, row = rowptr[first], order * hop_stride, order * adjoint_stride
        for j in range(0, width, lanes(zero)):
            for k in range(order, -1, -1):  # b_k lies in place k - 1; the last one is the gradient of the signal
                factor = tile(load(narrow, parameters, c + k * c_stride), zero)
                following, after = adjoints + k * adjoint_stride + j, adjoints + (k + 1) * adjoint_stride + j
                for i in range(rows):
                    s = multiply(factor, load(zero, work, grad + i * grad_stride + j))
                    if k < order:
                        t = zero
                        for e in range(rowptr[first + i], rowptr[first + i + 1]):
                            weight = tile(load(narrow, work, shift + (e - start) * subspaces), zero)
                            t = fma(weight, load(zero, work, following + (col[e] - first) * row), t)
                        s = fma(two if k > 0 else number(work, 1), t, s)
                    if k < order - 1:
                        s = subtract(s, load(zero, work, after + i * row))
                    if k > 0:
                        store(work, adjoints + i * row + (k - 1) * adjoint_stride + j, s)
                    else:
                        store(work, out + i * stride + j, s)
        for i in range(rows):
            nodes = multiplicity[first + i]
            for k in range(order + 1):
                product = part
                at = x + i * x_stride
                if k > 0:
                    at = hops + i * hop_row + (k - 1) * hop_stride
                for j in range(0, width, lanes(part)):
                    g = load(part, work, grad + i * grad_stride + j)
                    product = fma(g, load(part, work, at + j), product)
                place = c + k * c_stride
                store(gradients, place, fma(nodes, fold(product, narrow), load(narrow, gradients, place)))
            for e in range(rowptr[first + i], rowptr[first + i + 1]):
                product, other = part, col[e] - first
                for k in range(1, order):
                    at, to = adjoints + i * row + k * adjoint_stride, hops + other * hop_row + (k - 1) * hop_stride
                    for j in range(0, width, lanes(part)):
                        product = fma(load(part, work, at + j), load(part, work, to + j), product)
                product = add(product, product)
                if order > 0:
                    at, to = adjoints + i * row, x + other * x_stride
                    for j in range(0, width, lanes(part)):
                        product = fma(load(part, work, at + j), load(part, work, to + j), product)
                store(work, grad_shift + (e - start) * subspaces, fold(product, narrow))

    return edge_filter_bank_adjoint
