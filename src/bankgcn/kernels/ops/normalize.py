r"""Normalisation of the signals: :math:`\ell_2` and layer normalisation of each node, graph normalisation."""

from __future__ import annotations

import math

from bankgcn.kernels.jit.compiler import operation, unpack
from bankgcn.kernels.jit.vector import (
    add,
    divide,
    floats_at,
    fma,
    integers_at,
    lanes,
    load,
    multiply,
    number,
    reduce_sum,
    square_root,
    store,
    subtract,
    where_positive,
    zeros4,
)
from bankgcn.kernels.jit.vector import relu as relu_of
from bankgcn.kernels.ops.blocks import FIRST_GRAPH, FIRST_NODE, GRAPHS, MULTIPLICITY, NODE_PTR, ROWS

EPSILON = 1e-12  # as torch.nn.functional.normalize
VARIANCE_EPSILON = 1e-5  # as torch.nn.LayerNorm and PyG's GraphNorm


@operation("x: buffer, scale: buffer, out: buffer, relu", in_place=("x",))
def l2_normalize(instruction, table, work, parameters, gradients):
    """Divide each row by its norm; with ``relu``, followed by a ReLU. ``scale`` is what each row is multiplied by.

    A row whose norm overflows becomes NaN: zeros would pass for the row of a node without a signal.
    """
    (x, x_stride, _, scale, _, _, out, stride, width, relu) = unpack(instruction, 10)
    zero, shortest = zeros4(work), number(work, EPSILON)
    for i in range(table[ROWS]):
        squares = zero
        for j in range(0, width, lanes(zero)):
            v = load(zero, work, x + i * x_stride + j)
            squares = fma(v, v, squares)
        factor = number(work, 1) / max(math.sqrt(reduce_sum(squares)), shortest)
        if factor == 0:
            factor = number(work, math.nan)
        work[scale + i] = factor
        for j in range(0, width, lanes(zero)):
            v = multiply(factor, load(zero, work, x + i * x_stride + j))
            store(work, out + i * stride + j, relu_of(v) if relu else v)


@operation("grad: buffer, x: buffer, result: buffer, scale: buffer, out: buffer", in_place=("grad", "x", "result"))
def l2_normalize_adjoint(instruction, table, work, parameters, gradients):
    """``scale (grad - <grad, u> u)`` with the normalised row ``u = scale x``.

    With the ``result`` of a ReLU that followed, the gradient counts where that is positive.
    """
    (grad, grad_stride, _, x, x_stride, _, result, result_stride, _, scale, _, _, out, stride, width) = unpack(
        instruction, 15
    )
    zero, limit = zeros4(work), number(work, 1) / number(work, EPSILON)
    for i in range(table[ROWS]):
        along, factor = zero, work[scale + i]
        for j in range(0, width, lanes(zero)):
            g = load(zero, work, grad + i * grad_stride + j)
            if result >= 0:
                g = where_positive(load(zero, work, result + i * result_stride + j), g)
            along = fma(g, load(zero, work, x + i * x_stride + j), along)
        across = -reduce_sum(along) * factor * factor
        if factor >= limit:  # too short to normalise: the divisor is a constant
            across = number(work, 0)
        for j in range(0, width, lanes(zero)):
            g = load(zero, work, grad + i * grad_stride + j)
            if result >= 0:
                g = where_positive(load(zero, work, result + i * result_stride + j), g)
            store(work, out + i * stride + j, multiply(factor, fma(across, load(zero, work, x + i * x_stride + j), g)))


