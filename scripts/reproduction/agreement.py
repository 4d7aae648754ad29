"""Ours beside the paper's: what reproduces, where the l2 normalisation stands, what a choice by test score is worth."""

from __future__ import annotations

import math
from statistics import fmean

from bankgcn.experiments.design import Column, Row
from bankgcn.experiments.paper import AS_PAPER, L2_PLACES
from bankgcn.report.results import Cell
from bankgcn.report.sheet import MISSING, counted, difference
from bankgcn.report.tables import NOT_RUN
from reproduction.evidence import PLACE_SETTINGS, Evidence
from reproduction.findings import (
    columns_chosen_by_test,
    compared_cells,
    gain_by_test,
    gain_of_first_seeds,
    gap,
    nearness,
    position,
    standard_error,
    validation_score,
)
from reproduction.markdown import NONE_COMPLETE, bullets, listed, table_lines


def what_reproduces(evidence: Evidence) -> str:
    """Our mean minus the paper's in every cell, and the likely reason where they are far apart."""
    results = evidence.results("table1", AS_PAPER)
    cells = compared_cells(results)
    if not cells:
        return NONE_COMPLETE
    columns = [column for column in results.design.columns if any(cell.column == column for cell in cells)]
    rows = [row for row in results.design.rows if any(cell.row == row for cell in cells)]
    lines = [[row.label, *(_gap(results.at(row, column)) for column in columns), _mean_gap(cells, row)] for row in rows]
    close = sum(abs(gap(cell)) <= 2 * standard_error(cell) for cell in cells)
    far = [cell for cell in cells if position(cell) != "within" or abs(gap(cell)) > 2 * standard_error(cell)]
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


def _gap(cell: Cell) -> str:
    return f"{difference(gap(cell), cell.metric)} {position(cell)}" if cell.spread.count and cell.published else MISSING


def _mean_gap(cells: list[Cell], row: Row) -> str:
    return f"{fmean(gap(cell) for cell in cells if cell.row == row):+.2f}"


def _reason(evidence: Evidence, cell: Cell) -> str:
    """The likely reason of a large difference: what a choice by test is worth, and whether another place is nearer."""
    results = evidence.results("table1", AS_PAPER)
    worth = gain_by_test(results, cell.row, cell.column, evidence.records)
    if gap(cell) > 0:
        clauses = [f"A choice by test score, as the paper's appears to be, would raise ours by {worth:.2f} more"]
    elif worth >= -gap(cell):
        clauses = [f"A choice by test score is worth {worth:.2f} points, which explains it"]
    else:
        clauses = [f"A choice by test score is worth {worth:.2f} points, which does not explain it"]
    others = {
        place: abs(gap(other))
        for place, setting in PLACE_SETTINGS.items()
        if place not in AS_PAPER.grid.normalize
        and (other := evidence.results("table1", setting).at(cell.row, cell.column)).spread.count
    }
    nearer = [f"{L2_PLACES[place]} is nearer ({size:.2f})" for place, size in others.items() if size < abs(gap(cell))]
    clauses += nearer or (["no other place of l2 is nearer"] if others else ["other places of l2 are not run"])
    return f"{cell.row.label} on {cell.column.label}: {gap(cell):+.2f}. {'; '.join(clauses)}."


def choice_by_test(evidence: Evidence) -> str:
    """Both ways of choosing hyper-parameters, over the seeds that choose, and how many points lie between them."""
    results = evidence.results("table1", AS_PAPER)
    columns = results.ranked_columns()
    equal, total = columns_chosen_by_test()
    start = (
        f"On {equal} of {total} datasets, the paper's figure of BankGCN (K=2, s=8) in Table 1 is the best test mean of "
        "its Table 3 over the gammas of its grid. So the paper appears to choose by test score; we choose by "
        f"validation score. Points that a choice by test score adds to the mean test score over the first "
        f"{results.design.search_runs} seeds (never negative; on average larger over few seeds than over many):"
    )
    if not columns:
        return f"{start}\n\n{NONE_COMPLETE}"
    lines: list[list[str]] = []
    by_candidates: dict[int, list[float]] = {}
    for row in results.design.rows:
        gains = [gain_by_test(results, row, column, evidence.records) for column in columns]
        number = results.design.num_candidates(row)
        by_candidates.setdefault(number, []).extend(gains)
        lines.append([row.label, str(number), *(f"{gain:+.2f}" for gain in gains), f"{fmean(gains):+.2f}"])
    gains_by_number = [
        f"{fmean(gains):.2f} points with {number} candidates" for number, gains in sorted(by_candidates.items())
    ]
    header = ["", "candidates", *(column.label for column in columns), "mean"]
    end = f"A choice by test score is worth {listed(gains_by_number)}: more candidates gain more from it."
    if len(by_candidates) < 2 or fmean(by_candidates[max(by_candidates)]) <= fmean(by_candidates[min(by_candidates)]):
        end = f"A choice by test score is worth {listed(gains_by_number)}."
    return f"{start}\n\n{table_lines(header, lines)}\n\n{end}"


