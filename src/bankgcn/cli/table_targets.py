"""The targets of a table to which a model is applied: their columns, and their values as the model orders them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.readers.molecule_table import target_columns
from bankgcn.data.readers.smiles_table import smiles_column
from bankgcn.data.sources import Source
from bankgcn.data.targets import match_targets, name_of_class
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
    if reader.target is None or "target" in typed or part is not None or needed:
        return target_columns(table, others, reader.target)
    names = [reader.target] if reader.target in table.header else [name.strip() for name in reader.target.split(",")]
    return names if set(names) <= set(table.header) else []


def table_targets(task: Task, names: Sequence[str], cells: Sequence[Sequence[Any]]) -> NDArray:
    """Targets of a table in the order of the model's outputs; columns are matched by name."""
    if task.kind == "classes":
        if len(names) > 1:
            raise ValueError(f"the model predicts one class, but --target names {', '.join(names)}")
        return class_numbers(task, [name_of_class(row[0]) for row in cells])
    words = [cell for row in cells for cell in row if isinstance(cell, str)]
    if words:
        raise ValueError(f"the model predicts {task.kind}, but the target {words[0]!r} is not a number")
    numbers = np.array([[np.nan if cell is None else cell for cell in row] for row in cells], np.float64)
    return match_targets(numbers.reshape(len(cells), len(names)), tuple(names), task.names)
