"""The product of signals and a weight matrix on padded rows, and its gradients."""

from __future__ import annotations

from bankgcn.kernels.jit.compiler import jit_inner
from bankgcn.kernels.jit.vector import add, broadcast2, broadcast4, fma, lanes, load, store
from bankgcn.kernels.ops.padding import TILE_ROWS, width


@jit_inner
def linear(x, weight, rows, inner, bias, bias_row, out):
    """``out = x weight + bias[bias_row]`` for the first rows.

    It sums over the first ``inner`` columns of ``x``, and writes whole tiles: up to three rows more than ``rows``.
    """
    zero = broadcast2(x.dtype.type(0))
    for j in range(0, width(out), lanes(zero)):
        start = load(zero, bias, bias_row, j)
        for i in range(0, rows, TILE_ROWS):
            sum0 = sum1 = sum2 = sum3 = start
            for q in range(inner):
                v = load(zero, weight, q, j)
                sum0 = fma(x[i, q], v, sum0)
                sum1 = fma(x[i + 1, q], v, sum1)
                sum2 = fma(x[i + 2, q], v, sum2)
                sum3 = fma(x[i + 3, q], v, sum3)
            store(out, i, j, sum0)
            store(out, i + 1, j, sum1)
            store(out, i + 2, j, sum2)
            store(out, i + 3, j, sum3)


@jit_inner
def add_weight_gradient(a, b, rows, out):
    """``out += a^T b``, summed over the first rows."""
    zero = broadcast2(a.dtype.type(0))
    for j in range(0, width(out), lanes(zero)):
        for i in range(0, out.shape[0], TILE_ROWS):
            sum0 = sum1 = sum2 = sum3 = zero
            for q in range(rows):
                v = load(zero, b, q, j)
                sum0 = fma(a[q, i], v, sum0)
                sum1 = fma(a[q, i + 1], v, sum1)
                sum2 = fma(a[q, i + 2], v, sum2)
                sum3 = fma(a[q, i + 3], v, sum3)
            store(out, i, j, add(sum0, load(zero, out, i, j)))
            store(out, i + 1, j, add(sum1, load(zero, out, i + 1, j)))
            store(out, i + 2, j, add(sum2, load(zero, out, i + 2, j)))
            store(out, i + 3, j, add(sum3, load(zero, out, i + 3, j)))


@jit_inner
def add_bias_gradient(gradient, rows, out, out_row):
    """``out[out_row] += gradient``, summed over the first rows."""
    zero = broadcast4(out.dtype.type(0))
    for j in range(0, width(gradient), lanes(zero)):
        s = zero
        for i in range(rows):
            s = add(s, load(zero, gradient, i, j))
        store(out, out_row, j, add(s, load(zero, out, out_row, j)))
