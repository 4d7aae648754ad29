"""The temperature, against the likelihood that it maximises."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import matthews_corrcoef

from bankgcn.tasks import Task
from bankgcn.training.assessment import best_threshold, fit_temperature, fit_thresholds

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


def test_the_threshold_has_the_largest_matthews_correlation() -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(60) < 0.15
    probability = np.round(np.clip(0.1 + 0.15 * positive + 0.1 * rng.normal(size=60), 0.01, 0.99), 2)  # with ties
    found = best_threshold(probability, positive)
    possible = np.unique(probability)
    by_hand = max(matthews_corrcoef(positive, probability >= value) for value in possible)
    assert matthews_corrcoef(positive, probability >= found) == pytest.approx(by_hand)
    assert found not in possible  # it lies between two probabilities


def test_validation_graphs_with_one_answer_or_nothing_to_tell_apart_choose_no_threshold() -> None:
    half = np.array([0.2, 0.4, 0.6, 0.8])
    assert best_threshold(half, np.array([True] * 4)) is None
    assert best_threshold(np.full(4, 0.3), np.array([True, False] * 2)) is None
    assert best_threshold(half, np.array([True, True, False, False])) is None  # every one is worse than guessing


def test_each_label_gets_a_threshold_by_its_known_answers_and_few_of_them_a_note() -> None:
    labels = Task(kind="labels", names=("a", "b", "c"))
    p = np.tile(np.linspace(0.01, 0.6, 60)[:, None], 3)
    y = (p > [0.2, 0.55, 0.595]).astype(float)
    y[:10] = np.nan
    thresholds, notes = fit_thresholds(labels, torch.from_numpy(p), y)
    assert thresholds[:2] == pytest.approx((0.2, 0.555), abs=0.006)
    assert thresholds[2] == 0.5
    assert notes == (
        "the threshold of 'b' is uncertain: it rests on 5 validation graphs of the rarer answer",
        "the threshold of 'c' is 0.5: too few validation graphs (1) have the rarer answer",
    )
