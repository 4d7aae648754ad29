"""Parameters get to their places and gradients back; filters are expanded to Chebyshev coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.kernels.network.executor import _run
from bankgcn.kernels.ops.blocks import BASES, COPIES, GRAD_THETA, NUM_PARAMETERS, PLACES, SIZE, THETA
from bankgcn.kernels.ops.parameters import (
    clear_gradient,
    expand_filters,
    filters_gradient,
    pack_gradient,
    unpack_parameters,
)
from run_operation import DTYPES, TOLERANCE

FILTERS, TERMS, DEGREE, CHANNELS, ALPHA, BASIS, SLOT, STRIDE = 3, 4, 2, 5, 6, 9, 7, 40


def execute(operation, operands: list[int], dtype: np.dtype, table: dict, parameters, gradients) -> None:
    """Run an operation that has no buffers."""
    numbers = np.zeros(SIZE, np.int64)
    for place, value in table.items():
        numbers[place] = value.ctypes.data if isinstance(value, np.ndarray) else value
    code = np.array([[operation.address(dtype), *operands]])
    _run(code, numbers, np.zeros(8, dtype), parameters, gradients)


@pytest.mark.parametrize("dtype", DTYPES)
def test_parameters_are_copied_to_their_places_and_gradients_are_added(dtype: np.dtype) -> None:
    theta = np.arange(1, 6).astype(dtype)
    places, copies = np.array([4, -1, 0, 7, 2]), np.array([-1, -1, 9, -1, 8])
    parameters, gradients = np.zeros(10, dtype), np.arange(10, 20).astype(dtype)
    grad_theta = np.full(5, 100, dtype)
    table = {THETA: theta, GRAD_THETA: grad_theta, PLACES: places, COPIES: copies, NUM_PARAMETERS: 5}
    execute(unpack_parameters, [], dtype, table, parameters, gradients)
    assert parameters.tolist() == [3, 0, 5, 0, 1, 0, 0, 4, 5, 3]
    execute(pack_gradient, [], dtype, table, parameters, gradients)
    assert grad_theta.tolist() == [114, 100, 110, 117, 112]
    execute(clear_gradient, [], dtype, table, parameters, gradients)
    assert not grad_theta.any()
    assert theta.tolist() == [1, 2, 3, 4, 5]


def random_bank(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All parameters, of which the filters' coefficients are a part, these coefficients, and the basis."""
    random = np.random.default_rng(0)
    theta, basis = random.normal(size=30).astype(dtype), random.normal(size=(TERMS, DEGREE + 1)).astype(dtype)
    return theta, theta[ALPHA : ALPHA + FILTERS * TERMS].reshape(FILTERS, TERMS).astype(np.float64), basis


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shortcut", [0, 1])
def test_filters_are_expanded_to_the_coefficients_of_each_channel(shortcut: int, dtype: np.dtype) -> None:
    theta, alpha, basis = random_bank(dtype)
    parameters = np.zeros(SLOT + 4 * STRIDE, dtype)
    operands = [ALPHA, FILTERS, TERMS, BASIS, DEGREE, CHANNELS, shortcut, SLOT, STRIDE]
    bases = np.append(np.ones(BASIS, dtype), basis)
    execute(expand_filters, operands, dtype, {THETA: theta, BASES: bases}, parameters, np.zeros(0, dtype))
    expected = alpha @ basis
    expected[:, 0] += shortcut
    found = parameters[SLOT : SLOT + 3 * STRIDE].reshape(3, STRIDE)
    wide = expected.repeat(CHANNELS, axis=0).T
    np.testing.assert_allclose(found[:, : FILTERS * CHANNELS], wide, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    assert not found[:, FILTERS * CHANNELS :].any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_gradient_of_the_filters_is_that_of_their_expansion(dtype: np.dtype) -> None:
    theta, _, basis = random_bank(dtype)
    gradients = np.random.default_rng(1).normal(size=SLOT + 4 * STRIDE).astype(dtype)
    grad_theta = np.ones_like(theta)
    operands = [ALPHA, FILTERS, TERMS, BASIS, DEGREE, CHANNELS, SLOT, STRIDE]
    table = {GRAD_THETA: grad_theta, BASES: np.append(np.ones(BASIS, dtype), basis)}
    execute(filters_gradient, operands, dtype, table, np.zeros(0, dtype), gradients)
    of_slot = gradients[SLOT : SLOT + 3 * STRIDE].reshape(3, STRIDE)[:, : FILTERS * CHANNELS].astype(np.float64)
    of_filter = of_slot.reshape(3, FILTERS, CHANNELS).sum(2).T
    expected = np.ones(len(theta))
    expected[ALPHA : ALPHA + FILTERS * TERMS] += (of_filter @ basis.T).reshape(-1)
    np.testing.assert_allclose(grad_theta, expected, rtol=TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])
