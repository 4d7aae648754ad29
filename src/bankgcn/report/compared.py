"""The models of a comparison, and a constant prediction beside them, computed from records alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from bankgcn.experiments.paper.layout import Column
from bankgcn.experiments.significance import Comparison, Spread, compare, holm
from bankgcn.metrics import Metric
from bankgcn.report.results import Result, Results

BASELINES: dict[str, tuple[str, str]] = {
    "classes": ("largest class", "always predicts the largest class of the training graphs"),
    "values": ("mean value", "always predicts the mean of the training graphs"),
    "labels": ("label shares", "always predicts the share of each label in the training graphs"),
}
"""The constant prediction for each kind of task: its label, and what it does."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A model, or the constant prediction.

    Args:
        label: Name in the table.
        scores: Test score of each seed; NaN where it is unknown.
        cell: The cell of a model; ``None`` for the constant prediction.
        versus: The paired comparison with the reference; ``None`` for the reference itself.
    """

    label: str
    scores: tuple[float, ...]
    cell: Result | None
    versus: Comparison | None

    @property
    def spread(self) -> Spread:
        """Mean and standard deviation of the scores."""
        return Spread.of(self.scores)


@dataclass(frozen=True, kw_only=True)
class ComparedModels:
    """The results of a comparison: a table of one column, and the constant prediction beside it."""

    results: Results

    @property
    def column(self) -> Column:
        """The dataset."""
        return self.results.table.columns[0]

    @property
    def cells(self) -> list[Result]:
        """The models, in their order."""
        return [self.results.at(row, self.column) for row in self.results.table.rows]

    @property
    def reference(self) -> Result:
        """The first model, which the others are compared with."""
        return self.cells[0]

    @property
    def metric(self) -> Metric:
        """The metric of the scores."""
        return self.reference.metric

    @cached_property
    def lines(self) -> list[Line]:
        """The models, and the constant prediction at the end, if it is known."""
        models = [
            Line(
                label=cell.row.label,
                scores=cell.scores,
                cell=cell,
                versus=self.results.comparison(cell.row, self.column),
            )
            for cell in self.cells
        ]
        return [*models, *self._baseline()]

    @cached_property
    def adjusted(self) -> list[float]:
        """P-value of each line, adjusted for their number; NaN for the reference."""
        return holm([line.versus.t_test if line.versus else math.nan for line in self.lines])

    @property
    def task(self) -> str | None:
        """The kind of the task; ``None`` without records."""
        kinds = (record.task.get("kind") for cell in self.cells for record in cell.records if record is not None)
        return next((kind for kind in kinds if kind in BASELINES), None)

    @cached_property
    def target_lines(self) -> dict[str, list[Line]]:
        """The models and the constant prediction by the score of each value or label alone; empty for one target."""
        records = [record for cell in self.cells for record in cell.records if record is not None]
        tables = (record.assessment.get("targets", ()) for record in records)
        names = next(([row["name"] for row in table] for table in tables if len(table) > 1), [])
        return {name: self._lines_of_target(name) for name in names}

    def _lines_of_target(self, target: str) -> list[Line]:
        lines = [
            Line(label=cell.row.label, scores=self._of_target(cell, target, "scores"), cell=cell, versus=None)
            for cell in self.cells
        ]
        constant = self._of_target(self.reference, target, "baseline_scores")
        return [*lines, Line(label=BASELINES[self.task or "labels"][0], scores=constant, cell=None, versus=None)]

    def _of_target(self, cell: Result, target: str, kind: str) -> tuple[float, ...]:
        """The score of one target in each run of a cell, or that of the constant prediction; NaN if it is unknown."""
        name = self.metric.of_one or self.column.metric
        factor = 100 if self.metric.percent else 1
        scores = []
        for record in cell.records:
            rows = record.assessment.get("targets", ()) if record is not None else ()
            found = next((row[kind].get(name) for row in rows if row["name"] == target), None)
            scores.append(math.nan if found is None else factor * found)
        return tuple(scores)

    def _baseline(self) -> Iterator[Line]:
        """The constant prediction of each split, which every record of the split knows."""
        factor = 100 if self.metric.percent else 1
        scores = []
        for records in zip(*(cell.records for cell in self.cells), strict=True):
            found = (record.assessment.get("baseline_score") for record in records if record is not None)
            score = next((score for score in found if score is not None), None)
            scores.append(math.nan if score is None else factor * score)
        if self.task is not None and not all(map(math.isnan, scores)):
            versus = compare(scores, self.reference.scores, self.column.overlap, self.metric.higher_is_better)
            yield Line(label=BASELINES[self.task][0], scores=tuple(scores), cell=None, versus=versus)
