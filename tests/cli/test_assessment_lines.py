"""How good a model is, as a user reads it."""

from __future__ import annotations

import numpy as np
import torch

from bankgcn.cli.run_report import assessment_lines
from bankgcn.tasks import Task
from bankgcn.training.assessment import assess


def test_lines_name_the_baseline_and_each_class_with_what_it_is_mistaken_for() -> None:
    task = Task(names=("a", "long name of a class, which would not fit"))
    lines = assessment_lines(assess(task, torch.eye(2)[[0, 0, 1, 0]], np.array([0, 0, 1, 1]), (0.7, 0.3)))
    assert lines[0].startswith("95 % interval of the accuracy  ")
    assert lines[1] == "accuracy of always 'a'  0.5000"
    assert lines[-3:] == [
        "class                     graphs  recall  mistaken for",
        "a                              2  1.0000",
        "long name of a class,...       2  0.5000  a (1)",
    ]


def test_errors_in_small_units_keep_their_digits() -> None:
    y = np.array([[1.5e-9], [2.5e-9], [3.5e-9]])
    lines = assessment_lines(assess(Task(kind="values", names=("y",)), torch.from_numpy(y + 1e-9), y, (2.5e-9,)))
    assert lines == [
        "95 % interval of the MAE  1e-09 to 1e-09",
        "MAE of the mean of the training graphs  6.6667e-10",
        "RMSE  1e-09",
        "R2  -0.5",
    ]


def test_many_classes_are_cut_and_lines_fit_80_columns() -> None:
    task = Task(names=tuple(f"a class with a rather long name, number {number}" for number in range(30)))
    y = np.arange(300) % 30
    lines = assessment_lines(assess(task, torch.rand(300, 30), y))
    assert lines[-1] == "and 10 more classes"
    assert max(map(len, lines)) <= 80


def test_a_model_that_predicts_one_class_gets_a_warning() -> None:
    task = Task(names=("a", "b"))
    y = np.array([0] * 9 + [1])
    (warning,) = assess(task, torch.eye(2)[[0] * 10], y).warnings()
    assert warning.startswith("the model predicts 'a' for all 10 graphs (class_weight=")
    (warning,) = assess(task, torch.eye(2)[[0] * 10], y).warnings(balanced=True)
    assert warning == "the model predicts 'a' for all 10 graphs"
    (warning,) = assess(task, torch.eye(2)[[1, 1, 0, 0, 0, 0, 0, 0, 0, 0]], y).warnings()
    assert warning == "the accuracy is not better than that of always 'a'"
    assert assess(task, torch.eye(2)[y], y).warnings() == []
