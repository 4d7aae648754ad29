"""Predictions as columns, and the targets in the order of the model's outputs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bankgcn.data import GraphSet
from bankgcn.tasks import Task
from bankgcn.training.evaluation import name_columns, prediction_columns, true_columns, true_targets
from refusals import refused

TWO = Task(kind="values", names=("a", "b"), center=(0, 0), scale=(1, 1))


def graphs_with(y: list, **options: object) -> GraphSet:
    return GraphSet.from_edges([1] * len(y), np.zeros((2, 0), int), y=np.array(y), **options)


def test_values_have_names_of_their_own_beside_the_columns_of_the_input() -> None:
    mean = torch.tensor([[1.0, 2.0], [4.0, 5.0]])
    columns = prediction_columns(TWO, mean, mean / 10)
    assert [name for name, _ in columns] == ["predicted_a", "predicted_b", "predicted_a_sd", "predicted_b_sd"]
    assert [cells[0] for _, cells in columns] == pytest.approx([1.0, 2.0, 0.1, 0.2])


def test_classes_have_the_most_probable_one_and_all_probabilities() -> None:
    columns = prediction_columns(Task(names=("no", "yes")), torch.tensor([[0.25, 0.75], [1.0, 0.0]]))
    assert columns == [("predicted", ["yes", "no"]), ("p_no", [0.25, 1.0]), ("p_yes", [0.75, 0.0])]


def test_targets_of_any_number_are_shown_and_unknown_ones_are_empty() -> None:
    three = graphs_with([[7.0, np.nan, 9.0]])
    assert true_columns(TWO, three) == [("y0_true", [7.0]), ("y1_true", [None]), ("y2_true", [9.0])]
    assert true_columns(TWO, graphs_with([0], classes=["x"])) == [("class", ["x"])]
    assert true_columns(TWO, GraphSet.from_edges([1], np.zeros((2, 0), int))) == []


def test_names_of_graphs_stand_beside_their_numbers() -> None:
    assert name_columns(graphs_with([0, 0, 0]), [2, 0]) == [("graph", [2, 0])]
    named = graphs_with([0, 0, 0], names=["x", "y", "z"])
    assert name_columns(named, [2, 0]) == [("graph", [2, 0]), ("name", ["z", "x"])]
    skipping = graphs_with([0, 0, 0], skipped=[(1, "unreadable")])
    assert name_columns(skipping, [2, 0]) == [("graph", [3, 0])]


def test_targets_are_matched_by_name() -> None:
    assert true_targets(TWO, graphs_with([[2.0, 1.0]], targets=("b", "a"))).tolist() == [[1.0, 2.0]]
    assert true_targets(TWO, graphs_with([[1.0, 4.0]])).tolist() == [[1.0, 4.0]]
    one = Task(kind="values", names=("a",), center=(0,), scale=(1,))
    assert true_targets(one, graphs_with([2.5], targets=("other",))).tolist() == [[2.5]]


def test_classes_are_matched_by_name() -> None:
    task = Task(names=("a", "b", "c"))
    assert true_targets(task, graphs_with([0, 1, 1], classes=["c", "a"])).tolist() == [2, 0, 0]
    with refused(ValueError, "2 of 3 graphs", "x", "a, b, c"):
        true_targets(task, graphs_with([0, 1, 1], classes=["c", "x"]))


def test_targets_that_do_not_fit_are_refused() -> None:
    with refused(ValueError, "a, b", "y0, y1, y2"):
        true_targets(TWO, graphs_with([[7.0, 8.0, 9.0]]))
    with pytest.raises(ValueError, match="the model predicts values, and the targets of these graphs are of another"):
        true_targets(TWO, graphs_with([0], classes=["x"]))
    with pytest.raises(ValueError, match="these graphs have no targets"):
        true_targets(TWO, GraphSet.from_edges([1], np.zeros((2, 0), int)))
