"""What the records say, as numbers: who is ahead, how near the paper is, what a choice by test scores is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np

from bankgcn.experiments.design import Column, Design, Row
from bankgcn.experiments.paper import PUBLISHED
from bankgcn.experiments.search import choose, is_searched, with_seed
from bankgcn.experiments.statistics import LEVEL, critical_difference, holm, rank_correlation
from bankgcn.report.results import Cell, Records, Results

BANK = "bank-K2-s8"
"""The row that the claim of the document is about."""

NO_EDGES = "mlp"
"""The row that ignores the edges."""


def baselines(results: Results) -> list[Row]:
    """The paper's baselines: rows of other convolutions that the paper has."""
    return [row for row in results.design.rows if row.conv not in ("bank", NO_EDGES)]


def is_ahead(results: Results, row: Row, others: list[Row], column: Column) -> bool:
    """Whether the row is better than each of the others by the paired test."""
    referred = results.against(row)
    return all(referred.verdict(other, column) == -1 for other in others)


def columns_ahead(results: Results, row: Row, others: list[Row]) -> list[Column]:
    """The complete datasets on which the row is better than each of the others by the paired test."""
    return [column for column in results.ranked_columns() if is_ahead(results, row, others, column)]


def columns_behind(results: Results, row: Row, others: list[Row]) -> list[Column]:
    """The complete datasets on which at least one of the others is better than the row by the paired test."""
    columns = results.ranked_columns()
    return [column for column in columns if any(is_ahead(results, other, [row], column) for other in others)]


def leader(results: Results, column: Column) -> Row | None:
    """The first row that is better than every row of another convolution by the paired test, if there is one."""
    rows = results.design.rows
    return next((row for row in rows if is_ahead(results, row, [r for r in rows if r.conv != row.conv], column)), None)


class Contrast(NamedTuple):
    """One row minus another on a dataset, in points.

    Args:
        ours: Our difference.
        half_width: Of its 95 % interval: the paired test shows a larger difference, and no smaller one.
        paper: The paper's difference; NaN if it has none.
    """

    ours: float
    half_width: float
    paper: float

    @property
    def is_shown(self) -> bool:
        """Whether the test shows our difference."""
        return abs(self.ours) > self.half_width

    @property
    def papers_is_shown(self) -> bool:
        """Whether the test would show a difference as large as the paper's."""
        return abs(self.paper) > self.half_width


def contrast(results: Results, first: Row, second: Row, column: Column) -> Contrast:
    """The first row minus the second on a complete dataset."""
    versus = results.against(second).comparison(first, column)
    assert versus is not None
    low, high = versus.interval
    ours, papers = versus.difference, [results.at(row, column).published for row in (first, second)]
    paper = papers[0].mean - papers[1].mean if papers[0] and papers[1] else math.nan
    return Contrast(ours, (high - low) / 2, paper)


def mean_contrast(contrasts: Sequence[Contrast]) -> Contrast:
    """The mean over datasets. Its interval takes them as independent, so that squares of half widths add up.

    The quantile of t is that of a single dataset, and so the interval is rather too wide than too narrow.
    """
    papers = [one.paper for one in contrasts if not math.isnan(one.paper)]
    half_width = math.sqrt(sum(one.half_width**2 for one in contrasts)) / len(contrasts)
    return Contrast(fmean(one.ours for one in contrasts), half_width, fmean(papers) if papers else math.nan)


def contrasts_with_baselines(results: Results) -> dict[str, list[Contrast]]:
    """BankGCN minus each baseline on each complete dataset, by the name of the baseline."""
    bank, columns = results.row(BANK), results.ranked_columns()
    return {row.name: [contrast(results, bank, row, column) for column in columns] for row in baselines(results)}


def marks(results: Results, columns: Sequence[Column]) -> tuple[int, int]:
    """How many cells differ from the reference by the paired test: as marked, and adjusted by Holm's method."""
    assert results.reference is not None
    apart = [
        [sum(map(len, rows_apart(results, results.reference.name, column, adjusted=way))) for column in columns]
        for way in (False, True)
    ]
    return sum(apart[0]), sum(apart[1])


@dataclass(frozen=True, kw_only=True)
class BestRank:
    """The row with the best mean rank over the complete datasets.

    Args:
        row: The row.
        mean: Its mean rank; 1 is the best.
        separated: The rows from which the Nemenyi test separates it.
    """

    row: Row
    mean: float
    separated: list[Row]


def best_rank(results: Results) -> BestRank | None:
    """The first row with the best mean rank; ``None`` with fewer than two complete datasets."""
    by_dataset = results.ranks()
    if len(by_dataset) < 2:
        return None
    rows, means = results.design.rows, np.mean(list(by_dataset.values()), 0)
    best, difference = int(means.argmin()), critical_difference(len(rows), len(by_dataset))
    separated = [row for row, mean in zip(rows, means, strict=True) if mean - means[best] > difference]
    return BestRank(row=rows[best], mean=float(means[best]), separated=separated)


