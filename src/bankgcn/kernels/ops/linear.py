"""Linear layers and functions of single rows, forward and backward."""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import ODD, mix, operation, unpack
from bankgcn.kernels.jit.vector import (
    add,
    as_double,
    floats_at,
    fma,
    integers_at,
    lanes,
    load,
    multiply,
    number,
    store,
    where_positive,
    zeros2,
    zeros4,
)
from bankgcn.kernels.jit.vector import relu as relu_of
from bankgcn.kernels.ops.blocks import COLUMNS, DROPOUT_KEY, FIRST_NODE, MULTIPLICITY, ROWS, TILE_ROWS


@operation("x: buffer, inner, weight: slot, bias: slot, plus: buffer, out: buffer, rows", in_place=("plus",))
def linear(instruction, table, work, parameters, gradients):
    """``out = plus + x weight + bias``; sums over the first ``inner`` columns of ``x``.

    ``rows`` is the entry of the table with the number of rows. It writes whole tiles: up to three rows more.
    """
    (x, x_stride, _, inner, weight, weight_stride, bias, _, plus, plus_stride, _, out, stride, width, rows) = unpack(
        instruction, 15
    )
    zero = zeros2(work)
    for j in range(0, width, lanes(zero)):
        start = load(zero, parameters, bias + j)
        for i in range(0, table[rows], TILE_ROWS):
            sum0 = sum1 = sum2 = sum3 = start
            if plus >= 0:
                at = plus + i * plus_stride + j
                sum0 = add(start, load(zero, work, at))
                sum1 = add(start, load(zero, work, at + plus_stride))
                sum2 = add(start, load(zero, work, at + 2 * plus_stride))
                sum3 = add(start, load(zero, work, at + 3 * plus_stride))
            row = x + i * x_stride
            for q in range(inner):
                v = load(zero, parameters, weight + q * weight_stride + j)
                sum0 = fma(work[row + q], v, sum0)
                sum1 = fma(work[row + x_stride + q], v, sum1)
                sum2 = fma(work[row + 2 * x_stride + q], v, sum2)
                sum3 = fma(work[row + 3 * x_stride + q], v, sum3)
            at = out + i * stride + j
            store(work, at, sum0)
            store(work, at + stride, sum1)
            store(work, at + 2 * stride, sum2)
            store(work, at + 3 * stride, sum3)


@operation("x: buffer, inner, grad: buffer, weight: slot, rows")
def weight_gradient(instruction, table, work, parameters, gradients):
    """Add ``x^T grad`` to the gradient of a weight matrix; ``inner`` is the number of columns of ``x``.

    It writes whole tiles: up to three rows more than ``inner``, to which it adds 0 times the gradient.
    """
    (x, x_stride, _, inner, grad, grad_stride, width, weight, stride, rows) = unpack(instruction, 10)
    zero = zeros2(work)
    for j in range(0, width, lanes(zero)):
        for i in range(0, inner, TILE_ROWS):
            sum0 = sum1 = sum2 = sum3 = zero
            for q in range(table[rows]):
                v = load(zero, work, grad + q * grad_stride + j)
                at = x + q * x_stride + i
                sum0 = fma(work[at], v, sum0)
                sum1 = fma(work[at + 1], v, sum1)
                sum2 = fma(work[at + 2], v, sum2)
                sum3 = fma(work[at + 3], v, sum3)
            at = weight + i * stride + j
            store(gradients, at, add(sum0, load(zero, gradients, at)))
            store(gradients, at + stride, add(sum1, load(zero, gradients, at + stride)))
            store(gradients, at + 2 * stride, add(sum2, load(zero, gradients, at + 2 * stride)))
            store(gradients, at + 3 * stride, add(sum3, load(zero, gradients, at + 3 * stride)))


@operation("grad: buffer, bias: slot, rows")
def bias_gradient(instruction, table, work, parameters, gradients):
    """Add the sum of the rows to the gradient of a bias."""
    (grad, grad_stride, width, bias, _, rows) = unpack(instruction, 6)
    zero = zeros2(work)
    for j in range(0, width, lanes(zero)):
        s = zero
        for i in range(table[rows]):
            s = add(s, load(zero, work, grad + i * grad_stride + j))
        store(gradients, bias + j, add(s, load(zero, gradients, bias + j)))


