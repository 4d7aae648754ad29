"""The targets of a table to which a model is applied, as the model orders them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.options import Expected
from bankgcn.data.target_values import find_targets, name_of_class, scalar
from bankgcn.data.targets import encode_columns, fill_targets
from bankgcn.files.tables import TextTable
from bankgcn.messages import Message, Option
from bankgcn.tasks import Task
from bankgcn.training.predict import class_numbers


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
