"""The content of the cells of a table, computed from records alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from bankgcn.experiments import RunRecord, RunSpec
from bankgcn.experiments.paper.layout import Column, Row, Table
from bankgcn.experiments.paper.published import Published
from bankgcn.experiments.paper.search import check_rule, choose, needed_configs, num_needed, with_seed
from bankgcn.experiments.selection import SelectionRule
from bankgcn.experiments.significance import Comparison, Spread, compare
from bankgcn.metrics import METRICS, Metric
from bankgcn.report.fields import number

Records = Mapping[str, RunRecord]


@dataclass(frozen=True, kw_only=True)
class Result:
    """A cell of a table.

    Args:
        row: The network.
        column: The dataset.
        chosen: The chosen candidate, with seed 0; ``None`` without records.
        records: Records of the chosen candidate, one for each seed; ``None`` where one is missing.
        done: Number of records of the runs that the cell needs.
        total: Number of runs that the cell needs.
        published: The paper's figure.
    """

    row: Row
    column: Column
    chosen: RunSpec | None
    records: tuple[RunRecord | None, ...]
    done: int
    total: int
    published: Published | None

    @property
    def metric(self) -> Metric:
        """The metric of the scores."""
        return METRICS[self.column.metric]

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """Test score of each seed, in percent where the metric says so; NaN where the run is missing or diverged."""
        factor = 100 if self.metric.percent else 1
        return tuple(factor * _test_score(record) for record in self.records)

    @cached_property
    def spread(self) -> Spread:
        """Mean and standard deviation of the scores."""
        return Spread.of(self.scores)

    @property
    def ran(self) -> int:
        """Number of seeds that have a record."""
        return sum(record is not None for record in self.records)

    @property
    def diverged(self) -> int:
        """Number of seeds with a diverged training."""
        return sum(record is not None and record.status == "diverged" for record in self.records)

    @property
    def complete(self) -> bool:
        """Whether there is a record of every run that the cell needs."""
        return self.done == self.total

    @property
    def layer_parameters(self) -> int | None:
        """Number of parameters of a hidden layer."""
        return next((record.layer_parameters for record in self.records if record is not None), None)


@dataclass(frozen=True, kw_only=True)
class Results:
    """All cells of a table, and the rule that chose their hyper-parameters."""

    table: Table
    rule: SelectionRule
    cells: Mapping[tuple[str, str], Result]

    def at(self, row: Row, column: Column) -> Result:
        """The cell in a row and a column."""
        return self.cells[row.name, column.name]

    @property
    def reference(self) -> Row | None:
        """The row that the others are compared with; ``None`` if the table lacks it or has no other row."""
        rows = self.table.rows
        return next((row for row in rows if row.name == self.table.reference and len(rows) > 1), None)

    def comparison(self, row: Row, column: Column) -> Comparison | None:
        """The cell against the reference on the same splits; ``None`` for the reference itself, or without a pair."""
        if self.reference is None or row.name == self.reference.name:
            return None
        cell, reference = self.at(row, column), self.at(self.reference, column)
        pairs = list(zip(cell.records, reference.records, strict=True))
        shared = [a is not None and b is not None and _same_split(a, b) for a, b in pairs]
        if not any(shared):
            return None
        first = [score if same else math.nan for score, same in zip(cell.scores, shared, strict=True)]
        return compare(first, reference.scores, column.overlap, cell.metric.higher_is_better)

    def decrease(self, row: Row, column: Column) -> tuple[float, float] | None:
        """Change of the mean score from the whole dataset to the reduced one, in percent: here, and in the paper."""
        if column.relative_to is None:
            return None
        whole = self.cells.get((row.name, column.relative_to))
        reduced = self.at(row, column)
        here = _relative(reduced.spread.mean, whole.spread.mean if whole else math.nan)
        if reduced.published is None or whole is None or whole.published is None:
            return here, math.nan
        return here, _relative(reduced.published.mean, whole.published.mean)

    def is_best(self, row: Row, column: Column) -> bool:
        """Whether the column has other means, and none is better; means with the same printed digits are equal."""
        metric = self.at(row, column).metric
        means = {other.name: float(number(self.at(other, column).spread.mean, metric)) for other in self.table.rows}
        own = means[row.name]
        known = [mean for mean in means.values() if not math.isnan(mean)]
        return len(known) > 1 and not math.isnan(own) and not any(metric.improves(mean, own) for mean in known)


def title_of(results: Results) -> str:
    """The title of the table, with its number in the paper."""
    return f"Table {results.table.name.removeprefix('table')}: {results.table.title}"


def collect(table: Table, records: Records, rule: SelectionRule = "validation") -> Results:
    """Choose hyper-parameters in every cell, and gather the records of the chosen candidates.

    Args:
        table: The table.
        records: Records by the keys of their runs; records of other tables are ignored.
        rule: Choose by mean validation score or, as the paper appears to do, by mean test score.

    Raises:
        ValueError: The table does not allow the rule; see :func:`~bankgcn.experiments.paper.search.check_rule`.
    """
    check_rule(table, rule)
    datasets = {record.config.dataset for record in records.values()}
    cells = {
        (row.name, column.name): _result(table, row, column, records if column.dataset in datasets else {}, rule)
        for row in table.rows
        for column in table.columns
    }
    return Results(table=table, rule=rule, cells=cells)


def without_empty(table: Table, keys: Collection[str]) -> Table:
    """The table without the rows and columns that have no record."""
    occupied = {
        (row.name, column.name)
        for row in table.rows
        for column in table.columns
        if any(config.key in keys for config in table.cell_configs(row, column))
    }
    rows, columns = {row for row, _ in occupied}, {column for _, column in occupied}
    return replace(
        table,
        rows=tuple(row for row in table.rows if row.name in rows),
        columns=tuple(column for column in table.columns if column.name in columns),
    )


def _result(table: Table, row: Row, column: Column, records: Records, rule: SelectionRule) -> Result:
    chosen = choose(table, row, column, records, rule) if records else None
    needed = needed_configs(table, row, column, chosen) if records else []
    seeds = table.seeds(column)
    return Result(
        row=row,
        column=column,
        chosen=chosen,
        records=tuple(records.get(with_seed(chosen, seed).key) if chosen else None for seed in seeds),
        done=sum(config.key in records for config in needed),
        total=num_needed(table, row, column),
        published=table.published(row, column),
    )


def _test_score(record: RunRecord | None) -> float:
    if record is None or record.status == "diverged" or record.test_score is None:
        return math.nan
    return record.test_score


def _same_split(first: RunRecord, second: RunRecord) -> bool:
    return (first.fingerprint, first.split_hash) == (second.fingerprint, second.split_hash)


def _relative(reduced: float, whole: float) -> float:
    return 100 * (reduced - whole) / whole
