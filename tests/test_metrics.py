"""Metrics against scikit-learn's."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from bankgcn.metrics import (
    METRICS,
    accuracy,
    average_precision,
    confusion_matrix,
    macro_f1,
    mae,
    mean_roc_auc,
    r2,
    rmse,
    roc_auc,
)

GUESSES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-3, 3)), min_size=2, max_size=40))
def test_roc_auc_equals_scikit_learns_with_ties(pairs: list[tuple[int, int]]) -> None:
    y = torch.tensor([label for label, _ in pairs])
    logits = torch.tensor([[0.0, float(margin)] for _, margin in pairs])
    if y.unique().numel() < 2:
        assert math.isnan(roc_auc(logits, y))
    else:
        assert roc_auc(logits, y) == pytest.approx(metrics.roc_auc_score(y, logits.softmax(1)[:, 1]), abs=1e-12)


@given(GUESSES)
def test_accuracy_and_confusion_equal_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    y, guess = (torch.tensor(column) for column in zip(*pairs, strict=True))
    logits = torch.nn.functional.one_hot(guess, 4).double()
    assert accuracy(logits, y) == pytest.approx(metrics.accuracy_score(y, guess))
    np.testing.assert_array_equal(confusion_matrix(logits, y), metrics.confusion_matrix(y, guess, labels=range(4)))


@given(GUESSES)
def test_macro_f1_equals_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    y, guess = (torch.tensor(column) for column in zip(*pairs, strict=True))
    logits = torch.nn.functional.one_hot(guess, 4).double()
    assert macro_f1(logits, y) == pytest.approx(metrics.f1_score(y, guess, average="macro"))


def test_roc_auc_is_for_two_classes() -> None:
    with pytest.raises(ValueError, match="logits for 3"):
        roc_auc(torch.zeros(4, 3), torch.tensor([0, 1, 0, 1]))


@given(st.integers(0, 10_000))
def test_errors_of_values_are_means_over_the_targets_of_their_known_entries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, guess = rng.normal(size=(2, 12, 3))
    y[rng.random(y.shape) < 0.3] = np.nan
    y[:2] = rng.normal(size=(2, 3))  # each target is known twice at least
    by_target = [(guess[~np.isnan(y[:, t]), t], y[~np.isnan(y[:, t]), t]) for t in range(3)]
    outputs, targets = torch.from_numpy(guess), torch.from_numpy(y)
    expected = {
        mae: np.mean([metrics.mean_absolute_error(true, value) for value, true in by_target]),
        rmse: np.mean([metrics.root_mean_squared_error(true, value) for value, true in by_target]),
        r2: np.mean([metrics.r2_score(true, value) for value, true in by_target]),
    }
    for metric, figure in expected.items():
        assert metric(outputs, targets) == pytest.approx(figure, rel=1e-9)


def test_one_value_may_come_without_a_dimension_for_targets() -> None:
    assert mae(torch.tensor([[1.0], [5.0]]), torch.tensor([2.0, 2.0])) == 2.0


def test_a_constant_target_has_no_variance_to_explain() -> None:
    assert math.isnan(r2(torch.tensor([[1.0], [2.0]]), torch.tensor([3.0, 3.0])))


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, math.nan]), st.integers(-2, 2)), min_size=1, max_size=30))
def test_scores_of_a_label_equal_scikit_learns_with_ties(pairs: list[tuple[float, int]]) -> None:
    y = torch.tensor([[answer] for answer, _ in pairs])
    logits = torch.tensor([[float(logit)] for _, logit in pairs])
    known = ~y[:, 0].isnan()
    if y[known].unique().numel() < 2:
        assert math.isnan(mean_roc_auc(logits, y))
        assert math.isnan(average_precision(logits, y))
        return
    true, guess = y[known, 0].numpy(), logits[known, 0].numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert mean_roc_auc(logits, y) == pytest.approx(metrics.roc_auc_score(true, guess))
        assert average_precision(logits, y) == pytest.approx(metrics.average_precision_score(true, guess))


def test_labels_with_one_answer_are_left_out_of_the_mean() -> None:
    y = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    assert mean_roc_auc(torch.tensor([[2.0, 0.0], [1.0, 0.0]]), y) == 1.0


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_knows_its_direction_and_its_worst_value(name: str) -> None:
    metric = METRICS[name]
    assert metric.improves(0.4, 0.5) is not metric.higher_is_better
    assert not metric.improves(metric.worst, 0.5)
    assert metric.improves(0.5, metric.worst)
    assert metric.improves(0.5, math.nan)
    assert not metric.improves(math.nan, 0.5)
    assert not metric.improves(math.nan, math.nan)


@pytest.mark.parametrize("num_classes", [2, 4])
def test_matthews_correlation_is_that_of_scikit_learn(num_classes: int) -> None:
    rng = np.random.default_rng(num_classes)
    y, logits = rng.integers(num_classes, size=80), torch.from_numpy(rng.normal(size=(80, num_classes)))
    expected = metrics.matthews_corrcoef(y, logits.argmax(1))
    assert METRICS["mcc"].score(logits, torch.from_numpy(y)) == pytest.approx(expected)
    same = torch.eye(num_classes)[[0] * 80]
    assert METRICS["mcc"].score(same, torch.from_numpy(y)) == 0


def test_matthews_correlation_of_labels_is_the_mean_over_those_with_both_answers() -> None:
    rng = np.random.default_rng(0)
    y, logits = rng.integers(2, size=(50, 3)).astype(float), rng.normal(size=(50, 3))
    y[:20, 0], y[:, 2] = np.nan, 1.0
    known = [metrics.matthews_corrcoef(y[f:, c], logits[f:, c] >= 0) for c, f in ((0, 20), (1, 0))]
    assert METRICS["mcc"].score(torch.from_numpy(logits), torch.from_numpy(y)) == pytest.approx(np.mean(known))


@pytest.mark.parametrize("flipped", [False, True])
def test_the_average_precision_of_two_classes_is_that_of_the_rarer_one(flipped: bool) -> None:
    rng = np.random.default_rng(1)
    y, score = (rng.random(200) < 0.1).astype(int), rng.normal(size=200)
    expected = metrics.average_precision_score(y, score)
    logits = torch.from_numpy(np.stack([-score, score], 1))
    found = METRICS["average_precision"].score(
        logits.flip(1) if flipped else logits, torch.from_numpy(1 - y if flipped else y)
    )
    assert found == pytest.approx(expected)
