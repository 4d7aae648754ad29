"""Results: a design, and in each of its cells the runs of the chosen hyper-parameters, computed from records alone.

A table of the paper, a user's comparison, the page of a store and the page on the reproduction are made of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bankgcn.experiments import RunRecord, RunSpec
from bankgcn.experiments.design import Column, Design, Published, Row, draws_splits
from bankgcn.experiments.search import (
    Selection,
    SelectionRule,
    check_rule,
    choose,
    needed_configs,
    num_needed,
    select,
    with_seed,
)
from bankgcn.experiments.statistics import (
    FEWEST,
    LEVEL,
    TEST_TO_TRAIN,
    Comparison,
    Spread,
    compare,
    corrected_interval,
    mean_ranks,
)
from bankgcn.metrics import METRICS, Metric
from bankgcn.nn.convs import MODELS
from bankgcn.report.sheet import number, shown

Records = Mapping[str, RunRecord]
RowKey = tuple[str, Any, Any]
ColumnKey = tuple[str, int | None]

PREFERRED: RowKey = ("bank", 2, 8)
"""The row of a store that the others are compared with, if it is there: the paper's."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell: a network on a dataset.

    Args:
        row: The network.
        column: The dataset.
        chosen: The chosen candidate, with its first seed; ``None`` without records.
        records: Records of the chosen candidate, one for each seed; ``None`` where one is missing.
        candidates: Number of candidates that it was chosen from.
        done: Number of records of the runs that the cell needs.
        total: Number of runs that the cell needs.
        published: The paper's figure.
    """

    row: Row
    column: Column
    chosen: RunSpec | None
    records: tuple[RunRecord | None, ...]
    candidates: int
    done: int
    total: int
    published: Published | None = None

    @property
    def recorded(self) -> list[RunRecord]:
        """The records that are not missing."""
        return [record for record in self.records if record is not None]

    @property
    def metric(self) -> Metric:
        """The metric of the scores."""
        return METRICS[self.column.metric]

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """Test score of each seed, in percent where the metric says so; NaN where the run is missing or diverged."""
        return tuple(shown(_test_score(record), self.metric) for record in self.records)

    @cached_property
    def spread(self) -> Spread:
        """Mean and standard deviation of the scores."""
        return Spread.of(self.scores)

    @cached_property
    def overlap(self) -> float:
        """Number of test graphs for each training graph; 0 if all seeds have the same test graphs."""
        if not self.column.drawn_splits:
            return 0.0
        if self.column.test_to_train is not None:
            return self.column.test_to_train
        sized = [record for record in self.recorded if record.split_sizes]
        if not sized:
            return TEST_TO_TRAIN
        same = len(sized) > 1 and len({record.split_hash for record in sized}) == 1
        return 0.0 if same else sized[0].split_sizes[2] / max(sized[0].split_sizes[0], 1)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean; NaN for too few runs."""
        return interval_of(self.scores, self.overlap)

    @property
    def ran(self) -> int:
        """Number of seeds that have a record."""
        return len(self.recorded)

    @property
    def diverged(self) -> int:
        """Number of seeds with a diverged training."""
        return sum(record.status == "diverged" for record in self.recorded)

    @property
    def complete(self) -> bool:
        """Whether there is a record of every run that the cell needs."""
        return self.done == self.total

    @property
    def weight_decay(self) -> float | None:
        """The chosen weight decay."""
        return self.chosen.train.weight_decay if self.chosen else None

    @property
    def gamma(self) -> float | None:
        """The chosen weight of diversity; ``None`` where there are no pairs of filters."""
        return self.chosen.train.gamma if self.chosen and self.row.has_pairs else None

    @property
    def layer_parameters(self) -> int | None:
        """Number of parameters of a hidden layer."""
        return next((record.layer_parameters for record in self.recorded), None)

    def versus(self, other: Cell, fewest: int = 1) -> Comparison | None:
        """This cell against another on the runs that share seed, graphs and split; ``None`` if these are too few.

        Args:
            other: A cell of the same column.
            fewest: Fewest runs that they must share.
        """
        others = zip(other.records, other.scores, strict=True)
        partners = {record.config.seed: (record, score) for record, score in others if record is not None}
        pairs = [(math.nan, math.nan)] * len(self.records)
        shared = 0
        for place, (record, score) in enumerate(zip(self.records, self.scores, strict=True)):
            if record is None or record.config.seed not in partners:
                continue
            partner, partner_score = partners[record.config.seed]
            if (record.fingerprint, record.split_hash) == (partner.fingerprint, partner.split_hash):
                pairs[place] = score, partner_score
                shared += 1
        if shared < fewest:
            return None
        first, second = zip(*pairs, strict=True)
        return compare(first, second, self.overlap, self.metric.higher_is_better)


