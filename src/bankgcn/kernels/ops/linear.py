"""The product of signals and a weight matrix on padded rows, and its gradients."""

from __future__ import annotations

from bankgcn.kernels.jit.operation import operation, unpack
from bankgcn.kernels.jit.vector import add, fma, lanes, load, store, zeros2
from bankgcn.kernels.ops.padding import TILE_ROWS


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
