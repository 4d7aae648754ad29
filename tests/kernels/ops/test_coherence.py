"""The gradient of the diversity term equals autograd's: one pair, ties, opposite filters, filters without direction."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.kernels.ops.blocks import GAMMA, GRAD_THETA, THETA
from bankgcn.kernels.ops.parameters import coherence_gradient
from bankgcn.nn import mutual_coherence
from run_operation import DTYPES, TOLERANCE, result, run
from strategies import signals

START, AFTER = 3, 2  # other parameters before and after the filters
DOUBLE = np.dtype(np.float64)


def by_autograd(bank: torch.Tensor, gamma: float) -> np.ndarray:
    bank = bank.clone().requires_grad_()
    (gamma * mutual_coherence(bank)).backward()
    return bank.grad.numpy()


def by_kernel(bank: torch.Tensor, gamma: float, dtype: np.dtype = DOUBLE) -> np.ndarray:
    filters, terms = bank.shape
    theta = np.concatenate([np.full(START, 9.0), bank.numpy().reshape(-1), np.full(AFTER, 9.0)]).astype(dtype)
    before = np.random.default_rng(0).normal(size=len(theta)).astype(dtype)
    gradient = before.copy()
    table = {THETA: theta, GRAD_THETA: gradient, GAMMA: np.array([gamma])}
    unit = result(filters, terms + 1, "none")
    run(coherence_gradient, dtype, {"alpha": START, "filters": filters, "terms": terms, "unit": unit}, table)
    assert (gradient == before)[:START].all()
    assert (gradient == before)[-AFTER:].all()
    return (gradient - before)[START:-AFTER].reshape(filters, terms)


@given(st.integers(1, 5), st.integers(1, 17), st.integers(0, 99))
def test_equals_autograd(terms: int, filters: int, seed: int) -> None:
    bank = signals(filters, terms, seed)
    np.testing.assert_allclose(by_kernel(bank, 0.7), by_autograd(bank, 0.7), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_equals_autograd_in_single_precision(seed: int) -> None:
    bank = signals(8, 3, seed)
    single = np.dtype(np.float32)
    np.testing.assert_allclose(by_kernel(bank, 0.7, single), by_autograd(bank, 0.7), atol=10 * TOLERANCE[single])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "bank",
    [
        [[1.0, 0.0], [0.0, 2.0]],
        [[1.0, 2.0], [-2.0, 1.0], [1.0, -2.0]],
        [[1.0, 0.0], [1.0, 1.0], [0.0, 3.0]],
        [[0.0, 0.0], [1.0, 1.0], [1.0, 3.0]],
        [[0.0, 0.0], [0.0, 0.0]],
        [[1e-13, 0.0], [1.0, 0.0]],
        [[3.0, 4.0]],
    ],
    ids=[
        "orthogonal", "opposite", "two equal pairs", "one without direction", "none with direction", "almost zero",
        "a single filter",
    ],
)  # fmt: skip
def test_awkward_banks_equal_autograd(bank: list[list[float]], dtype: np.dtype) -> None:
    # In the precision of the kernel: rounding decides which pairs have the same cosine.
    given = torch.tensor(bank, dtype={8: torch.float64, 4: torch.float32}[dtype.itemsize])
    tolerance = 10 * TOLERANCE[dtype]
    np.testing.assert_allclose(by_kernel(given, 1.0, dtype), by_autograd(given, 1.0), rtol=tolerance, atol=tolerance)


def test_several_equal_filters_share_the_gradient() -> None:
    bank = torch.tensor([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 1.0, 0.0], [0.6, 0.0, 0.8]])
    found = by_kernel(bank, 1.0)
    np.testing.assert_allclose(found, by_autograd(bank, 1.0), atol=1e-12)
    assert np.count_nonzero(np.abs(found).sum(1)) >= 2


def test_without_weight_nothing_is_added() -> None:
    assert not by_kernel(signals(4, 3), 0.0).any()