@operation("x: buffer, columns, weight: slot, bias: slot, moments: buffer, out: buffer", in_place=("x",))
def layer_norm(instruction, table, work, parameters, gradients):
    """Normalise each row to mean 0 and variance 1, then scale and shift the columns.

    ``moments`` gets the mean and the inverse standard deviation of each row.
    """
    (x, x_stride, _, columns, weight, _, bias, _, moments, moments_stride, _, out, stride, width) = unpack(
        instruction, 14
    )
    zero, share = zeros4(work), number(work, 1) / number(work, columns)
    whole = columns // lanes(zero) * lanes(zero)
    for i in range(table[ROWS]):
        row = x + i * x_stride
        # Offsets from the first column: the mean of equal columns is exact, so that nothing but 0 remains of them.
        origin, s, squares = work[row], zero, number(work, 0)
        for j in range(0, whole, lanes(zero)):
            s = add(s, subtract(load(zero, work, row + j), origin))
        offsets = reduce_sum(s)
        for k in range(whole, columns):  # not the padding
            offsets += work[row + k] - origin
        mean = origin + share * offsets
        for k in range(columns):
            squares += (work[row + k] - mean) * (work[row + k] - mean)
        inverse = number(work, 1) / math.sqrt(squares * share + number(work, VARIANCE_EPSILON))
        work[moments + i * moments_stride] = mean
        work[moments + i * moments_stride + 1] = inverse
        for j in range(0, width, lanes(zero)):
            v = multiply(inverse, subtract(load(zero, work, row + j), mean))
            store(
                work, out + i * stride + j, fma(v, load(zero, parameters, weight + j), load(zero, parameters, bias + j))
            )


@operation("grad: buffer, x: buffer, columns, weight: slot, bias: slot, moments: buffer, out: buffer", ("grad", "x"))
def layer_norm_adjoint(instruction, table, work, parameters, gradients):
    """Gradients of the rows, and of the scale and shift of the columns."""
    (
        grad, grad_stride, _, x, x_stride, _, columns, weight, _, bias, _, moments, moments_stride, _,
        out, stride, width,
    ) = unpack(instruction, 17)  # fmt: skip
    zero, share = zeros4(work), number(work, 1) / number(work, columns)
    multiplicity, first = floats_at(work, table[MULTIPLICITY]), table[FIRST_NODE]
    for i in range(table[ROWS]):
        mean, inverse = work[moments + i * moments_stride], work[moments + i * moments_stride + 1]
        nodes, total, along = multiplicity[first + i], zero, zero
        for j in range(0, width, lanes(zero)):
            g = load(zero, work, grad + i * grad_stride + j)
            v = multiply(inverse, subtract(load(zero, work, x + i * x_stride + j), mean))
            many = multiply(nodes, g)
            store(gradients, weight + j, fma(many, v, load(zero, gradients, weight + j)))
            store(gradients, bias + j, add(many, load(zero, gradients, bias + j)))
            g = multiply(g, load(zero, parameters, weight + j))  # 0 in the padding
            total = add(total, g)
            along = fma(g, v, along)
        shift, slope = reduce_sum(total) * share, reduce_sum(along) * share
        for k in range(width):
            at = out + i * stride + k
            if k < columns:
                v = inverse * (work[x + i * x_stride + k] - mean)
                g = work[grad + i * grad_stride + k] * parameters[weight + k]
                work[at] = inverse * (g - shift - slope * v)
            else:
                work[at] = number(work, 0)


