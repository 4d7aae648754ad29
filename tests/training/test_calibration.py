"""The temperature, against the likelihood that it maximises."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bankgcn.tasks import Task
from bankgcn.training.calibration import fit_temperature

TWO = Task(names=("a", "b"))


def test_a_temperature_that_was_applied_is_found_again() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(20_000, 3, generator=generator)
    y = torch.multinomial(logits.softmax(1), 1, generator=generator)[:, 0].numpy()
    assert fit_temperature(Task(names=("a", "b", "c")), 3 * logits, y) == pytest.approx(3, rel=0.05)
    assert fit_temperature(Task(names=("a", "b", "c")), logits / 2, y) == pytest.approx(0.5, rel=0.05)


def test_labels_count_only_where_they_are_known() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(20_000, 2, generator=generator)
    y = torch.bernoulli(logits.sigmoid(), generator=generator).numpy()
    y[::2, 0] = np.nan
    labels = Task(kind="labels", names=("a", "b"))
    assert fit_temperature(labels, 2 * logits, y) == pytest.approx(2, rel=0.05)


def test_the_prior_keeps_the_temperature_finite_where_all_predictions_are_correct() -> None:
    logits = torch.tensor([[3.0, 0.0], [0.0, 3.0]])
    few = fit_temperature(TWO, logits, np.array([0, 1]))
    many = fit_temperature(TWO, logits.repeat(500, 1), np.array([0, 1] * 500))
    assert 0.3 < few < 1
    assert 0.05 <= many < few


def test_values_have_no_temperature() -> None:
    values = Task(kind="values", names=("v",), center=(0,), scale=(1,))
    assert fit_temperature(values, torch.tensor([[1.0]]), np.array([2.0])) == 1
    assert fit_temperature(TWO, torch.empty(0, 2), np.empty(0, np.int64)) == 1
