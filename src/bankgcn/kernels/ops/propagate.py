"""Sums over neighbours, and the filter bank made of them, forward and backward."""

from __future__ import annotations

from bankgcn.kernels.jit.compiler import jit_inner, operation, unpack
from bankgcn.kernels.jit.vector import (
    add,
    floats_at,
    fma,
    integers_at,
    lanes,
    load,
    multiply,
    number,
    store,
    subtract,
    zeros8,
    zeros_like,
)
from bankgcn.kernels.ops.blocks import (
    ADJOINT_WEIGHT,
    COL,
    DIAGONAL,
    FIRST_GRAPH,
    FIRST_NODE,
    GRAPHS,
    NODE_PTR,
    ROWPTR,
    ROWS,
    WEIGHT,
)


@operation(
    "x: buffer, factor, adjoint, bias: slot, plus: buffer, minus: buffer, out: buffer", in_place=("plus", "minus")
)
def propagate(instruction, table, work, parameters, gradients):
    """``out = bias + plus + factor P x - minus``, with the operator P of the convolution, or its transpose."""
    (x, x_stride, _, factor, adjoint, bias, _, plus, plus_stride, _, minus, minus_stride, _, out, stride, width) = (
        unpack(instruction, 16)
    )
    rowptr, col = integers_at(table[ROWPTR]), integers_at(table[COL])
    weight = floats_at(work, table[ADJOINT_WEIGHT] if adjoint else table[WEIGHT])
    diagonal, first, scale, zero = (
        floats_at(work, table[DIAGONAL]),
        table[FIRST_NODE],
        number(work, factor),
        zeros8(work),
    )
    for j in range(0, width, lanes(zero)):
        start = load(zero, parameters, bias + j)
        for i in range(table[ROWS]):
            s = multiply(diagonal[first + i], load(zero, work, x + i * x_stride + j))
            for e in range(rowptr[first + i], rowptr[first + i + 1]):
                s = fma(weight[e], load(zero, work, x + (col[e] - first) * x_stride + j), s)
            s = fma(scale, s, start)
            if plus >= 0:
                s = add(s, load(zero, work, plus + i * plus_stride + j))
            if minus >= 0:
                s = subtract(s, load(zero, work, minus + i * minus_stride + j))
            store(work, out + i * stride + j, s)


def hop_rows(order: int) -> int:
    """Rows of workspace that :func:`filter_rows` needs for each row of a graph: the last three ``T_k(L~) x``."""
    return min(max(order - 1, 0), 3)


@jit_inner
def filter_rows(
    like, rowptr, col, weight, first, rows, x, at_x, stride_x, c, at_c, stride_c, order, hops, at_hops, out, at_out,
    stride_out, signal, at_signal, stride_signal, grad_c, at_grad_c, stride_grad_c, adjoint,
):  # fmt: skip
    """``out = sum_k c[k] T_k(L~) x`` for the rows of a graph.

    The adjoint is the same filter. There ``x`` is the gradient of the filtered ``signal``, and the function also
    computes ``grad_c[k] += <T_k(L~) x, signal>``, column by column.

    Works on as many columns as the vector ``like`` has. Every matrix is a pointer, the offset of the first of these
    columns in the graph's first row, and the distance of two rows. The graph's nodes start with ``first``.
    """
    zero, wide = zeros_like(like), lanes(like)
    if adjoint:
        s = zero
        for i in range(rows):
            s = fma(load(like, x, at_x + i * stride_x), load(like, signal, at_signal + i * stride_signal), s)
        store(grad_c, at_grad_c, add(s, load(like, grad_c, at_grad_c)))
    if order == 0:
        for i in range(rows):
            store(out, at_out + i * stride_out, multiply(load(like, c, at_c), load(like, x, at_x + i * stride_x)))
    for k in range(1, order + 1):
        following = at_hops + (k - 1) % 3 * rows * wide
        current = at_hops + (k - 2) % 3 * rows * wide
        previous = at_hops + (k - 3) % 3 * rows * wide
        s = zero
        for i in range(rows):
            t = zero
            if k == 1:
                for e in range(rowptr[first + i], rowptr[first + i + 1]):
                    t = fma(weight[e], load(like, x, at_x + (col[e] - first) * stride_x), t)
                partial = multiply(load(like, c, at_c), load(like, x, at_x + i * stride_x))
            else:
                for e in range(rowptr[first + i], rowptr[first + i + 1]):
                    t = fma(weight[e], load(like, hops, current + (col[e] - first) * wide), t)
                before = load(like, x, at_x + i * stride_x) if k == 2 else load(like, hops, previous + i * wide)
                t = subtract(add(t, t), before)
                partial = load(like, out, at_out + i * stride_out)
            store(out, at_out + i * stride_out, fma(load(like, c, at_c + k * stride_c), t, partial))
            if k < order:
                store(hops, following + i * wide, t)
            if adjoint:
                s = fma(t, load(like, signal, at_signal + i * stride_signal), s)
        if adjoint:
            at = at_grad_c + k * stride_grad_c
            store(grad_c, at, add(s, load(like, grad_c, at)))


@operation("x: buffer, c: slot, order, hops: buffer, out: buffer")
def filter_bank(instruction, table, work, parameters, gradients):
    """``out = sum_k c[k] T_k(L~) x`` for every graph of the block."""
    (x, stride, width, c, stride_c, order, hops, _, _, out, stride_out, _) = unpack(instruction, 12)
    node_ptr, rowptr, col = integers_at(table[NODE_PTR]), integers_at(table[ROWPTR]), integers_at(table[COL])
    weight, zero, first_graph = floats_at(work, table[WEIGHT]), zeros8(work), table[FIRST_GRAPH]
    for graph in range(first_graph, first_graph + table[GRAPHS]):
        first = node_ptr[graph]
        rows, start = node_ptr[graph + 1] - first, first - table[FIRST_NODE]
        for j in range(0, width, lanes(zero)):
            filter_rows(
                zero, rowptr, col, weight, first, rows, work, x + start * stride + j, stride, parameters, c + j,
                stride_c, order, work, hops, work, out + start * stride_out + j, stride_out, work, 0, 0, gradients, 0,
                0, False,
            )  # fmt: skip


@operation("grad: buffer, signal: buffer, c: slot, order, hops: buffer, out: buffer")
def filter_bank_adjoint(instruction, table, work, parameters, gradients):
    """The same filter of the gradient, and the gradient of the coefficients.

    Rows of ``signal`` are multiplied by their multiplicity, so that sums over rows are sums over nodes.
    """
    (x, stride, width, signal, stride_signal, _, c, stride_c, order, hops, _, _, out, stride_out, _) = unpack(
        instruction, 15
    )
    node_ptr, rowptr, col = integers_at(table[NODE_PTR]), integers_at(table[ROWPTR]), integers_at(table[COL])
    weight, zero, first_graph = floats_at(work, table[WEIGHT]), zeros8(work), table[FIRST_GRAPH]
    for graph in range(first_graph, first_graph + table[GRAPHS]):
        first = node_ptr[graph]
        rows, start = node_ptr[graph + 1] - first, first - table[FIRST_NODE]
        for j in range(0, width, lanes(zero)):
            filter_rows(
                zero, rowptr, col, weight, first, rows, work, x + start * stride + j, stride, parameters, c + j,
                stride_c, order, work, hops, work, out + start * stride_out + j, stride_out, work,
                signal + start * stride_signal + j, stride_signal, gradients, c + j, stride_c, True,
            )  # fmt: skip
