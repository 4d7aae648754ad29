"""The vector operations compute what NumPy computes, in both precisions and in two widths."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from bankgcn.kernels.jit import vector as v

NAN = float("nan")


@numba.njit
def operations(a, b, c, out):
    like = v.broadcast4(a[0, 0])
    x, y, z = v.load(like, a, 0, 0), v.load(like, b, 0, 0), v.load(like, c, 0, 0)
    number = a[0, 1]
    v.store(out, 0, 0, v.fma(x, y, z))
    v.store(out, 1, 0, v.fma(number, y, z))
    v.store(out, 2, 0, v.subtract(v.add(x, y), v.multiply(z, number)))
    v.store(out, 3, 0, v.divide(x, v.add(z, number)))
    v.store(out, 4, 0, v.where_equal(x, y, z))
    v.store(out, 5, 0, v.where_positive(x, z))
    v.store(out, 6, 0, v.relu(x))
    v.store(out, 7, 0, v.maximum(v.relu(x), v.relu(y)))
    return v.reduce_sum(z)


@numba.njit
def two_registers(a, out):
    first = v.broadcast2(a[0, 0])
    v.store(out, 1, 2, v.add(v.load(first, a, 1, 3), first))
    return v.lanes(first)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_operations(dtype: type) -> None:
    lanes = 4 * v.REGISTER_BYTES // np.dtype(dtype).itemsize
    random = np.random.default_rng(0)
    a, b, c = random.normal(size=(3, 1, lanes)).astype(dtype)
    b[0, ::3] = a[0, ::3]
    c = abs(c) + 1
    number = abs(a[0, 1])
    a[0, 1] = number
    out = np.zeros((8, lanes), dtype)
    total = operations(a, b, c, out)
    expected = [
        a * b + c,
        number * b + c,
        a + b - c * number,
        a / (c + number),
        np.where(a == b, c, 0),
        np.where(a > 0, c, 0),
        np.maximum(a, 0),
        np.maximum(np.maximum(a, 0), np.maximum(b, 0)),
    ]
    np.testing.assert_allclose(out, np.concatenate(expected), rtol=1e-5, atol=1e-6)
    assert total == pytest.approx(c.sum(), rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("not_a_number", [NAN, -NAN], ids=["NaN", "NaN with its sign bit set"])
def test_nan_stays_nan(not_a_number: float, dtype: type) -> None:
    lanes = 4 * v.REGISTER_BYTES // np.dtype(dtype).itemsize
    a, b, c = np.full((1, lanes), not_a_number, dtype), np.ones((1, lanes), dtype), np.full((1, lanes), 5, dtype)
    out = np.zeros((8, lanes), dtype)
    operations(a, b, c, out)
    assert (out[5] == 5).all()  # the derivative of the ReLU there is 1, as PyTorch has it
    assert np.isnan(out[6:]).all()
    operations(b, a, c, out)
    assert np.isnan(out[7]).all()


def test_infinity_is_rectified_as_any_other_number() -> None:
    a, out = np.full((1, 4 * v.REGISTER_BYTES // 8), -np.inf), np.zeros((8, 4 * v.REGISTER_BYTES // 8))
    operations(a, -a, -a, out)
    assert (out[6] == 0).all()
    assert (out[7] == np.inf).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vectors_begin_and_end_where_they_should(dtype: type) -> None:
    lanes = 2 * v.REGISTER_BYTES // np.dtype(dtype).itemsize
    a = np.arange(4 * lanes, dtype=dtype).reshape(2, -1)
    out = np.zeros((3, lanes + 5), dtype)
    assert two_registers(a, out) == lanes
    expected = np.zeros_like(out)
    expected[1, 2 : 2 + lanes] = a[1, 3 : 3 + lanes] + a[0, 0]
    np.testing.assert_array_equal(out, expected)
