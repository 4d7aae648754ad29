"""Ours beside the paper's: what reproduces, what does not, and what a choice by test score is worth."""

from __future__ import annotations

from statistics import fmean

from bankgcn.experiments.paper.layout import Row
from bankgcn.experiments.paper.settings import AS_PAPER, PLACES
from bankgcn.report.document.evidence import PLACE_SETTINGS, Evidence
from bankgcn.report.document.findings import (
    columns_chosen_by_test,
    compared_cells,
    gain_by_test,
    gain_of_first_seeds,
    gap,
    standard_error,
    standing,
)
from bankgcn.report.document.wording import NONE_COMPLETE, bullets, counted, listed, table_lines
from bankgcn.report.fields import MISSING, difference
from bankgcn.report.rank_plot import ranked_columns
from bankgcn.report.results import Result


def what_reproduces(evidence: Evidence) -> str:
    """Our mean minus the paper's in every cell, and the likely reason where they are far apart."""
    results = evidence.results("table1", AS_PAPER)
    cells = compared_cells(results)
    if not cells:
        return NONE_COMPLETE
    columns = [column for column in results.table.columns if any(cell.column == column for cell in cells)]
    rows = [row for row in results.table.rows if any(cell.row == row for cell in cells)]
    lines = [[row.label, *(_gap(results.at(row, column)) for column in columns), _mean_gap(cells, row)] for row in rows]
    close = sum(abs(gap(cell)) <= 2 * standard_error(cell) for cell in cells)
    far = [cell for cell in cells if standing(cell) != "within" or abs(gap(cell)) > 2 * standard_error(cell)]
    return "\n\n".join(
        [
            "Our mean minus the paper's, in points, in the setting as the paper; within, above or below one standard "
            "deviation of the paper's figure.",
            table_lines(["", *(column.label for column in columns), "mean"], lines),
            f"A standard deviation over runs is a wide measure. {close} of {counted(len(cells), 'figure')} lie within "
            "two standard errors of the difference of two means. The others, with the likely reason:",
            bullets([_reason(evidence, cell) for cell in far]) if far else "None.",
        ]
    )


def _gap(cell: Result) -> str:
    return f"{difference(gap(cell), cell.metric)} {standing(cell)}" if cell.spread.count and cell.published else MISSING


def _mean_gap(cells: list[Result], row: Row) -> str:
    return f"{fmean(gap(cell) for cell in cells if cell.row == row):+.2f}"


def _reason(evidence: Evidence, cell: Result) -> str:
    """The likely reason of a large difference: what a choice by test is worth, and whether another place is nearer."""
    results = evidence.results("table1", AS_PAPER)
    worth = gain_by_test(results, cell.row, cell.column, evidence.records)
    if gap(cell) > 0:
        words = [f"A choice by test score, as the paper's appears to be, would raise ours by {worth:.2f} more"]
    elif worth >= -gap(cell):
        words = [f"A choice by test score is worth {worth:.2f} points, which explains it"]
    else:
        words = [f"A choice by test score is worth {worth:.2f} points, which does not explain it"]
    others = {
        place: abs(gap(other))
        for place, setting in PLACE_SETTINGS.items()
        if place not in AS_PAPER.grid.normalize
        and (other := evidence.results("table1", setting).at(cell.row, cell.column)).spread.count
    }
    nearer = [f"{PLACES[place]} is nearer ({size:.2f})" for place, size in others.items() if size < abs(gap(cell))]
    words += nearer or (["no other place of l2 is nearer"] if others else ["other places of l2 are not run"])
    return f"{cell.row.label} on {cell.column.label}: {gap(cell):+.2f}. {'; '.join(words)}."


def choice_by_test(evidence: Evidence) -> str:
    """Both ways of choosing hyper-parameters, over the seeds that choose, and how many points lie between them."""
    results = evidence.results("table1", AS_PAPER)
    columns = ranked_columns(results)
    equal, total = columns_chosen_by_test()
    start = (
        f"On {equal} of {total} datasets, the paper's figure of BankGCN (K=2, s=8) in Table 1 is the best test mean of "
        "its Table 3 over the gammas of its grid. So the paper appears to choose by test score; we choose by "
        f"validation score. Points that a choice by test score adds to the mean test score over the first "
        f"{results.table.search_runs} seeds (never negative; on average larger over few seeds than over many):"
    )
    if not columns:
        return f"{start}\n\n{NONE_COMPLETE}"
    lines: list[list[str]] = []
    by_candidates: dict[int, list[float]] = {}
    for row in results.table.rows:
        gains = [gain_by_test(results, row, column, evidence.records) for column in columns]
        number = results.table.num_candidates(row)
        by_candidates.setdefault(number, []).extend(gains)
        lines.append([row.label, str(number), *(f"{gain:+.2f}" for gain in gains), f"{fmean(gains):+.2f}"])
    words = [f"{fmean(gains):.2f} points with {number} candidates" for number, gains in sorted(by_candidates.items())]
    header = ["", "candidates", *(column.label for column in columns), "mean"]
    end = f"A choice by test score is worth {listed(words)}: more candidates gain more from it."
    if len(by_candidates) < 2 or fmean(by_candidates[max(by_candidates)]) <= fmean(by_candidates[min(by_candidates)]):
        end = f"A choice by test score is worth {listed(words)}."
    return f"{start}\n\n{table_lines(header, lines)}\n\n{end}"


def few_seeds(evidence: Evidence) -> str:
    """How far a look at the first seeds alone is from the result over all of them."""
    results = evidence.results("table1", AS_PAPER)
    columns = ranked_columns(results)
    if not columns:
        return NONE_COMPLETE
    count = results.table.search_runs
    rows = results.table.rows
    gains = {row.name: [gain_of_first_seeds(results, row, column) for column in columns] for row in rows}
    means = [fmean(gains[row.name][number] for row in rows) for number in range(len(columns))]
    lines = [[row.label, *(f"{gain:+.2f}" for gain in gains[row.name])] for row in rows]
    lines.append(["mean", *(f"{mean:+.2f}" for mean in means)])
    largest = max(range(len(columns)), key=lambda number: abs(means[number]))
    return "\n\n".join(
        [
            f"Each seed has its own split into training, validation and test graphs. The first {count} seeds choose "
            "the hyper-parameters by their validation graphs. Mean test score over these seeds minus that over all "
            "seeds, of the chosen candidate, in points:",
            table_lines(["", *(column.label for column in columns)], lines),
            f"The difference is largest on {columns[largest].label}: {means[largest]:+.2f} points in the mean over "
            "all models. A comparison with the paper over these seeds alone would be off by that much; this page "
            "compares means over all seeds only.",
        ]
    )
