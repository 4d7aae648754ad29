"""The values of every basis equal SciPy's polynomials, and its matrix gives the same values."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev as series
from scipy import special

import oracles
from bankgcn.spectral import BASES, Chebyshev, ChebyshevInterpolation, Jacobi, RectangularPulses
from bankgcn.spectral.basis import basis_named
from refusals import refused

POLYNOMIAL_BASES = [name for name in BASES if name != "pulses"]
LAM = np.linspace(0, 2, 41)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("name", POLYNOMIAL_BASES)
def test_values_and_matrix_equal_the_polynomials(name: str, order: int) -> None:
    expected = oracles.basis_values(name, LAM, order)
    x = torch.from_numpy(LAM - 1)
    np.testing.assert_allclose(BASES[name].evaluate(x, order), expected, atol=1e-12)
    matrix = BASES[name].to_chebyshev(order).numpy()
    assert matrix.shape == (order + 1, order + 1)
    np.testing.assert_allclose(series.chebval(LAM - 1, matrix.T), expected, atol=1e-12)


@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (-0.5, -0.5), (0.5, 2.0), (3.0, -0.9)])
def test_jacobi_of_any_weight(a: float, b: float) -> None:
    values = Jacobi(a, b).evaluate(torch.from_numpy(LAM - 1), 6)
    expected = np.stack([special.eval_jacobi(k, a, b, LAM - 1) for k in range(7)])
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("a", "b"), [(-1.0, 0.0), (0.0, -2.0), (float("nan"), 0.0)])
def test_jacobi_weights_that_cannot_be_integrated_raise(a: float, b: float) -> None:
    with refused(ValueError, a=a, b=b):
        Jacobi(a, b)


def test_interpolation_coefficients_are_values_at_the_nodes() -> None:
    order, alpha = 4, torch.tensor([0.3, -1.0, 2.0, 0.0, 0.7])
    nodes = torch.from_numpy(oracles.chebyshev_points(order + 1))
    torch.testing.assert_close(alpha @ ChebyshevInterpolation().evaluate(nodes, order), alpha)


def test_high_orders_stay_accurate() -> None:
    matrix = BASES["legendre"].to_chebyshev(60).numpy()
    expected = special.eval_legendre(60, LAM - 1)
    np.testing.assert_allclose(series.chebval(LAM - 1, matrix[60]), expected, atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_pulses_are_the_ideal_sub_bands(count: int) -> None:
    lam = np.array([0.0, 0.1, 0.5, 0.77, 1.3, 1.99, 2.0])
    values = RectangularPulses().evaluate(torch.from_numpy(lam - 1), count - 1)
    np.testing.assert_array_equal(values, oracles.pulses(lam, count))
    assert (values.sum(0) == 1).all()  # every frequency is in exactly one band, also lambda = 2


@pytest.mark.parametrize("degree", [0, 1, 5, 40])
def test_projected_pulses_equal_their_chebyshev_integrals(degree: int) -> None:
    matrix = RectangularPulses(degree).to_chebyshev(3).numpy()
    theta = (np.arange(4000) + 0.5) * np.pi / 4000  # c_k = 2/pi * integral of f(cos t) cos(k t) dt
    values = oracles.pulses(np.cos(theta) + 1, 4)
    for k in range(degree + 1):
        integral = (values * np.cos(k * theta)).mean(1) * (1 if k == 0 else 2)
        np.testing.assert_allclose(matrix[:, k], integral, atol=2e-3)


def test_projected_pulses_approach_the_pulses_away_from_their_edges() -> None:
    lam = np.array([0.25, 0.75, 1.25, 1.75])
    exact = oracles.pulses(lam, 4)
    errors = [
        np.abs(series.chebval(lam - 1, RectangularPulses(degree).to_chebyshev(3).numpy().T) - exact).max()
        for degree in (8, 32, 128)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


@pytest.mark.parametrize("name", BASES)
def test_the_matrix_has_values_on_any_default_device(name: str) -> None:
    expected = BASES[name].to_chebyshev(3)
    with torch.device("meta"):
        matrix = BASES[name].to_chebyshev(3)
    assert matrix.device.type == "cpu"
    assert torch.equal(matrix, expected)


def test_a_basis_is_given_by_name_or_as_an_object() -> None:
    assert basis_named("chebyshev") == Chebyshev()
    assert basis_named(Jacobi(2.0, 0.0)) == Jacobi(2.0, 0.0)
    with refused(ValueError, "basis", "'chebishev'", "'chebyshev'"):
        basis_named("chebishev")
    with refused(ValueError, degree=-1):
        RectangularPulses(-1)
