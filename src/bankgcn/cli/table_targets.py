"""The targets of a table to which a model is applied: their columns, and their values as the model orders them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.readers.molecule_table import encode_columns, fill_targets, no_targets, target_columns
from bankgcn.data.readers.smiles_table import smiles_column
from bankgcn.data.sources import Source
from bankgcn.data.targets import TaskName, find_targets, name_of_class, scalar
from bankgcn.files.tables import TextTable
from bankgcn.tasks import Task
from bankgcn.training.prediction_table import class_numbers
from bankgcn.training.spec import ReaderOptions


def target_columns_of(
    source: Source, table: TextTable, reader: ReaderOptions, typed: dict[str, Any], part: str | None, needed: bool
) -> list[str]:
    """The columns of the targets: those of the training if the table has them all, or those that were typed."""
    if reader.target is None and part is None and not needed:
        return []  # any column may be anything
    others = [reader.smiles or smiles_column(table)] if "smiles" in source.options else list(table.header[:2])
    others = list(no_targets(table, others, reader.id))
    if reader.target is None or "target" in typed or part is not None or needed:
        return target_columns(table, others, reader.target)
    names = [reader.target] if reader.target in table.header else [name.strip() for name in reader.target.split(",")]
    return names if set(names) <= set(table.header) else []


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
        raise ValueError(f"the model predicts one class, but --target names {', '.join(names)}")
    columns = names if task.kind == "classes" else [names[place] for place in find_targets(names, task.names)]
    table = table if fill_missing is None else fill_targets(table, columns, fill_missing)
    cells = list(zip(*(map(scalar, table.column(name)) for name in columns), strict=True))
    known = [row for row, values in enumerate(cells) if any(value is not None for value in values)]
    if task.kind == "classes":
        return known, class_numbers(task, [name_of_class(cells[row][0]) for row in known])
    encode_columns(table.take(known), columns, cast("TaskName", task.kind), None)  # or an error with the line
    y = np.array([cells[row] for row in known], np.float64)  # None is NaN; single precision would round the table's
    return known, y.reshape(len(known), len(columns))
