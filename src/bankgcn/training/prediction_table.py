"""Predictions as a table, beside the truth where it is known."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.cli.output import open_output
from bankgcn.data.graphs import GraphSet
from bankgcn.metrics import METRICS
from bankgcn.tasks import TASKS, Task

Columns = list[tuple[str, Sequence[str]]]  # not a dict: names of targets are the user's, and two may be equal


def prediction_columns(task: Task, mean: Tensor, spread: Tensor | None, graphs: GraphSet) -> Columns:
    """The columns of the table: predictions, their spread over several models, and the truth.

    Args:
        task: What was learned.
        mean: Mean prediction of the models, shape ``(num_graphs, out_channels)``.
        spread: Standard deviation over the models, if there are several.
        graphs: The graphs, with or without targets.
    """
    prefix = "" if task.kind == "values" else "p_"
    columns: Columns = []
    if task.kind == "classes":
        columns.append(("predicted", [task.names[number] for number in mean.argmax(1).tolist()]))
    columns += [(f"{prefix}{name}", _numbers(column)) for name, column in zip(task.names, mean.T, strict=True)]
    if spread is not None:
        columns += [(f"{prefix}{name}_sd", _numbers(column)) for name, column in zip(task.names, spread.T, strict=True)]
    if graphs.y is None:
        return columns
    if graphs.classes:
        return [*columns, ("class", [graphs.classes[number] for number in graphs.y.tolist()])]
    true = torch.from_numpy(_matrix(graphs.y))
    names = _targets(task, graphs)
    return columns + [(f"{name}_true", _numbers(column)) for name, column in zip(names, true.T, strict=True)]


def scores(task: Task, mean: Tensor, graphs: GraphSet) -> tuple[dict[str, float], str]:
    """Every metric of the task by its label, or none and the reason why."""
    if graphs.y is None or not len(graphs):
        return {}, ""
    y, problem = _truth(task, graphs)
    if y is None:
        return {}, problem
    names = [name for name in TASKS[task.kind].metrics if name != "roc_auc" or len(task.names) == 2]
    return {METRICS[name].label: task.score_predictions(mean, y, name) for name in names}, ""


def write_table(path: Path, columns: Columns) -> None:
    """Write columns as CSV."""
    write_rows(path, [name for name, _ in columns], zip(*(cells for _, cells in columns), strict=True))


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a header and rows as CSV."""
    with open_output(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        table = csv.writer(text, lineterminator="\n")
        table.writerow(header)
        table.writerows(rows)
        text.flush()
        text.detach()


def _truth(task: Task, graphs: GraphSet) -> tuple[NDArray | None, str]:
    """The targets in the order of the outputs: files may number classes, or order columns, in another way."""
    assert graphs.y is not None
    if bool(graphs.classes) != (task.kind == "classes"):
        return None, f"the model predicts {task.kind}, and the targets of these graphs are of another kind"
    own = graphs.classes or _targets(task, graphs)
    wanted = sorted({own[number] for number in graphs.y.tolist()}) if graphs.classes else task.names
    unknown = [name for name in wanted if name not in (task.names if graphs.classes else own)]
    if unknown and graphs.classes:
        return None, f"the model does not know the classes {', '.join(unknown)}"
    if unknown:
        return None, f"these graphs have no target {', '.join(unknown)}"
    if graphs.classes:
        return np.array([task.names.index(own[number]) for number in graphs.y.tolist()], np.int64), ""
    return _matrix(graphs.y)[:, [own.index(name) for name in task.names]], ""


def _targets(task: Task, graphs: GraphSet) -> tuple[str, ...]:
    """Names of the numbers that graphs have as targets; without names, those of the model if they are as many."""
    assert graphs.y is not None
    width = _matrix(graphs.y).shape[1]
    own = task.names if len(task.names) == width else tuple(f"y{column}" for column in range(width))
    return graphs.targets or own


def _matrix(y: NDArray) -> NDArray:
    """Numbers with a column for each target."""
    return y if y.ndim == 2 else y[:, None]


def _numbers(column: Tensor) -> list[str]:
    """Numbers as text; an unknown one is an empty cell."""
    return ["" if value != value else f"{value:.6g}" for value in column.tolist()]
