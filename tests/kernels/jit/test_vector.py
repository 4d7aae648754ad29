"""The vector operations compute what NumPy computes, in both precisions and in all widths."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import pytest

from bankgcn.kernels.jit import vector as v

NAN = float("nan")
TYPES = [np.float32, np.float64]


@numba.njit
def operations(a, b, c, out):
    first, to = v.pointer_to(a), v.pointer_to(out)
    like, wide = v.zeros4(first), out.shape[1]
    x, y, z = v.load(like, first, 0), v.load(like, v.pointer_to(b), 0), v.load(like, v.pointer_to(c), 0)
    number = a[1]
    v.store(to, 0 * wide, v.fma(x, y, z))
    v.store(to, 1 * wide, v.fma(number, y, z))
    v.store(to, 2 * wide, v.subtract(v.add(x, y), v.multiply(z, number)))
    v.store(to, 3 * wide, v.divide(x, v.add(z, number)))
    v.store(to, 4 * wide, v.where_equal(x, y, z))
    v.store(to, 5 * wide, v.where_positive(x, z))
    v.store(to, 6 * wide, v.relu(x))
    v.store(to, 7 * wide, v.maximum(x, y))
    v.store(to, 8 * wide, v.square_root(z))
    v.store(to, 9 * wide, v.zeros_like(x))
    return v.reduce_sum(z)


def run_operations(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, float]:
    out = np.full((10, len(a)), 99, a.dtype)
    return out, operations(a, b, c, out)


def lanes_of(dtype: type, registers: int = 4) -> int:
    return registers * v.REGISTER_BYTES // np.dtype(dtype).itemsize


@pytest.mark.parametrize("dtype", TYPES)
def test_operations(dtype: type) -> None:
    lanes = lanes_of(dtype)
    random = np.random.default_rng(0)
    a, b, c = random.normal(size=(3, lanes)).astype(dtype)
    b[::3] = a[::3]
    c = abs(c) + 1
    number = abs(a[1])
    a[1] = number
    out, total = run_operations(a, b, c)
    expected = [
        a * b + c,
        number * b + c,
        a + b - c * number,
        a / (c + number),
        np.where(a == b, c, 0),
        np.where(a > 0, c, 0),
        np.maximum(a, 0),
        np.maximum(a, b),
        np.sqrt(c),
        np.zeros(lanes),
    ]
    np.testing.assert_allclose(out, np.stack(expected), rtol=1e-5, atol=1e-6)
    assert (out[7] < 0).any()
    assert total == pytest.approx(c.sum(), rel=1e-5)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("not_a_number", [NAN, -NAN], ids=["NaN", "NaN with its sign bit set"])
def test_nan_stays_nan(not_a_number: float, dtype: type) -> None:
    lanes = lanes_of(dtype)
    a, b, c = np.full(lanes, not_a_number, dtype), np.full(lanes, -1, dtype), np.full(lanes, 5, dtype)
    out, _ = run_operations(a, b, c)
    assert (out[5] == 5).all()  # the derivative of the ReLU there is 1, as PyTorch has it
    assert np.isnan(out[6:8]).all()
    out, _ = run_operations(b, a, c)
    assert np.isnan(out[7]).all()
    out, _ = run_operations(a, a, c)
    assert np.isnan(out[7]).all()


def test_infinity_is_rectified_as_any_other_number() -> None:
    a = np.full(lanes_of(np.float64), -np.inf)
    out, _ = run_operations(a, -a, -a)
    assert (out[6] == 0).all()
    assert (out[7] == np.inf).all()


@numba.njit
def widths(a, out):
    at, to = v.pointer_to(a), v.pointer_to(out)
    two, four, eight, sixteen_lanes = v.zeros2(at), v.zeros4(at), v.zeros8(at), v.zeros_of_lanes(at, 16)
    v.store(to, 0, two)
    v.store(to, 200, four)
    v.store(to, 400, eight)
    v.store(to, 600, sixteen_lanes)
    return v.lanes(two), v.lanes(four), v.lanes(eight), v.lanes(sixteen_lanes)


@pytest.mark.parametrize("dtype", TYPES)
def test_zeros_of_each_width(dtype: type) -> None:
    out = np.ones(800, dtype)
    lanes = (*(lanes_of(dtype, registers) for registers in (2, 4, 8)), 16)
    assert widths(out, out) == lanes
    expected = np.ones(800)
    for number, count in enumerate(lanes):
        expected[200 * number : 200 * number + count] = 0
    np.testing.assert_array_equal(out, expected)


@numba.njit
def shifted(a, out):
    first = v.advance(v.pointer_to(a), 4)
    like = v.zeros2(first)
    v.store(v.pointer_to(out), 5, v.add(v.load(like, first, 3), a[0]))
    return v.lanes(like)


@pytest.mark.parametrize("dtype", TYPES)
def test_vectors_begin_and_end_where_they_should(dtype: type) -> None:
    lanes = lanes_of(dtype, 2)
    a = np.arange(1, 4 * lanes, dtype=dtype)
    out = np.zeros(3 * lanes, dtype)
    assert shifted(a, out) == lanes
    expected = np.zeros_like(out)
    expected[5 : 5 + lanes] = a[7 : 7 + lanes] + a[0]
    np.testing.assert_array_equal(out, expected)


@numba.njit
def at_addresses(floats, floats_address, integers_address, doubles_address, bits):
    like = v.pointer_to(floats)
    third = v.number(like, 1) / v.number(like, 3)
    return (
        v.floats_at(like, floats_address)[2], v.integers_at(integers_address)[1], v.doubles_at(doubles_address)[1],
        v.as_double(bits), third,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
def test_values_are_read_at_addresses_and_numbers_have_the_type_of_the_pointer(dtype: type) -> None:
    floats, integers, doubles = np.array([1, 2, 3], dtype), np.array([2**40, -(2**41)]), np.array([0.1, 0.2])
    bits = np.float64(0.3).view(np.int64)
    addresses = (array.ctypes.data for array in (floats, integers, doubles))
    found = at_addresses(floats, *addresses, bits)
    assert found == (3, -(2**41), 0.2, 0.3, dtype(1) / dtype(3))


@numba.njit
def exponentials(a, out):
    at, to = v.pointer_to(a), v.pointer_to(out)
    like = v.zeros_of_lanes(at, 8)
    for k in range(0, len(a), v.lanes(like)):
        v.store(to, k, v.exp(v.load(like, at, k)))


@pytest.mark.parametrize(("dtype", "lowest", "error"), [(np.float32, -87, 2e-7), (np.float64, -708, 1e-15)])
def test_exp_of_values_that_are_not_positive(dtype: type, lowest: float, error: float) -> None:
    x = np.concatenate([np.linspace(1.15 * lowest, 0, 200_000), -np.geomspace(1e-30, 1, 1000), [-np.inf, -0.0]])
    x = np.append(x, np.zeros(-len(x) % 8)).astype(dtype)
    found = np.empty_like(x)
    exponentials(x, found)
    normal = x >= lowest
    expected = np.exp(x.astype(np.longdouble))
    np.testing.assert_allclose(found[normal], expected[normal].astype(np.float64), rtol=error)
    assert (found[x == 0] == 1).all()
    assert (~normal).any()
    np.testing.assert_allclose(found[~normal], np.exp(np.float64(lowest)), rtol=error)


@pytest.mark.parametrize("dtype", TYPES)
def test_exp_of_nan_is_nan(dtype: type) -> None:
    x = np.full(8, NAN, dtype)
    exponentials(x, found := np.zeros_like(x))
    assert np.isnan(found).all()


def tile_and_fold(count: int) -> Callable:
    @numba.njit
    def compiled(a, out):
        at, to = v.pointer_to(a), v.pointer_to(out)
        narrow, wide = v.zeros_of_lanes(at, count), v.zeros4(at)
        v.store(to, 0, v.tile(v.load(narrow, at, 0), wide))
        v.store(to, 100, v.fold(v.load(wide, at, 0), narrow))

    return compiled


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
def test_tile_repeats_and_fold_adds(count: int, dtype: type) -> None:
    lanes = lanes_of(dtype)
    a, out = np.arange(1, lanes + 1, dtype=dtype), np.zeros(200, dtype)
    tile_and_fold(count)(a, out)
    np.testing.assert_array_equal(out[:lanes], np.tile(a[:count], lanes // count))
    np.testing.assert_array_equal(out[100 : 100 + count], a.reshape(-1, count).sum(0))
    assert not out[lanes:100].any()
    assert not out[100 + count :].any()