# Constants of a hash of 32 bits; see bankgcn.nn.layers, which computes the same bits.
HASH1, HASH2, ODD32 = np.uint32(0x7FEB352D), np.uint32(0x846CA68B), np.uint32(0x9E3779B9)


@operation("x: buffer, out: buffer, rows", in_place=("x",))
def relu(instruction, table, work, parameters, gradients):
    """``out = max(x, 0)``."""
    (x, x_stride, _, out, stride, width, rows) = unpack(instruction, 7)
    zero = zeros4(work)
    for i in range(table[rows]):
        for j in range(0, width, lanes(zero)):
            store(work, out + i * stride + j, relu_of(load(zero, work, x + i * x_stride + j)))


@operation("grad: buffer, x: buffer, out: buffer, rows", in_place=("grad", "x"))
def relu_adjoint(instruction, table, work, parameters, gradients):
    """``out = grad`` where the result ``x`` of the ReLU is positive, else 0."""
    (grad, grad_stride, _, x, x_stride, _, out, stride, width, rows) = unpack(instruction, 10)
    zero = zeros4(work)
    for i in range(table[rows]):
        for j in range(0, width, lanes(zero)):
            g = load(zero, work, grad + i * grad_stride + j)
            store(work, out + i * stride + j, where_positive(load(zero, work, x + i * x_stride + j), g))


@operation("x: buffer, factor, plus: buffer, out: buffer", in_place=("x", "plus"))
def add_multiple(instruction, table, work, parameters, gradients):
    """``out = plus + factor x``."""
    (x, x_stride, _, factor, plus, plus_stride, _, out, stride, width) = unpack(instruction, 10)
    zero, scale = zeros4(work), number(work, factor)
    for i in range(table[ROWS]):
        for j in range(0, width, lanes(zero)):
            s = zero
            if plus >= 0:
                s = load(zero, work, plus + i * plus_stride + j)
            store(work, out + i * stride + j, fma(scale, load(zero, work, x + i * x_stride + j), s))


@operation("x: buffer, out: buffer", in_place=("x",))
def scale_by_multiplicity(instruction, table, work, parameters, gradients):
    """Multiply each row by its number of nodes, so that a sum over rows is a sum over nodes."""
    (x, x_stride, _, out, stride, width) = unpack(instruction, 6)
    multiplicity, first, zero = floats_at(work, table[MULTIPLICITY]), table[FIRST_NODE], zeros4(work)
    for i in range(table[ROWS]):
        factor = multiplicity[first + i]
        if factor != 1 or x != out:
            for j in range(0, width, lanes(zero)):
                store(work, out + i * stride + j, multiply(factor, load(zero, work, x + i * x_stride + j)))


@operation("x: buffer, columns, threshold, scale, stream, rows, first, out: buffer", in_place=("x",))
def dropout(instruction, table, work, parameters, gradients):
    """Set values to 0 at random, and scale the others so that the mean stays; its adjoint is the same.

    A value is dropped if the first 24 bits of its hash are below the threshold. ``first`` is the entry of the table
    with the number of the first row within its batch, so that the result does not depend on the blocks. ``columns``
    is where the numbers of the columns start in the table's ``COLUMNS``: padding has -1, and is set to 0.
    """
    (x, x_stride, _, columns, threshold, scale, stream, rows, first, out, stride, width) = unpack(instruction, 12)
    numbers, limit, zero = integers_at(table[COLUMNS]), np.uint32(threshold), number(work, 0)
    factor = number(work, as_double(scale))
    for i in range(table[rows]):
        row = np.uint64(stream) * np.uint64(1 << 40) + np.uint64(table[first] + i + 1)
        key = mix(np.uint64(table[DROPOUT_KEY]) + ODD * row)
        low, high = np.uint32(key & np.uint64(0xFFFFFFFF)), np.uint32(key >> np.uint64(32))
        for j in range(width):
            column = numbers[columns + j]
            h = np.uint32(low + np.uint32(column) * ODD32) ^ high
            h = np.uint32((h ^ (h >> np.uint32(16))) * HASH1)
            h = np.uint32((h ^ (h >> np.uint32(15))) * HASH2)
            h = h ^ (h >> np.uint32(16))
            kept = (h >> np.uint32(8)) >= limit and column >= 0
            work[out + i * stride + j] = factor * work[x + i * x_stride + j] if kept else zero
