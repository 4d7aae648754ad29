"""One hop over the edges: the product of the convolution's operator and the signals."""

from __future__ import annotations

from bankgcn.kernels.jit.operation import operation, unpack
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
)
from bankgcn.kernels.ops.block_table import ADJOINT_WEIGHT, COL, DIAGONAL, FIRST_NODE, ROWPTR, ROWS, WEIGHT


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
