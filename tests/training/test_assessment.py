"""How good predictions are, against scikit-learn and closed forms."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from sklearn import metrics
from sklearn.metrics import matthews_corrcoef

from bankgcn.tasks import Task
from bankgcn.training.assessment import (
    Assessment,
    assess,
    best_threshold,
    constant_prediction,
    fit_temperature,
    fit_thresholds,
)

THREE = Task(names=("a", "b", "c"))
VALUE = Task(kind="values", names=("v",), center=(0,), scale=(1,))


def test_recall_and_confusions_are_those_of_the_confusion_matrix() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    predictions = torch.from_numpy(rng.dirichlet(np.ones(3), size=60))
    found = assess(THREE, predictions, y)
    guess = predictions.argmax(1).numpy()
    counts = metrics.confusion_matrix(y, guess)
    assert [row.graphs for row in found.classes] == counts.sum(1).tolist()
    assert [row.recall for row in found.classes] == pytest.approx(metrics.recall_score(y, guess, average=None))
    assert found.scores["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(y, guess))
    others = {"b": counts[0, 1], "c": counts[0, 2]}
    assert found.classes[0].mistaken_for == others
    assert list(found.classes[0].mistaken_for.values()) == sorted(others.values(), reverse=True)


def test_the_baseline_names_the_largest_class_of_the_training_graphs() -> None:
    constant = constant_prediction(THREE, np.array([1, 1, 1, 0]))
    assert constant == (0.25, 0.75, 0.0)
    y = np.array([0, 0, 0, 1])
    found = assess(THREE, torch.eye(3)[torch.tensor([1, 1, 1, 1])], y, constant)
    assert (found.baseline, found.baseline_score, found.score) == ("always 'b'", 0.25, 0.25)
    assert not found.beats_baseline
    assert assess(THREE, torch.eye(3)[y], y, constant).beats_baseline


def test_values_are_compared_with_the_mean_of_the_training_graphs() -> None:
    constant = constant_prediction(VALUE, np.array([1.0, 3.0, np.nan], np.float32))
    assert constant == (2.0,)
    found = assess(VALUE, torch.tensor([[1.0], [5.0]]), np.array([[1.0], [4.0]]), constant)
    assert (found.score, found.baseline_score) == (0.5, 1.5)
    assert found.beats_baseline  # a smaller error is better
    assert found.classes == ()


def test_labels_are_compared_with_their_shares_which_rank_nothing() -> None:
    labels = Task(kind="labels", names=("x", "y"))
    y = np.array([[1, 0], [0, 1], [1, np.nan]])
    found = assess(labels, torch.tensor([[0.9, 0.2], [0.1, 0.7], [0.8, 0.4]]), y)
    assert (found.score, found.baseline_score) == (1.0, 0.5)


def test_the_interval_is_that_of_the_binomial_distribution_for_accuracy() -> None:
    y = np.zeros(400, np.int64)
    correct = torch.arange(400) % 5 > 0  # 80 %
    predictions = torch.where(correct[:, None], torch.tensor([[1.0, 0, 0]]), torch.tensor([[0, 1.0, 0]]))
    found = assess(THREE, predictions, y)
    error = 1.96 * np.sqrt(0.8 * 0.2 / 400)
    assert found.interval == pytest.approx((0.8 - error, 0.8 + error), abs=0.006)
    assert found.interval == assess(THREE, predictions, y).interval  # the samples are always the same


def test_scores_that_do_not_exist_are_unknown() -> None:
    two = Task(names=("a", "b"), metric="roc_auc")
    found = assess(two, torch.tensor([[0.1, 0.9], [0.2, 0.8]]), np.array([1, 1]))
    assert (found.score, found.interval, found.baseline_score) == (None, None, None)
    assert found.classes[0].recall is None
    with pytest.raises(ValueError, match="0 graphs with known targets"):
        assess(two, torch.empty(0, 2), np.empty(0, np.int64))


def test_an_assessment_survives_json() -> None:
    found = assess(THREE, torch.eye(3), np.array([0, 1, 1]))
    assert Assessment.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False))) == found


def test_each_label_has_the_scores_of_scikit_learn_on_its_known_answers() -> None:
    rng = np.random.default_rng(3)
    labels = Task(kind="labels", names=("x", "y"), thresholds=(0.4, 0.7))
    y, p = rng.integers(2, size=(80, 2)).astype(float), rng.random((80, 2))
    y[:30, 1] = np.nan
    found = assess(labels, torch.from_numpy(p), y)
    for column, row in enumerate(found.targets):
        known = ~np.isnan(y[:, column])
        true, probability = y[known, column], p[known, column]
        assert (row.name, row.graphs, row.positive) == ("xy"[column], known.sum(), true.sum())
        assert row.threshold == labels.thresholds[column]
        assert row.scores["roc_auc"] == pytest.approx(metrics.roc_auc_score(true, probability))
        assert row.scores["average_precision"] == pytest.approx(metrics.average_precision_score(true, probability))
        assert row.scores["mcc"] == pytest.approx(metrics.matthews_corrcoef(true, probability >= row.threshold))
        assert row.baseline_scores["average_precision"] == pytest.approx(true.mean())
    assert found.score == pytest.approx(np.mean([row.scores["roc_auc"] for row in found.targets]))
    plain = json.loads(json.dumps(found.to_dict()))
    assert "classes" not in plain  # there are none
    assert Assessment.from_dict(plain) == found


def test_values_in_different_units_have_errors_of_their_own_beside_the_constant_prediction() -> None:
    task = Task(kind="values", names=("grams", "rings"), center=(0, 0), scale=(1, 1))
    y = np.array([[100.0, 1.0], [300.0, 3.0], [500.0, np.nan]])
    found = assess(task, torch.tensor([[110.0, 3.0], [290.0, 1.0], [510.0, 0.0]]).double(), y, (300.0, 2.0))
    grams, rings = found.targets
    assert grams.scores == pytest.approx({"mae": 10, "rmse": 10, "r2": 1 - 300 / 80000})
    assert grams.baseline_scores["mae"] == pytest.approx(400 / 3)
    assert rings.graphs == 2
    assert rings.scores == pytest.approx({"mae": 2, "rmse": 2, "r2": -3})
    assert rings.baseline_scores["mae"] == 1
    assert (rings.positive, rings.threshold) == (None, None)
    assert found.warnings() == ["the MAE of 1 of 2 targets is not better than that of a constant prediction: rings"]


def test_classes_are_counted_as_the_threshold_decides_and_the_constant_prediction_stays() -> None:
    y = np.array([0] * 9 + [1])
    p = torch.tensor([[0.95, 0.05]] * 9 + [[0.8, 0.2]])
    likely = assess(Task(names=("a", "b")), p, y)
    chosen = assess(Task(names=("a", "b"), thresholds=(0.01,)), p, y, (0.9, 0.1))
    assert [row.recall for row in likely.classes] == [1, 0]
    assert [row.recall for row in chosen.classes] == [0, 1]
    assert (chosen.threshold, chosen.baseline_score) == (0.01, 0.9)  # always the largest class
    assert chosen.scores["accuracy"] == 0.1
    assert Assessment.from_dict(chosen.to_dict()) == chosen
    assert "threshold" not in likely.to_dict()


def test_what_the_training_did_already_is_not_advised() -> None:
    found = assess(Task(names=("a", "b")), torch.eye(2)[[0] * 10], np.array([0] * 9 + [1]))
    assert 'class_weight="balanced"' in found.warnings()[0]
    assert found.warnings(balanced=True) == ["the model predicts 'a' for all 10 graphs"]


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
