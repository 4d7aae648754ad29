"""The gradient of the diversity term equals autograd's: one pair, ties, opposite filters, filters without direction."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.kernels.ops.coherence import add_coherence_gradient
from bankgcn.nn import mutual_coherence
from strategies import signals


def by_autograd(banks: list[torch.Tensor], scale: float) -> np.ndarray:
    banks = [bank.clone().requires_grad_() for bank in banks]
    (scale * sum(mutual_coherence(bank) for bank in banks)).backward()
    return torch.cat([bank.grad.reshape(-1) for bank in banks]).numpy()


def by_kernel(banks: list[torch.Tensor], scale: float) -> np.ndarray:
    between = 3  # other parameters between the banks
    starts = np.cumsum([0] + [bank.numel() + between for bank in banks[:-1]])
    theta = torch.cat([torch.cat([bank.reshape(-1), torch.full((between,), 9.0)]) for bank in banks]).numpy()
    gradient = np.zeros_like(theta)
    places = np.array([(start, len(bank)) for start, bank in zip(starts, banks, strict=True)])
    add_coherence_gradient(places, banks[0].size(1), theta, scale, gradient)
    parts = [gradient[start : start + bank.numel()] for start, bank in zip(starts, banks, strict=True)]
    assert gradient.sum() == pytest.approx(sum(part.sum() for part in parts))
    return np.concatenate(parts)


@given(st.integers(1, 4), st.lists(st.integers(1, 9), min_size=1, max_size=3), st.integers(0, 99))
def test_equals_autograd(terms: int, filters: list[int], seed: int) -> None:
    banks = [signals(count, terms, seed + number) for number, count in enumerate(filters)]
    np.testing.assert_allclose(by_kernel(banks, 0.7), by_autograd(banks, 0.7), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "bank",
    [
        [[1.0, 0.0], [0.0, 2.0]],
        [[1.0, 2.0], [-2.0, 1.0], [1.0, -2.0]],
        [[1.0, 0.0], [1.0, 1.0], [0.0, 3.0]],
        [[0.0, 0.0], [1.0, 1.0], [1.0, 3.0]],
        [[0.0, 0.0], [0.0, 0.0]],
        [[1e-13, 0.0], [1.0, 0.0]],
    ],
    ids=["orthogonal", "opposite", "two equal pairs", "one without direction", "none with direction", "almost zero"],
)
def test_awkward_banks_equal_autograd(bank: list[list[float]]) -> None:
    banks = [torch.tensor(bank)]
    np.testing.assert_allclose(by_kernel(banks, 1.0), by_autograd(banks, 1.0), rtol=1e-10, atol=1e-12)
