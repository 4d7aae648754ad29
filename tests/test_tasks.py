"""Tasks: targets, losses, predictions in the user's units, scores."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from bankgcn.metrics import METRICS
from bankgcn.tasks import TASKS, Task, kind_of
from refusals import refused

NAN = math.nan


def test_integers_are_classes_columns_of_answers_are_labels_and_the_rest_values() -> None:
    assert kind_of(np.array([0, 2, 1])) == "classes"
    assert kind_of(np.array([[0, NAN], [1, 1]], np.float32)) == "labels"
    assert kind_of(np.array([[0, 0.5], [1, 1]], np.float32)) == "values"
    assert kind_of(np.array([0.0, 1.0], np.float32)) == "values"


def test_values_are_learned_in_standard_units_and_predicted_in_the_users() -> None:
    y = np.array([[1.0, 100.0], [3.0, NAN], [5.0, 300.0]], np.float32)
    task = Task.fitted(y, ("a", "b"))
    assert task.kind == "values"
    assert task.center == pytest.approx((3.0, 200.0))
    assert task.scale == pytest.approx((np.std([1, 3, 5]), 100.0))
    targets = task.targets(y)
    torch.testing.assert_close(targets[:, 1], torch.tensor([-1.0, NAN, 1.0], dtype=torch.float32), equal_nan=True)
    torch.testing.assert_close(task.predictions(targets).float(), torch.from_numpy(y), equal_nan=True)


@pytest.mark.parametrize("kind", ["values", "labels"])
def test_whole_numbers_are_targets_as_the_same_numbers_with_a_point_are(kind: str) -> None:
    y, task = np.array([0, 1, 1]), Task(kind=kind, names=("y",), center=(0.5,), scale=(0.4,))
    targets = task.targets(y)
    assert torch.equal(targets, task.targets(y.astype(float)))
    assert task.task_loss(torch.zeros(3, 1), targets) > 0


def test_large_values_are_standardised_without_rounding_their_center() -> None:
    y = (1e6 + 0.0625 * np.arange(10)).astype(np.float32)
    task = Task.fitted(y, ("y",))
    back = task.predictions(task.targets(y)).flatten()
    torch.testing.assert_close(back, torch.from_numpy(y.astype(np.float64)), rtol=0, atol=1e-6)


def test_a_constant_value_is_learned_without_dividing_by_zero() -> None:
    task = Task.fitted(np.full((4, 1), 7.0, np.float32), ())
    assert task.names == ("y",)
    assert task.targets(np.full((4, 1), 7.0)).abs().max() == 0


def test_errors_are_scored_in_the_users_units() -> None:
    task = Task.fitted(np.array([0.0, 10.0, 20.0], np.float32), ("gap",), metric="rmse")
    outputs = task.targets(np.array([3.0, 14.0]))
    assert task.score(outputs, np.array([0.0, 10.0])) == pytest.approx(math.sqrt((9 + 16) / 2))
    assert task.score(outputs, np.array([0.0, 10.0]), "mae") == pytest.approx(3.5)
    assert task.score_predictions(task.predictions(outputs), np.array([0.0, 10.0])) == pytest.approx(math.sqrt(12.5))


@pytest.mark.parametrize(("kind", "loss"), [(kind, loss) for kind, row in TASKS.items() for loss in row.losses])
def test_losses_ignore_unknown_entries_and_have_finite_gradients(kind: str, loss: str) -> None:
    if kind == "classes":
        return
    outputs = torch.randn(5, 2, requires_grad=True)
    targets = torch.tensor([[0.0, 1.0], [1.0, NAN], [NAN, NAN], [0.0, 0.0], [NAN, 1.0]])
    task = Task(kind=kind, names=("a", "b"), loss=loss, center=(0.0, 0.0), scale=(1.0, 1.0))
    value = task.task_loss(outputs, targets)
    known = ~targets.isnan()
    oracle = {
        "squared_error": lambda o, t: (o - t) ** 2,
        "absolute_error": lambda o, t: abs(o - t),
        "binary_cross_entropy": lambda o, t: math.log1p(math.exp(-o if t else o)),
    }[loss]
    pairs = zip(outputs[known].tolist(), targets[known].tolist(), strict=True)
    assert value.item() == pytest.approx(np.mean([oracle(o, t) for o, t in pairs]))
    value.backward()
    assert outputs.grad is not None
    assert outputs.grad.isfinite().all()
    assert (outputs.grad[~known] == 0).all()


def test_a_batch_without_known_entries_has_no_loss() -> None:
    task = Task(kind="labels", names=("a",))
    assert task.task_loss(torch.randn(3, 1), torch.full((3, 1), NAN)) == 0


def test_classes_are_scored_by_their_logits_and_predicted_as_probabilities() -> None:
    task = Task(names=("no", "yes"))
    logits, y = torch.tensor([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]]), np.array([0, 1, 1])
    assert task.task_loss(logits, task.targets(y)).item() == pytest.approx(F.cross_entropy(logits, torch.tensor(y)))
    assert task.score(logits, y) == pytest.approx(2 / 3)
    probabilities = task.predictions(logits)
    torch.testing.assert_close(probabilities, logits.softmax(1).double())
    for metric in TASKS["classes"].metrics:
        assert task.score_predictions(probabilities, y, metric) == pytest.approx(task.score(logits, y, metric))


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("wrong", [NAN, math.inf])
def test_outputs_that_are_not_finite_have_no_score(wrong: float, kind: str) -> None:
    task = Task(kind=kind, names=("a", "b"), center=(0.0, 0.0), scale=(1.0, 1.0))
    y = torch.tensor([0, 0, 1, 1]) if kind == "classes" else torch.tensor([[0.0, 1.0], [1.0, 0.0]] * 2)
    outputs = torch.full((4, 2), 0.5)
    for metric in TASKS[kind].metrics:
        assert math.isfinite(task.score(outputs, y, metric))
        assert math.isfinite(task.score_predictions(outputs, y, metric))
    outputs[3, 1] = wrong
    for metric in TASKS[kind].metrics:
        assert math.isnan(task.score(outputs, y, metric))
        assert math.isnan(task.score_predictions(outputs, y, metric))


def test_a_task_survives_json() -> None:
    task = Task.fitted(np.array([[1.0, 2.0], [0.3, NAN]], np.float32), ("a", "b"), metric="r2")
    assert Task(**json.loads(json.dumps(task.to_dict()))) == task


def test_every_metric_of_a_task_is_a_row() -> None:
    assert {name for row in TASKS.values() for name in row.metrics} == set(METRICS)


def test_what_does_not_fit_the_targets_is_refused() -> None:
    with refused(ValueError, "metric", "classes", "'mae'"):
        Task(names=("no", "yes"), metric="mae")
    with refused(ValueError, "loss", "values"):
        Task(kind="values", names=("a",), loss="cross_entropy")
    with refused(ValueError, 3, metric="roc_auc"):
        Task(names=("a", "b", "c"), metric="roc_auc")
    with refused(ValueError, task="values"):
        Task.fitted(np.array([0, 1]), ("no", "yes"), "values")
    with refused(ValueError, "'b'", 2):
        Task.fitted(np.array([[0.0, 2.0]]), ("a", "b"), "labels")
    with pytest.raises(ValueError, match="target 'b' is unknown for every training graph"):
        Task.fitted(np.array([[0.0, NAN]]), ("a", "b"))


@pytest.mark.parametrize("loss", [name for row in TASKS.values() for name in row.losses])
def test_a_weight_counts_how_often_a_graph_is_in_the_mean(loss: str) -> None:
    kind = next(kind for kind, row in TASKS.items() if loss in row.losses)
    task = Task(kind=kind, names=("a", "b"), loss=loss, center=(0.0, 0.0), scale=(1.0, 1.0))
    outputs, repeats = torch.randn(4, 2), torch.tensor([3, 0, 1, 2])
    known = torch.tensor([[0.0, NAN], [1.0, 1.0], [NAN, NAN], [1.0, 0.0]])
    targets = torch.tensor([0, 1, 1, 0]) if kind == "classes" else known
    expected = task.task_loss(outputs.repeat_interleave(repeats, 0), targets.repeat_interleave(repeats, 0))
    torch.testing.assert_close(task.task_loss(outputs, targets, repeats.double()), expected)
    assert task.task_loss(outputs, targets, torch.zeros(4)) == 0


def test_a_threshold_decides_and_scores_follow_it_but_ranks_do_not() -> None:
    two, y = Task(names=("no", "yes")), np.array([0, 0, 1, 1])
    low = replace(two, thresholds=(0.1,))
    probabilities = torch.tensor([[0.99, 0.01], [0.95, 0.05], [0.8, 0.2], [0.9, 0.1]])
    assert two.decide(probabilities).tolist() == [0, 0, 0, 0]
    assert low.decide(probabilities).tolist() == [0, 0, 1, 1]  # 0.1 is reached
    assert (two.score_predictions(probabilities, y), low.score_predictions(probabilities, y)) == (0.5, 1.0)
    assert low.score_predictions(probabilities, y, "mcc") == 1
    assert low.score_predictions(probabilities, y, "roc_auc") == two.score_predictions(probabilities, y, "roc_auc")


def test_each_label_has_its_threshold() -> None:
    labels = Task(kind="labels", names=("a", "b"), thresholds=(0.2, 0.8))
    assert labels.decide(torch.tensor([[0.3, 0.7], [0.1, 0.9]])).tolist() == [[1, 0], [0, 1]]
    y = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert labels.score_predictions(torch.tensor([[0.3, 0.7], [0.1, 0.9]]), y, "mcc") == 1


@pytest.mark.parametrize(
    ("kind", "names", "thresholds", "named"),
    [
        ("classes", "abc", (0.3,), ("1 thresholds", 0, "classes")),
        ("labels", "abc", (0.3,), ("1 thresholds", 3, "labels")),
        ("values", "a", (0.3,), ("1 thresholds", 0, "values")),
        ("classes", "ab", (math.nan,), ("threshold", "nan", 0, 1)),
        ("classes", "ab", ("0.3",), ("threshold", "'0.3'")),
        ("classes", "ab", (0.0,), ("threshold", 0.0)),
    ],
)
def test_thresholds_that_fit_no_task_are_refused(kind: str, names: str, thresholds: tuple, named: tuple) -> None:
    with refused(ValueError, *named):
        Task(kind=kind, names=tuple(names), thresholds=thresholds)


def test_a_task_without_thresholds_is_written_as_versions_without_them_did() -> None:
    two = Task(names=("no", "yes"))
    assert set(two.to_dict()) == {"kind", "names", "loss", "metric", "center", "scale"}
    chosen = replace(two, thresholds=(0.25,))
    assert Task(**chosen.to_dict()) == chosen
