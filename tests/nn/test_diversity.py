"""Omega equals its definition; its symmetries, lower bound and gradient."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import oracles
from bankgcn import mutual_coherence
from refusals import refused

coefficients = arrays(
    float, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9), elements=st.floats(-4, 4, width=16)
)


@given(coefficients)
def test_omega_equals_its_definition(alpha) -> None:
    assert mutual_coherence(torch.from_numpy(alpha)).item() == pytest.approx(oracles.coherence(alpha), abs=1e-12)


@given(coefficients, st.data())
def test_omega_does_not_depend_on_scale_and_sign(alpha, data: st.DataObject) -> None:
    factors = data.draw(arrays(float, (len(alpha), 1), elements=st.sampled_from([-3.0, -1.0, 0.5, 7.0])))
    omega = mutual_coherence(torch.from_numpy(alpha))
    torch.testing.assert_close(mutual_coherence(torch.from_numpy(alpha * factors)), omega)


def test_parallel_filters_have_coherence_one_and_orthogonal_ones_none() -> None:
    assert mutual_coherence(torch.tensor([[1.0, 2.0, 0.0], [-2.0, -4.0, 0.0], [0.0, 0.0, 1.0]])).item() == (
        pytest.approx(1)
    )
    assert mutual_coherence(torch.eye(3)).item() == 0


def test_omega_of_a_single_filter_is_zero() -> None:
    alpha = torch.randn(1, 3, requires_grad=True)
    omega = mutual_coherence(alpha)
    omega.backward()
    assert omega.item() == 0
    assert torch.equal(alpha.grad, torch.zeros(1, 3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("zero_rows", [[0], [1, 2], [0, 1, 2, 3]])
def test_zero_filters_give_a_finite_value_and_a_moderate_gradient(dtype: torch.dtype, zero_rows: list[int]) -> None:
    alpha = torch.randn(4, 3, dtype=dtype)
    alpha[zero_rows] = 0
    alpha.requires_grad_()
    omega = mutual_coherence(alpha)
    omega.backward()
    assert 0 <= omega.item() <= 1
    assert alpha.grad.abs().max() < 10


def test_gradient_passes_gradcheck() -> None:
    assert torch.autograd.gradcheck(mutual_coherence, torch.randn(5, 3, requires_grad=True))


def best_coherence(num_subspaces: int, order: int, restarts: int = 16, steps: int = 1000) -> float:
    """The smallest Omega that gradient descent finds in several restarts."""
    alpha = torch.randn(restarts, num_subspaces, order + 1, requires_grad=True)
    optimizer = torch.optim.Adam([alpha], lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    omega = torch.vmap(mutual_coherence)
    for _ in range(steps):
        optimizer.zero_grad()
        omega(alpha).sum().backward()
        optimizer.step()
        schedule.step()
    return omega(alpha).min().item()


@pytest.mark.parametrize(("num_subspaces", "order", "minimum"), [(8, 2, 0.648), (4, 2, 0.333)])
def test_minimising_omega_alone_reaches_its_minimum(num_subspaces: int, order: int, minimum: float) -> None:
    reached = best_coherence(num_subspaces, order)
    assert reached == pytest.approx(minimum, abs=0.01)
    dimensions = order + 1
    welch = math.sqrt((num_subspaces - dimensions) / (dimensions * (num_subspaces - 1)))
    assert reached >= welch - 1e-9


def test_stacked_banks_give_one_omega_each() -> None:
    alphas = torch.randn(3, 5, 4)
    expected = torch.stack([mutual_coherence(alpha) for alpha in alphas])
    torch.testing.assert_close(mutual_coherence(alphas), expected)


def test_alpha_must_be_a_matrix() -> None:
    with refused(ValueError, "alpha", (3,)):
        mutual_coherence(torch.ones(3))
