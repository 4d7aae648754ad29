"""Graphs for a trained model, lined up with the rows of their source, and what the models predict for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.cli.errors import print_note, with_flags
from bankgcn.data.graphs import GraphSet
from bankgcn.data.target_values import Targets
from bankgcn.files.tables import Cell, Columns, TextTable
from bankgcn.report.page.graphs import PredictedGraphs
from bankgcn.settings import pick
from bankgcn.tasks import Task
from bankgcn.training.ensemble import Ensemble, Predictions
from bankgcn.training.evaluation import table_targets, true_columns, true_targets


@dataclass(frozen=True)
class ModelInput:
    """Graphs of a source, and its rows. A row that cannot be read has no graph.

    Args:
        graphs: The graphs.
        rows: Row of each graph.
        columns: The columns of the source, one cell for each row.
        reasons: Why rows have no graph.
        table: The source, if it is a table.
        targets: Columns of the table with the targets, if they are known.
        fill_missing: The target of rows of the table without one.
        read_targets: Reads the targets of the graphs that have one, where the source is no table and may lack some: the
            rows of these graphs, and their targets.
        kept_rows: Row of each graph in the whole source, where these are the graphs of a part of it.
        may_lack_graphs: Whether a row that cannot be read stays, without a graph.
        first_row: Number of rows of the source before these.
        true_names: The columns of the targets of all rows, if these are some of the rows of a source.
        voters: Which models predict each graph, if the models were trained with different splits; see
            :meth:`~bankgcn.training.ensemble.Ensemble.part`.
    """

    graphs: GraphSet
    rows: NDArray[np.int64]
    columns: Columns
    reasons: dict[int, str]
    table: TextTable | None
    targets: Sequence[str] = ()
    fill_missing: str | None = None
    read_targets: Callable[[], tuple[list[int], Targets]] | None = None
    kept_rows: NDArray[np.int64] | None = None
    may_lack_graphs: bool = False
    first_row: int = 0
    true_names: Sequence[str] | None = None
    voters: NDArray[np.bool_] | None = None

    @property
    def source_rows(self) -> NDArray[np.int64]:
        """Row of each graph in the whole source."""
        return self.rows + self.first_row if self.kept_rows is None else self.kept_rows

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.graphs) + len(self.reasons)

    def line_up(self, columns: Columns, graphs: NDArray[np.int64] | None = None) -> Columns:
        """Columns with a cell for each graph, or for these graphs, with a cell for each row; others are empty."""
        rows = self.rows if graphs is None else self.rows[graphs]
        lined_up: Columns = []
        for name, cells in columns:
            by_row: list[Cell] = [None] * self.num_rows
            for row, cell in zip(rows.tolist(), cells, strict=True):
                by_row[row] = cell
            lined_up.append((name, by_row))
        return lined_up

    def truth(self, task: Task) -> tuple[NDArray[np.int64], NDArray]:
        """Numbers of the graphs whose targets are known, and these targets in the order of the model's outputs.

        Raises:
            ValueError: The targets do not fit the model.
        """
        if self.table is not None and self.targets and self.graphs.y is None:
            with_target, y = table_targets(task, self.table.take(self.rows.tolist()), self.targets, self.fill_missing)
            return np.array(with_target, np.int64), y
        graphs, targets = self._own_targets
        return graphs, np.empty((0, len(task.names))) if targets.y is None else true_targets(task, targets)

    def truth_columns(self, task: Task) -> Columns:
        """The columns of the targets, with a cell for each row; none for a table, whose own columns hold them."""
        if self.table is not None:
            return []
        columns: Columns = []
        with suppress(ValueError):  # which truth raises again
            graphs, targets = self._own_targets
            columns = self.line_up(true_columns(task, targets), graphs)
        if self.true_names is None:
            return columns
        empty: list[Cell] = [None] * self.num_rows
        return [(name, dict(columns).get(name, empty)) for name in self.true_names]

    @cached_property
    def _own_targets(self) -> tuple[NDArray[np.int64], GraphSet | Targets]:
        """Numbers of the graphs whose targets are known, and these targets as the source holds them."""
        if self.graphs.y is not None:
            return np.arange(len(self.graphs)), self.graphs
        rows, targets = ([], Targets()) if self.read_targets is None else self.read_targets()
        return np.searchsorted(self.rows, rows), targets

    def take(self, graphs: NDArray[np.int64]) -> ModelInput:
        """These graphs and their rows alone."""
        rows = self.rows[graphs].tolist()
        columns: Columns = [(name, [cells[row] for row in rows]) for name, cells in self.columns]
        table = None if self.table is None else self.table.take(rows)
        return replace(
            self,
            graphs=self.graphs[graphs],
            rows=np.arange(len(rows)),
            columns=columns,
            reasons={},
            table=table,
            kept_rows=self.source_rows[graphs],
            voters=None if self.voters is None else self.voters[graphs],
        )

    def predictions(self, ensemble: Ensemble, calibrated: bool = True) -> Predictions:
        """What the models predict for the graphs."""
        return ensemble.apply(self.graphs, calibrated, self.voters)

    def answered(self, ensemble: Ensemble, seen: bool = False) -> Answered:
        """What the models predict for the graphs whose targets are known.

        Args:
            ensemble: The models.
            seen: Whether to look for graphs that the models were trained or selected on.

        Raises:
            ValueError: The targets do not fit the models.
        """
        with_target, y = self.truth(ensemble.task)
        known = self.take(with_target)
        learned = ensemble.seen(known.graphs) if seen else np.zeros(len(y), np.bool_)
        predictions = known.predictions(ensemble)._replace(embeddings=None)
        return Answered(self.graphs.name, self.num_rows, len(self.graphs), predictions, y, learned, known.voters)


class Answered(NamedTuple):
    """Predictions for graphs whose targets are known, and these targets.

    Args:
        name: Name of the source.
        num_rows: Number of its rows.
        num_graphs: Number of its graphs, with those whose target is unknown.
        predictions: For each graph whose target is known.
        y: The targets, in the order of the outputs.
        seen: Which of these graphs are equal to graphs that the models were trained or selected on, if that was asked.
        voters: Which models predict each graph; see :class:`ModelInput`.
    """

    name: str
    num_rows: int
    num_graphs: int
    predictions: Predictions
    y: NDArray
    seen: NDArray[np.bool_]
    voters: NDArray[np.bool_] | None = None

    @classmethod
    def joined(cls, parts: Sequence[Answered]) -> Answered:
        """The rows of several blocks together."""
        first, answered = parts[0], [part for part in parts if len(part.y)]
        if len(answered) < 2:
            one = answered[0] if answered else first
        else:
            each = [part.predictions for part in answered]
            spread = None if each[0].spread is None else torch.cat([cast("Tensor", one.spread) for one in each])
            members = tuple(map(torch.cat, zip(*(one.members for one in each), strict=True)))
            one = first._replace(
                predictions=Predictions(torch.cat([one.mean for one in each]), spread, None, members),
                y=np.concatenate([part.y for part in answered]),
                seen=np.concatenate([part.seen for part in answered]),
            )
        num_rows, num_graphs = sum(part.num_rows for part in parts), sum(part.num_graphs for part in parts)
        return one._replace(num_rows=num_rows, num_graphs=num_graphs)


PARTS = {"test": "test graphs", "valid": "validation graphs", "train": "training graphs"}
"""The parts of a split that a report may show, the first that has graphs; and their names."""


def examine(ensemble: Ensemble, inputs: ModelInput, skip_unknown: bool = False) -> PredictedGraphs:
    """Predictions for the graphs of a source; targets only if all of them are known.

    Args:
        ensemble: The models.
        inputs: The graphs.
        skip_unknown: Whether to leave out graphs without a target, if others have one.
    """
    try:
        with_target, y = inputs.truth(ensemble.task)
    except ValueError as error:
        print_note(f"the targets are not shown: {with_flags(error)}")
        with_target, y = np.arange(0), np.empty(0)
    total = len(inputs.graphs)
    if skip_unknown and 0 < len(with_target) < total:
        print_note(f"{total - len(with_target):,} of {total:,} graphs have no target: left out")
        inputs = inputs.take(with_target)
    graphs = inputs.graphs
    smiles = graphs.names if graphs.feature_spec.get("kind") == "atoms" else None
    names = graphs.ids or (graphs.names if smiles is None else None)
    predictions = inputs.predictions(ensemble)
    return PredictedGraphs(
        graphs,
        predictions.mean.numpy(),
        y if len(with_target) == len(graphs) and len(graphs) else None,
        names or tuple(numbered(row) for row in inputs.source_rows.tolist()),
        smiles or (None,) * len(graphs),
        inputs.voters,
        predictions,
    )


def output_number(task: Task, label: str | None) -> int | None:
    """The number of the class, value or label of this name."""
    kinds = {"classes": "class", "values": "value", "labels": "label"}
    return (
        None if label is None else pick({name: place for place, name in enumerate(task.names)}, label, kinds[task.kind])
    )


def numbered(row: int) -> str:
    """What a graph without an id is called."""
    return f"graph {row}"