@operation("x: buffer, weight: slot, bias: slot, mean_scale: slot, moments: buffer, out: buffer", in_place=("x",))
def graph_norm(instruction, table, work, parameters, gradients):
    """Normalise each column over the nodes of each graph, as PyG's ``GraphNorm``.

    ``moments`` gets two rows for each graph: the mean, and the inverse standard deviation after subtracting it.
    """
    (x, x_stride, _, weight, _, bias, _, mean_scale, _, moments, moments_stride, _, out, stride, width) = unpack(
        instruction, 15
    )
    node_ptr, multiplicity = integers_at(table[NODE_PTR]), floats_at(work, table[MULTIPLICITY])
    zero, one, first = zeros4(work), number(work, 1), table[FIRST_NODE]
    for row in range(table[GRAPHS]):
        graph = table[FIRST_GRAPH] + row
        begin, end, nodes = node_ptr[graph] - first, node_ptr[graph + 1] - first, number(work, 0)
        for i in range(begin, end):
            nodes += multiplicity[first + i]
        share = one / max(nodes, one)
        for j in range(0, width, lanes(zero)):
            s = squares = zero
            # Offsets from the first row: the mean of equal rows is exact, so that nothing but 0 remains of them.
            origin = load(zero, work, x + begin * x_stride + j) if begin < end else zero
            for i in range(begin, end):
                s = fma(multiplicity[first + i], subtract(load(zero, work, x + i * x_stride + j), origin), s)
            mean = fma(share, s, origin)
            center = multiply(mean, load(zero, parameters, mean_scale + j))
            for i in range(begin, end):
                v = subtract(load(zero, work, x + i * x_stride + j), center)
                squares = fma(multiply(multiplicity[first + i], v), v, squares)
            inverse = divide(one, square_root(add(multiply(share, squares), number(work, VARIANCE_EPSILON))))
            store(work, moments + 2 * row * moments_stride + j, mean)
            store(work, moments + (2 * row + 1) * moments_stride + j, inverse)
            slope = multiply(inverse, load(zero, parameters, weight + j))
            for i in range(begin, end):
                v = subtract(load(zero, work, x + i * x_stride + j), center)
                store(work, out + i * stride + j, fma(v, slope, load(zero, parameters, bias + j)))


@operation(
    "grad: buffer, x: buffer, weight: slot, bias: slot, mean_scale: slot, moments: buffer, out: buffer",
    in_place=("grad", "x"),
)
def graph_norm_adjoint(instruction, table, work, parameters, gradients):
    """Gradients of the rows, and of the parameters of each column."""
    (
        grad, grad_stride, _, x, x_stride, _, weight, _, bias, _, mean_scale, _, moments, moments_stride, _,
        out, stride, width,
    ) = unpack(instruction, 18)  # fmt: skip
    node_ptr, multiplicity = integers_at(table[NODE_PTR]), floats_at(work, table[MULTIPLICITY])
    zero, one, first = zeros4(work), number(work, 1), table[FIRST_NODE]
    for row in range(table[GRAPHS]):
        graph = table[FIRST_GRAPH] + row
        begin, end, nodes = node_ptr[graph] - first, node_ptr[graph + 1] - first, number(work, 0)
        for i in range(begin, end):
            nodes += multiplicity[first + i]
        share = one / max(nodes, one)
        for j in range(0, width, lanes(zero)):
            mean = load(zero, work, moments + 2 * row * moments_stride + j)
            inverse = load(zero, work, moments + (2 * row + 1) * moments_stride + j)
            amount = load(zero, parameters, mean_scale + j)
            center, slope = multiply(mean, amount), multiply(inverse, load(zero, parameters, weight + j))
            total = along = offsets = zero
            for i in range(begin, end):
                many = multiply(multiplicity[first + i], load(zero, work, grad + i * grad_stride + j))
                v = subtract(load(zero, work, x + i * x_stride + j), center)
                total = add(total, many)
                along = fma(many, v, along)
                offsets = fma(multiplicity[first + i], v, offsets)
            store(gradients, weight + j, fma(along, inverse, load(zero, gradients, weight + j)))
            store(gradients, bias + j, add(total, load(zero, gradients, bias + j)))
            # Of v = x - center: slope (g - v b), where b is the mean of g v, divided by the variance.
            b = multiply(multiply(share, along), multiply(inverse, inverse))
            sum_v = multiply(slope, subtract(total, multiply(b, offsets)))
            at = mean_scale + j
            store(gradients, at, subtract(load(zero, gradients, at), multiply(mean, sum_v)))
            through_mean = multiply(share, multiply(amount, sum_v))
            for i in range(begin, end):
                g = load(zero, work, grad + i * grad_stride + j)
                v = subtract(load(zero, work, x + i * x_stride + j), center)
                g = multiply(slope, subtract(g, multiply(b, v)))
                store(work, out + i * stride + j, subtract(g, through_mean))
