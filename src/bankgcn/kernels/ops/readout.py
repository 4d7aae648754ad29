"""From the signals of the nodes to one row for each graph: mean, maximum and sum, forward and backward."""

from __future__ import annotations

from bankgcn.kernels.jit.compiler import operation, unpack
from bankgcn.kernels.jit.vector import (
    add,
    divide,
    floats_at,
    fma,
    integers_at,
    lanes,
    load,
    maximum,
    multiply,
    number,
    store,
    where_equal,
    zeros4,
)
from bankgcn.kernels.ops.blocks import FIRST_GRAPH, FIRST_NODE, GRAPHS, MULTIPLICITY, NODE_PTR

MAX_SUMMANDS = 128  # rows in one partial sum: a single sum over thousands of rows loses digits in float32


@operation("x: buffer, mean, largest, total, size, out: buffer")
def read_out(instruction, table, work, parameters, gradients):
    """Write mean, maximum and sum over the nodes of each graph to the columns from ``mean``, ``largest``, ``total`` on.

    A negative column leaves its part out. Sums are divided by ``size``. All parts of a graph without nodes are 0.
    """
    (x, x_stride, width, mean, largest, total, size, out, stride, _) = unpack(instruction, 10)
    node_ptr, multiplicity = integers_at(table[NODE_PTR]), floats_at(work, table[MULTIPLICITY])
    zero, one, first = zeros4(work), number(work, 1), table[FIRST_NODE]
    scale = one / number(work, size)
    for row in range(table[GRAPHS]):
        graph, at = table[FIRST_GRAPH] + row, out + row * stride
        begin, end, nodes = node_ptr[graph] - first, node_ptr[graph + 1] - first, number(work, 0)
        for i in range(begin, end):
            nodes += multiplicity[first + i]
        share = one / max(nodes, one)
        for j in range(0, width, lanes(zero)):
            top = sums = zero
            if begin < end:
                top = load(zero, work, x + begin * x_stride + j)
            for start in range(begin, end, MAX_SUMMANDS):
                partial = zero
                for i in range(start, min(start + MAX_SUMMANDS, end)):
                    v = load(zero, work, x + i * x_stride + j)
                    partial = fma(multiplicity[first + i], v, partial)
                    top = maximum(v, top)
                sums = add(sums, partial)
            if mean >= 0:
                store(work, at + mean + j, multiply(share, sums))
            if largest >= 0:
                store(work, at + largest + j, top)
            if total >= 0:
                store(work, at + total + j, multiply(scale, sums))


@operation(
    "x: buffer, readout: buffer, grad: buffer, mean, largest, total, size, plus: buffer, out: buffer",
    in_place=("plus", "x"),
)
def read_out_adjoint(instruction, table, work, parameters, gradients):
    """``out = plus +`` the gradient of the readout's parts with respect to ``x``.

    Nodes that share a maximum share its gradient. ``grad`` is the gradient of ``readout``.
    """
    (
        x, x_stride, _, readout, readout_stride, _, grad, grad_stride, _, mean, largest, total, size, plus, plus_stride,
        _, out, stride, width,
    ) = unpack(instruction, 19)  # fmt: skip
    node_ptr, multiplicity = integers_at(table[NODE_PTR]), floats_at(work, table[MULTIPLICITY])
    zero, one, first = zeros4(work), number(work, 1), table[FIRST_NODE]
    scale = one / number(work, size)
    for row in range(table[GRAPHS]):
        graph, at = table[FIRST_GRAPH] + row, grad + row * grad_stride
        begin, end, nodes = node_ptr[graph] - first, node_ptr[graph + 1] - first, number(work, 0)
        for i in range(begin, end):
            nodes += multiplicity[first + i]
        share = one / max(nodes, one)
        for j in range(0, width, lanes(zero)):
            every = top = of_largest = zero
            if mean >= 0:
                every = multiply(share, load(zero, work, at + mean + j))
            if total >= 0:
                every = fma(scale, load(zero, work, at + total + j), every)
            if largest >= 0:
                ties, top = zero, load(zero, work, readout + row * readout_stride + largest + j)
                for i in range(begin, end):
                    v = load(zero, work, x + i * x_stride + j)
                    ties = add(ties, where_equal(v, top, multiplicity[first + i]))
                of_largest = divide(load(zero, work, at + largest + j), ties)  # 0 ties: the maximum is NaN
            for i in range(begin, end):
                g = every
                if largest >= 0:
                    g = fma(where_equal(load(zero, work, x + i * x_stride + j), top, one), of_largest, g)
                if plus >= 0:
                    g = add(g, load(zero, work, plus + i * plus_stride + j))
                store(work, out + i * stride + j, g)
