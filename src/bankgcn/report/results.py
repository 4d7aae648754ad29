"""What stands in the cells of a table, found from records alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from bankgcn.experiments import RunRecord, RunSpec
from bankgcn.experiments.paper.layout import Column, Row, Table
from bankgcn.experiments.paper.published import Published
from bankgcn.experiments.selection import How, select
from bankgcn.experiments.significance import TEST_TO_TRAIN, Comparison, Spread, compare

Records = Mapping[str, RunRecord]


@dataclass(frozen=True, kw_only=True)
class Result:
    """A cell of a table.

    Args:
        row: Its network.
        column: Its dataset.
        chosen: The candidate that was chosen, with seed 0; none if there is no record to choose by.
        records: Its records, one a seed; ``None`` where one is missing.
        done: Number of records of all candidates.
        total: Number of runs of all candidates.
        published: The paper's figure.
    """

    row: Row
    column: Column
    chosen: RunSpec | None
    records: tuple[RunRecord | None, ...]
    done: int
    total: int
    published: Published | None

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """Test score of each seed in percent; NaN where the run is missing or diverged."""
        return tuple(map(_percent, self.records))

    @cached_property
    def spread(self) -> Spread:
        """Their mean and standard deviation."""
        return Spread.of(self.scores)

    @property
    def ran(self) -> int:
        """Number of seeds that have a record."""
        return sum(record is not None for record in self.records)

    @property
    def diverged(self) -> int:
        """Number of seeds whose training diverged."""
        return sum(record is not None and record.status == "diverged" for record in self.records)

    @property
    def complete(self) -> bool:
        """Whether no run of any candidate is missing."""
        return self.done == self.total

    @property
    def layer_parameters(self) -> int | None:
        """Parameters of a hidden layer."""
        return next((record.layer_parameters for record in self.records if record is not None), None)


@dataclass(frozen=True, kw_only=True)
class Results:
    """All cells of a table, with how they were chosen."""

    table: Table
    rule: How
    cells: Mapping[tuple[str, str], Result]

    def at(self, row: Row, column: Column) -> Result:
        """The cell in a row and a column."""
        return self.cells[row.name, column.name]

    @property
    def reference(self) -> Row | None:
        """The row that the others are compared with, if it is in the table."""
        return next((row for row in self.table.rows if row.name == self.table.reference), None)

    def comparison(self, row: Row, column: Column) -> Comparison | None:
        """The cell against the reference's on the same splits; none for the reference itself, or without a pair."""
        if self.reference is None or row.name == self.reference.name:
            return None
        ours, theirs = self.at(row, column), self.at(self.reference, column)
        pairs = list(zip(ours.records, theirs.records, strict=True))
        shared = [a is not None and b is not None and _same_split(a, b) for a, b in pairs]
        if not any(shared):
            return None
        first = [score if same else math.nan for score, same in zip(ours.scores, shared, strict=True)]
        return compare(first, theirs.scores, TEST_TO_TRAIN if column.drawn_splits else 0.0)

    def decrease(self, row: Row, column: Column) -> tuple[float, float] | None:
        """What a reduced dataset loses, in percent of the score on the whole one: here, and in the paper."""
        if column.relative_to is None:
            return None
        whole = self.cells.get((row.name, column.relative_to))
        reduced = self.at(row, column)
        here = _relative(reduced.spread.mean, whole.spread.mean if whole else math.nan)
        if reduced.published is None or whole is None or whole.published is None:
            return here, math.nan
        return here, _relative(reduced.published.mean, whole.published.mean)

    def is_best(self, row: Row, column: Column) -> bool:
        """Whether no mean in the column is better, as far as the printed decimals tell."""
        means = {other.name: round(self.at(other, column).spread.mean, 2) for other in self.table.rows}
        return not math.isnan(means[row.name]) and not any(mean > means[row.name] for mean in means.values())


def collect(table: Table, records: Records, rule: How = "validation") -> Results:
    """Choose hyper-parameters in every cell, and gather the records of the chosen.

    Args:
        table: What to show.
        records: Records by the keys of their runs; others than the table's do no harm.
        rule: How to choose: by mean validation score, or, as the paper appears to, by mean test score.
    """
    cells = {
        (row.name, column.name): _result(table, row, column, records, rule)
        for row in table.rows
        for column in table.columns
    }
    return Results(table=table, rule=rule, cells=cells)


def occupied(table: Table, keys: Collection[str]) -> Table:
    """The rows and columns of a table of which there is at least one record."""
    there = {
        (row.name, column.name)
        for row in table.rows
        for column in table.columns
        if any(config.key in keys for config in table.cell(row, column))
    }
    rows, columns = {row for row, _ in there}, {column for _, column in there}
    return replace(
        table,
        rows=tuple(row for row in table.rows if row.name in rows),
        columns=tuple(column for column in table.columns if column.name in columns),
    )


def _result(table: Table, row: Row, column: Column, records: Records, rule: How) -> Result:
    configs = table.cell(row, column)
    found = [records[config.key] for config in configs if config.key in records]
    chosen = _chosen(found, rule)
    seeds = table.seeds(column)
    return Result(
        row=row,
        column=column,
        chosen=chosen,
        records=tuple(records.get(chosen.with_(seed=seed).key) if chosen else None for seed in seeds),
        done=len(found),
        total=len(configs),
        published=table.published(row, column),
    )


def _chosen(found: list[RunRecord], rule: How) -> RunSpec | None:
    winners = select(found, rule, group_by=lambda config: None)
    return winners[None].config.with_(seed=0) if winners else None


def _percent(record: RunRecord | None) -> float:
    if record is None or record.status == "diverged" or record.test_score is None:
        return math.nan
    return 100 * record.test_score


def _same_split(first: RunRecord, second: RunRecord) -> bool:
    return (first.fingerprint, first.split_hash) == (second.fingerprint, second.split_hash)


def _relative(reduced: float, whole: float) -> float:
    return 100 * (reduced - whole) / whole
