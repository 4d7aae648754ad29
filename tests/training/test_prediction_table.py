"""Predictions as a table, and their scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from bankgcn.cli.prediction_table import prediction_columns, scores, write_table
from bankgcn.data import GraphSet
from bankgcn.tasks import Task


def graphs_with(y: list, **options: object) -> GraphSet:
    return GraphSet.from_edges([1] * len(y), np.zeros((2, 0), int), y=np.array(y), **options)


def test_no_column_is_lost_where_names_are_equal(tmp_path: Path) -> None:
    task = Task(kind="values", names=("name", "a", "a_sd"), center=(0, 0, 0), scale=(1, 1, 1))
    mean = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    graphs = graphs_with([[7.0, 8.0, 9.0], [7.0, 8.0, 9.0]], targets=("name", "a", "a_sd"))
    columns = prediction_columns(task, mean, mean / 10, graphs)
    write_table(tmp_path / "t.csv", [("name", ["x", "y"]), *columns])
    header, first, _ = (tmp_path / "t.csv").read_text().splitlines()
    assert header == "name,name,a,a_sd,name_sd,a_sd,a_sd_sd,name_true,a_true,a_sd_true"
    assert first == "x,1,2,3,0.1,0.2,0.3,7,8,9"


def test_other_targets_than_the_models_are_shown_but_not_scored() -> None:
    task = Task(kind="values", names=("a", "b"), center=(0, 0), scale=(1, 1))
    mean = torch.tensor([[1.0, 2.0]])
    three = graphs_with([[7.0, 8.0, 9.0]])
    assert [name for name, _ in prediction_columns(task, mean, None, three)][2:] == ["y0_true", "y1_true", "y2_true"]
    assert scores(task, mean, three) == ({}, "these graphs have no target a, b")
    assert scores(task, mean, graphs_with([0], classes=["x"]))[0] == {}


def test_targets_are_matched_by_name() -> None:
    task = Task(kind="values", names=("a", "b"), center=(0, 0), scale=(1, 1))
    figures, problem = scores(task, torch.tensor([[1.0, 2.0]]), graphs_with([[2.0, 1.0]], targets=("b", "a")))
    assert (figures["MAE"], problem) == (0.0, "")
    figures, _ = scores(task, torch.tensor([[1.0, 2.0]]), graphs_with([[1.0, 4.0]]))
    assert figures["MAE"] == 1.0


def test_a_table_may_have_no_rows(tmp_path: Path) -> None:
    task = Task(kind="values", names=("a",), center=(0,), scale=(1,))
    none = graphs_with([1.5], targets=("a",))[[]]
    columns = prediction_columns(task, torch.empty(0, 1), None, none)
    write_table(tmp_path / "t.csv", [("name", []), *columns])
    assert (tmp_path / "t.csv").read_text() == "name,a,a_true\n"
    assert scores(task, torch.empty(0, 1), none) == ({}, "")
