"""Predictions as columns of a table, and the truth as the model orders it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected
from bankgcn.data.target_values import Targets, find_targets, match_targets, name_of_class, scalar, target_names
from bankgcn.data.targets import encode_columns, fill_targets
from bankgcn.files.tables import Columns, TextTable, number_cells
from bankgcn.messages import Message, Option
from bankgcn.tasks import Task

SHOWN = 5  # unknown classes in a message


def prediction_columns(task: Task, mean: Tensor, spread: Tensor | None = None) -> Columns:
    """The columns of predictions, and of their spread over several models.

    Labels are decided where a threshold was chosen for them; otherwise the columns have their probabilities alone.

    Args:
        task: What was learned.
        mean: Mean prediction of the models, shape ``(num_graphs, out_channels)``.
        spread: Standard deviation over the models, if there are several.
    """
    prefix = "predicted_" if task.kind == "values" else "p_"
    columns: Columns = []
    if task.kind == "classes":
        columns.append(("predicted", [task.names[number] for number in task.decide(mean).tolist()]))
    if task.kind == "labels" and task.thresholds:
        decided = task.decide(mean).T.tolist()
        columns += [(f"predicted_{name}", answers) for name, answers in zip(task.names, decided, strict=True)]
    columns += [(f"{prefix}{name}", column.tolist()) for name, column in zip(task.names, mean.T, strict=True)]
    if spread is not None:
        columns += [(f"{prefix}{name}_sd", column.tolist()) for name, column in zip(task.names, spread.T, strict=True)]
    return columns


def true_columns(task: Task, graphs: GraphSet | Targets) -> Columns:
    """The columns of the targets of graphs; none if they are unknown."""
    if graphs.y is None:
        return []
    if graphs.classes:
        return [("class", [graphs.classes[number] for number in graphs.y.tolist()])]
    names = target_names(graphs.y, graphs.targets, task.names)
    columns: NDArray = graphs.y.T if graphs.y.ndim == 2 else graphs.y[None]
    return [(f"{name}_true", number_cells(column)) for name, column in zip(names, columns, strict=True)]


def name_columns(graphs: GraphSet, numbers: Sequence[int]) -> Columns:
    """The row of each graph in its source, counted from 0, and its id and name if it has them."""
    columns: Columns = [("graph", graphs.rows[numbers].tolist())]
    if graphs.ids is not None:
        columns.append(("id", [graphs.ids[number] for number in numbers]))
    return columns if graphs.names is None else [*columns, ("name", [graphs.names[number] for number in numbers])]


def true_targets(task: Task, graphs: GraphSet | Targets) -> NDArray:
    """The targets in the order of the outputs: files may number classes, or order columns, in another way.

    Raises:
        ValueError: The graphs have no targets, or others than the model's.
    """
    if graphs.y is None:
        raise ValueError("these graphs have no targets")
    if bool(graphs.classes) != (task.kind == "classes"):
        raise ValueError(f"the model predicts {task.kind}, and the targets of these graphs are of another kind")
    if graphs.classes:
        return class_numbers(task, [graphs.classes[number] for number in graphs.y.tolist()])
    return match_targets(graphs.y, graphs.targets, task.names)


def class_numbers(task: Task, names: Sequence[str]) -> NDArray[np.int64]:
    """The number of each class in the model.

    Raises:
        ValueError: The model does not know a class.
    """
    place = {name: number for number, name in enumerate(task.names)}
    unknown = sorted(set(names) - set(place))
    if unknown:
        count = sum(name in unknown for name in names)
        listed = ", ".join(unknown[:SHOWN]) + (", ..." if len(unknown) > SHOWN else "")
        raise ValueError(
            f"{count:,} of {len(names):,} graphs have a class that no training graph has: {listed}; "
            f"the model knows {', '.join(task.names)}; leave these graphs out, or train again with such graphs"
        )
    return np.array([place[name] for name in names], np.int64)


def table_targets(
    task: Task, table: TextTable, names: Sequence[str], fill_missing: str | None = None
) -> tuple[list[int], NDArray]:
    """The rows of a table with a known target, and these targets in the order of the model's outputs.

    Args:
        task: What the model predicts; columns are matched with its names.
        table: The table.
        names: The columns of the targets.
        fill_missing: The target of rows without one.

    Raises:
        ValueError: The targets do not fit the model.
    """
    if task.kind == "classes" and len(names) > 1:
        named = Option("target", ",".join(names))
        raise ValueError(Message("the model predicts one class, but {named} names several targets", named=named))
    columns = names if task.kind == "classes" else [names[place] for place in find_targets(names, task.names)]
    table = fill_targets(table, columns, fill_missing)
    cells = list(zip(*(map(scalar, table.column(name)) for name in columns), strict=True))
    known = [row for row, values in enumerate(cells) if any(value is not None for value in values)]
    if task.kind == "classes":
        return known, class_numbers(task, [name_of_class(cells[row][0]) for row in known])
    encode_columns(table.take(known), columns, Expected(task=task.kind))  # or an error with the line
    y = np.array([cells[row] for row in known], np.float64)  # None is NaN; single precision would round the table's
    return known, y.reshape(len(known), len(columns))