def few_seeds(evidence: Evidence) -> str:
    """How far a look at the first seeds alone is from the result over all of them."""
    results = evidence.results("table1", AS_PAPER)
    columns = results.ranked_columns()
    if not columns:
        return NONE_COMPLETE
    count = results.design.search_runs
    rows = results.design.rows
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


def which_place(evidence: Evidence) -> str:
    """The setting question: which place of l2 is nearest to the paper, and which validates best."""
    return "\n\n".join(
        [
            "The paper does not say where its l2 normalisation stands. Each cell has the mean absolute difference to "
            "the paper over its rows, in points, and the rank correlation with its rows.",
            _nearness_table(evidence),
            _nearest(evidence),
            "Mean validation score of each model over the seeds that choose, at each place; the best first.",
            _validation_table(evidence),
            _validates_best(evidence),
        ]
    )


def _columns(evidence: Evidence) -> list[Column]:
    """The datasets that are complete with at least one place."""
    complete = {
        column.name
        for setting in PLACE_SETTINGS.values()
        for column in evidence.results("table1", setting).ranked_columns()
    }
    return [column for column in evidence.table("table1", AS_PAPER).columns if column.name in complete]


def _nearness_table(evidence: Evidence) -> str:
    columns = _columns(evidence)
    rows = []
    for setting in PLACE_SETTINGS.values():
        nearness_of_columns = [nearness(evidence.results("table1", setting), column) for column in columns]
        cells = [f"{near.mean_gap:.2f}; {near.correlation:+.2f}" if near else NOT_RUN for near in nearness_of_columns]
        rows.append([setting.label, *cells])
    return table_lines(["", *(column.label for column in columns)], rows) if columns else NONE_COMPLETE


def _nearest(evidence: Evidence) -> str:
    nearest, similar, total = dict.fromkeys(L2_PLACES, 0), dict.fromkeys(L2_PLACES, 0), 0
    for column in _columns(evidence):
        nearness_of = {
            place: near
            for place, setting in PLACE_SETTINGS.items()
            if (near := nearness(evidence.results("table1", setting), column))
        }
        if len(nearness_of) > 1:
            total += 1
            nearest[min(nearness_of, key=lambda place: nearness_of[place].mean_gap)] += 1
            similar[max(nearness_of, key=lambda place: nearness_of[place].correlation)] += 1
    if not total:
        return "No dataset has been run with two places yet, so there is nothing to compare."
    clauses = [
        f"{L2_PLACES[place]} is nearest on {nearest[place]} and orders the rows most like the paper on {similar[place]}"
        for place in L2_PLACES
        if nearest[place] or similar[place]
    ]
    return f"Of {counted(total, 'dataset')} with at least two places, {'; '.join(clauses)}."


def _validations(evidence: Evidence, row_index: int, column: Column) -> dict[str, float]:
    scores = {}
    for place, setting in PLACE_SETTINGS.items():
        table = evidence.table("table1", setting)
        score = validation_score(table, table.rows[row_index], column, evidence.records)
        if not math.isnan(score):
            scores[place] = score
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def _validation_table(evidence: Evidence) -> str:
    columns = _columns(evidence)
    if not columns:
        return NONE_COMPLETE
    lines = []
    for index, row in enumerate(evidence.table("table1", AS_PAPER).rows):
        cells = [_in_order(_validations(evidence, index, column)) for column in columns]
        lines.append([row.label, *(cell or NOT_RUN for cell in cells)])
    return table_lines(["", *(column.label for column in columns)], lines)


def _in_order(scores: dict[str, float]) -> str:
    """Places with their scores: ``before 72.00 > after 70.00``, with ``=`` where the printed digits are equal."""
    order = previous = ""
    for place, score in scores.items():
        printed = f"{score:.2f}"
        sign = " = " if printed == previous else " > "
        order = f"{order}{sign}{place} {printed}" if order else f"{place} {printed}"
        previous = printed
    return order


def _validates_best(evidence: Evidence) -> str:
    counts = dict.fromkeys(L2_PLACES, 0)
    for column in _columns(evidence):
        for index in range(len(evidence.table("table1", AS_PAPER).rows)):
            scores = _validations(evidence, index, column)
            if len(scores) > 1:
                counts[next(iter(scores))] += 1
    total = sum(counts.values())
    if not total:
        return "No model has been run with two places yet."
    shares = [f"{L2_PLACES[place]} for {number}" for place, number in counts.items() if number]
    return f"Of {counted(total, 'cell')} with at least two places, the best validation score has {listed(shares)}."