def interval_of(scores: Sequence[float], overlap: float) -> tuple[float, float]:
    """The 95 % interval of a mean score; NaN for too few scores."""
    return corrected_interval(scores, overlap) if Spread.of(scores).count >= FEWEST else (math.nan, math.nan)


@dataclass(frozen=True, kw_only=True)
class Results:
    """All cells of a design, and the rule that chose their hyper-parameters."""

    design: Design
    rule: SelectionRule
    cells: Mapping[tuple[str, str], Cell]

    def at(self, row: Row, column: Column) -> Cell:
        """The cell in a row and a column."""
        return self.cells[row.name, column.name]

    def row(self, name: str) -> Row:
        """The row of this name."""
        return next(row for row in self.design.rows if row.name == name)

    @property
    def reference(self) -> Row | None:
        """The row that the others are compared with; ``None`` if the design lacks it or has no other row."""
        rows = self.design.rows
        return next((row for row in rows if row.name == self.design.reference and len(rows) > 1), None)

    def against(self, row: Row) -> Results:
        """The results with another row as the reference of all comparisons."""
        return replace(self, design=replace(self.design, reference=row.name))

    def complete_only(self) -> Results:
        """The results, where a cell with missing runs has no records at all."""
        cells = {
            key: cell if cell.complete else replace(cell, chosen=None, records=(None,) * len(cell.records))
            for key, cell in self.cells.items()
        }
        return replace(self, cells=cells)

    def comparison(self, row: Row, column: Column) -> Comparison | None:
        """The cell against the reference on the same splits; ``None`` for the reference itself, or without a pair."""
        if self.reference is None or row.name == self.reference.name:
            return None
        return self.at(row, column).versus(self.at(self.reference, column))

    def verdict(self, row: Row, column: Column) -> int:
        """Whether the row is better (1) or worse (-1) than the reference by the paired test; 0 if neither is shown."""
        versus = self.comparison(row, column)
        if versus is None or math.isnan(versus.t_test) or versus.t_test >= LEVEL:
            return 0
        return 1 if (versus.difference > 0) == self.at(row, column).metric.higher_is_better else -1

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
        means = {other.name: float(number(self.at(other, column).spread.mean, metric)) for other in self.design.rows}
        mean_of_row = means[row.name]
        finite = [mean for mean in means.values() if not math.isnan(mean)]
        return (
            len(finite) > 1
            and not math.isnan(mean_of_row)
            and not any(metric.improves(mean, mean_of_row) for mean in finite)
        )

    def occupied_columns(self) -> list[Column]:
        """The columns with at least one score."""
        return [c for c in self.design.columns if any(self.at(row, c).spread.count for row in self.design.rows)]

    def ranked_columns(self, rows: Sequence[Row] | None = None) -> list[Column]:
        """The columns in which every row, or each of these rows, has a score."""
        rows = self.design.rows if rows is None else rows
        return [c for c in self.design.columns if all(self.at(row, c).spread.count for row in rows)]

    def ranks(self) -> dict[str, np.ndarray]:
        """The rank of each row, 1 for the best, on each dataset where every row has a score."""
        ranks = {}
        for column in self.ranked_columns():
            means = [self.at(row, column).spread.mean for row in self.design.rows]
            ranks[column.label] = mean_ranks(means, METRICS[column.metric].higher_is_better)
        return ranks


def collect(design: Design, records: Records, rule: SelectionRule = "validation") -> Results:
    """Choose hyper-parameters in every cell of a design, and gather the records of the chosen candidates.

    Args:
        design: The design.
        records: Records by the keys of their runs; records of other designs are ignored.
        rule: Choose by mean validation score or, as the paper appears to do, by mean test score.

    Raises:
        ValueError: The design does not allow the rule; see :func:`~bankgcn.experiments.search.check_rule`.
    """
    check_rule(design, rule)
    datasets = {record.config.dataset for record in records.values()}
    cells = {
        (row.name, column.name): _cell(design, row, column, records if column.dataset in datasets else {}, rule)
        for row in design.rows
        for column in design.columns
    }
    return Results(design=design, rule=rule, cells=cells)


def without_empty(design: Design, keys: Collection[str]) -> Design:
    """The design without the rows and columns that have no record."""
    occupied = {
        (row.name, column.name)
        for row in design.rows
        for column in design.columns
        if any(config.key in keys for config in design.cell_configs(row, column))
    }
    rows, columns = {row for row, _ in occupied}, {column for _, column in occupied}
    return replace(
        design,
        rows=tuple(row for row in design.rows if row.name in rows),
        columns=tuple(column for column in design.columns if column.name in columns),
    )