def rows_apart(results: Results, name: str, column: Column, *, adjusted: bool = False) -> tuple[list[Row], list[Row]]:
    """The rows that are better and those that are worse than the named row by the paired test.

    Args:
        results: The results.
        name: Name of the row.
        column: The dataset.
        adjusted: Whether the p-values are adjusted for the number of rows by Holm's method.
    """
    referred = results.against(results.row(name))
    comparisons = [referred.comparison(row, column) for row in results.design.rows]
    p_values = [math.nan if versus is None else versus.t_test for versus in comparisons]
    p_values = holm(p_values) if adjusted else p_values
    apart = [row for row, p in zip(results.design.rows, p_values, strict=True) if p < LEVEL]
    signs = {row.name: referred.verdict(row, column) for row in apart}
    return [row for row in apart if signs[row.name] == 1], [row for row in apart if signs[row.name] == -1]


def apart_from_reference(results: Results) -> list[tuple[Row, list[Column], list[Column]]]:
    """Each row with edges, and the complete datasets on which it is ahead of the reference of the table, and behind."""
    reference = results.reference
    if reference is None or not results.ranked_columns():
        return []
    rows = [row for row in results.design.rows if row.name not in (reference.name, NO_EDGES)]
    return [(row, columns_ahead(results, row, [reference]), columns_ahead(results, reference, [row])) for row in rows]


def compared_cells(results: Results) -> list[Cell]:
    """The cells with a figure of ours and one of the paper's."""
    return [cell for cell in results.cells.values() if cell.spread.count and cell.published]


def gap(cell: Cell) -> float:
    """Our mean minus the paper's; NaN if one is missing."""
    return cell.spread.mean - cell.published.mean if cell.published else math.nan


def position(cell: Cell) -> str:
    """Where our mean is: ``"within"`` one standard deviation of the paper's figure, ``"above"`` or ``"below"``."""
    assert cell.published is not None
    if abs(gap(cell)) <= cell.published.std:
        return "within"
    return "above" if gap(cell) > 0 else "below"


def standard_error(cell: Cell) -> float:
    """Standard error of the difference of the two means, if the paper has as many runs and all are independent."""
    assert cell.published is not None
    return math.sqrt((cell.spread.std**2 + cell.published.std**2) / cell.spread.count)


@dataclass(frozen=True, kw_only=True)
class Nearness:
    """How near our figures of a dataset are to the paper's.

    Args:
        mean_gap: Mean absolute difference over the rows.
        correlation: Rank correlation over the rows.
    """

    mean_gap: float
    correlation: float


def nearness(results: Results, column: Column) -> Nearness | None:
    """How near a complete dataset is to the paper; ``None`` if runs are missing."""
    if column not in results.ranked_columns():
        return None
    cells = [cell for cell in compared_cells(results) if cell.column == column]
    if not cells:
        return None
    ours, papers = [cell.spread.mean for cell in cells], [cell.published.mean for cell in cells if cell.published]
    return Nearness(mean_gap=fmean(abs(gap(cell)) for cell in cells), correlation=rank_correlation(ours, papers))


def validation_score(table: Design, row: Row, column: Column, records: Records) -> float:
    """Mean validation score of the chosen candidate over the seeds that choose, in percent; NaN if unknown.

    It needs the runs of the search alone. Where a cell also needed the winner's other runs, only places that win would
    have a score.
    """
    chosen = choose(table, row, column, records) if is_searched(table, row, column, records) else None
    if chosen is None:
        return math.nan
    keys = [with_seed(chosen, seed).key for seed in table.search_seeds(column)]
    scores = [records[key].valid_score for key in keys]
    return math.nan if None in scores else 100 * fmean(score for score in scores if score is not None)


def gain_by_test(results: Results, row: Row, column: Column, records: Records) -> float:
    """Points that a choice by test score adds to the mean test score over the seeds that choose; NaN if unknown."""
    if results.at(row, column).chosen is None:
        return math.nan
    means = []
    for rule in ("validation", "paper"):
        winner = choose(results.design, row, column, records, rule)
        assert winner is not None
        keys = [with_seed(winner, seed).key for seed in results.design.search_seeds(column)]
        ended = [records[key].test_score for key in keys if records[key].status == "finished"]
        scores = [score for score in ended if score is not None]
        if not scores:
            return math.nan
        means.append(fmean(scores))
    return 100 * (means[1] - means[0])


def gain_of_first_seeds(results: Results, row: Row, column: Column) -> float:
    """Mean test score over the seeds that choose, minus that over all seeds, in points; 0 if a run has no score."""
    scores = [None if record is None else record.test_score for record in results.at(row, column).records]
    every = [score for score in scores if score is not None]
    if len(every) < len(scores):
        return 0.0
    return 100 * (fmean(every[: len(results.design.search_seeds(column))]) - fmean(every))


def mean_gain_by_test(results: Results, records: Records) -> float:
    """The mean of these gains over all cells of the complete datasets."""
    gains = [gain_by_test(results, row, c, records) for c in results.ranked_columns() for row in results.design.rows]
    return fmean(gain for gain in gains if not math.isnan(gain))


def columns_chosen_by_test() -> tuple[int, int]:
    """On how many of the paper's datasets its BankGCN equals the best test mean of its Table 3; and of how many."""
    one, three = PUBLISHED["table1"]["bank-K2-s8"], PUBLISHED["table3"]
    searched = [three[name] for name in ("gamma-0", "gamma-0.1", "gamma-10")]
    return sum(max(row[name].mean for row in searched) == figure.mean for name, figure in one.items()), len(one)