def _cell(design: Design, row: Row, column: Column, records: Records, rule: SelectionRule) -> Cell:
    chosen = choose(design, row, column, records, rule) if records else None
    needed = needed_configs(design, row, column, chosen) if records else []
    seeds = design.seeds(column)
    return Cell(
        row=row,
        column=column,
        chosen=chosen,
        records=tuple(records.get(with_seed(chosen, seed).key) if chosen else None for seed in seeds),
        candidates=design.num_candidates(row),
        done=sum(config.key in records for config in needed),
        total=num_needed(design, row, column),
        published=design.published(row, column),
    )


def collect_found(records: Iterable[RunRecord]) -> Results:
    """The results of records without a plan: networks and datasets as they are found, with the winner of each cell.

    The hyper-parameters with the best mean validation score win, among those with the most runs. A pair of network and
    dataset without runs has no cell.

    Raises:
        ValueError: Runs of one dataset used different graphs, or runs of one cell different metrics.
    """
    chosen = select(records, group_by=lambda config: (row_of(config), column_of(config)))
    keys: list[tuple[RowKey, ColumnKey]] = list(chosen)  # type: ignore[arg-type]  # what group_by returns
    order = sorted({row for row, _ in keys}, key=lambda row: (list(MODELS).index(row[0]), row[1] or 0, row[2] or 0))
    rows = {
        key: Row(
            name=row_label(key),
            label=row_label(key),
            conv=key[0],
            options=dict(zip(("order", "num_subspaces"), key[1:], strict=True)),
        )
        for key in order
    }
    labels = column_labels(dict.fromkeys(column for _, column in keys))
    column_of_cell = {
        key: _found_column(key[1], labels[key[1]], selection)
        for key, selection in zip(keys, chosen.values(), strict=True)
    }
    columns = {key: column for (_, key), column in column_of_cell.items()}
    cells = {
        (rows[key[0]].name, column_of_cell[key].name): Cell(
            row=rows[key[0]],
            column=column_of_cell[key],
            chosen=selection.config,
            records=selection.records,
            candidates=selection.candidates,
            done=len(selection.records),
            total=len(selection.records),
        )
        for key, selection in zip(keys, chosen.values(), strict=True)
    }
    design = Design(
        name="store",
        title="Models by datasets",
        rows=tuple(rows.values()),
        columns=tuple(columns[key] for key in sorted(columns, key=str)),
        reference=rows[PREFERRED if PREFERRED in rows else order[0]].name,
    )
    return Results(design=design, rule="validation", cells=cells)


def _found_column(key: ColumnKey, label: str, selection: Selection) -> Column:
    """The column of a cell that was found: its runs say what they have in common, and how they were scored."""
    return Column(
        name=str(key),
        label=label,
        dataset=key[0],
        train_per_class=key[1],
        drawn_splits=draws_splits(selection.config),
        test_to_train=None,
        settings=selection.config.with_(metric=selection.records[0].metric),
    )


def row_of(config: RunSpec) -> RowKey:
    """What makes runs one row: the convolution, its order and its number of filters."""
    options = config.model.conv_options
    return config.model.conv, options.get("order"), options.get("num_subspaces")


def column_of(config: RunSpec) -> ColumnKey:
    """What makes runs one column: the graphs."""
    return config.dataset, config.train_per_class


def row_label(row: RowKey) -> str:
    """The name of a row."""
    conv, order, subspaces = row
    options = [f"K={order}"] if order is not None else []
    options += [f"s={subspaces}"] if subspaces is not None else []
    return " ".join([MODELS[conv].label, *options])


def column_labels(columns: Iterable[ColumnKey]) -> dict[ColumnKey, str]:
    """The name of each column: of a file, its name, with as many folders before it as tell it from the others."""
    keys = list(columns)
    shown = short_names(dict.fromkeys(dataset for dataset, _ in keys))
    return {
        (dataset, number): shown[dataset] if number is None else f"{shown[dataset]} ({number} a class)"
        for dataset, number in keys
    }


def short_names(datasets: Iterable[str]) -> dict[str, str]:
    """The shortest ends of paths that differ; endings of files are left out where they tell nothing."""
    names = list(datasets)
    parts = {name: [part for part in re.split(r"[/\\]", name) if part] or [name] for name in names}
    short = {name: Path(parts[name][-1]).stem if len(parts[name]) > 1 else name for name in names}
    depth = 1
    while len(set(short.values())) < len(names) and depth <= max(map(len, parts.values())):
        same = {word for word in short.values() if list(short.values()).count(word) > 1}
        short = {name: "/".join(parts[name][-depth:]) if word in same else word for name, word in short.items()}
        depth += 1
    return short


def _test_score(record: RunRecord | None) -> float:
    if record is None or record.status == "diverged" or record.test_score is None:
        return math.nan
    return record.test_score


def _relative(reduced: float, whole: float) -> float:
    return 100 * (reduced - whole) / whole
