"""The section of the document on Table 4: large datasets, few runs, nothing chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from bankgcn.experiments.paper.layout import Column, Row
from bankgcn.experiments.paper.settings import AS_PAPER
from bankgcn.experiments.paper.tables import TABLES
from bankgcn.report.compact import NOT_RUN
from bankgcn.report.document.evidence import Evidence, planned_rows
from bankgcn.report.document.findings import BLIND, gap, rows_apart
from bankgcn.report.document.pictures import show_all
from bankgcn.report.document.sections import adjusted_marks, table_of
from bankgcn.report.document.wording import NOT_YET, bullets, counted, labels, listed, table_lines
from bankgcn.report.dot_plot import occupied_columns
from bankgcn.report.fields import MISSING
from bankgcn.report.results import Results

LENGTHS = "Number of models on each dataset, number of their runs, and the epoch after which each run ended:"
DECREASE = "Change from the whole dataset to the reduced one, in percent of the score; ours, then the paper's:"


def large_datasets(evidence: Evidence, files: Mapping[str, bytes]) -> str:
    """Table 4 in words, figures and differences."""
    results = evidence.results("table4", AS_PAPER)
    columns = occupied_columns(results)
    if not columns:
        return NOT_YET
    return "\n\n".join(
        [
            table_of(results),
            *adjusted_marks(results, columns),
            *show_all("table4", AS_PAPER, files),
            bullets([_summary(results, column) for column in columns]),
            *_same_figures(results, columns),
            *_differences(results, columns),
            *_decreases(results, columns),
            LENGTHS,
            _lengths(results, columns),
        ]
    )


def _summary(results: Results, column: Column) -> str:
    """Which model is the best here and in the paper, and what the paired test says about BankGCN and the MLP."""
    rows = [row for row in results.table.rows if results.at(row, column).spread.count]
    best = max(rows, key=lambda row: results.at(row, column).spread.mean)
    words = f"{column.label}: {best.label} has the highest mean of {counted(len(rows), 'model')}"
    figures = {row.label: figure.mean for row in rows if (figure := results.at(row, column).published)}
    words += f"; in the paper, {max(figures, key=figures.__getitem__)}." if figures else "."
    words += _cut_off(results, column)
    if column.runs == 1:
        return f"{words} With one run, there is no test."
    if results.reference in rows:
        better, worse = rows_apart(results, results.reference.name, column)
        words += (
            f" By the paired test over {column.runs} seeds, {results.reference.label} is ahead of {_named(worse)} and "
            f"behind {_named(better)}."
        )
    if BLIND in [row.name for row in rows]:
        better, worse = rows_apart(results, BLIND, column)
        words += f" The MLP without edges is ahead of {_named(worse)} and behind {_named(better)}."
    return words


def _same_figures(results: Results, columns: Sequence[Column]) -> list[str]:
    """Which columns stand beside the same figures of the paper, and which is nearest to them."""
    sentences = []
    for first in columns:
        same = [column for column in columns if _published(results, column) == _published(results, first)]
        gaps = [[gap(results.at(row, column)) for column in same] for row in results.table.rows]
        rows = [row for row in gaps if not any(map(math.isnan, row))]
        if len(same) > 1 and same[0] is first and rows:
            means = [fmean(map(abs, distances)) for distances in zip(*rows, strict=True)]
            listing = listed([f"{column.label} {mean:.2f}" for column, mean in zip(same, means, strict=True)])
            sentences.append(
                f"{labels(same)} stand beside the same figures, because the paper does not say which of them it has. "
                f"Mean absolute difference to these figures over {counted(len(rows), 'model')}, in points: {listing}."
            )
    return sentences


def _published(results: Results, column: Column) -> list[object]:
    return [results.at(row, column).published for row in results.table.rows]


def _cut_off(results: Results, column: Column) -> str:
    """How many runs a limit below the paper's has ended."""
    limit, papers = _most_epochs(column), _most_epochs(_papers(results, column))
    ended = [record.epochs for row in results.table.rows for record in results.at(row, column).records if record]
    reached = sum(epochs >= limit for epochs in ended)
    if not reached or limit >= papers:
        return ""
    return (
        f" {reached} of {counted(len(ended), 'run')} ended at the limit of {limit} epochs (paper: {papers}); "
        "a longer training may raise their scores."
    )


def _named(rows: Sequence[Row]) -> str:
    return labels(rows) or "no model"


def _differences(results: Results, columns: Sequence[Column]) -> list[str]:
    """Each row minus the reference, here and in the paper."""
    reference = results.reference
    if reference is None:
        return []

    def pair(row: Row, column: Column) -> tuple[float, float]:
        first, second = results.at(row, column), results.at(reference, column)
        ours = first.spread.mean - second.spread.mean
        if first.published is None or second.published is None:
            return ours, math.nan
        return ours, first.published.mean - second.published.mean

    rows = [row for row in results.table.rows if row.name != reference.name]
    start = f"Differences are the row minus {reference.label}, in points; ours, then the paper's:"
    return _pairs(start, rows, columns, pair)


def _decreases(results: Results, columns: Sequence[Column]) -> list[str]:
    """How much of the score is lost with few training graphs, here and in the paper."""
    reduced = [column for column in columns if column.relative_to is not None]
    return _pairs(DECREASE, results.table.rows, reduced, lambda row, column: results.decrease(row, column) or _UNKNOWN)


_UNKNOWN = (math.nan, math.nan)


def _pairs(
    start: str, rows: Sequence[Row], columns: Sequence[Column], pair: Callable[[Row, Column], tuple[float, float]]
) -> list[str]:
    """A table of two figures in each cell, without the rows and columns that have none of ours."""
    found = {(row.name, column.name): pair(row, column) for row in rows for column in columns}
    known = {key for key, (ours, _) in found.items() if not math.isnan(ours)}
    columns = [column for column in columns if any((row.name, column.name) in known for row in rows)]
    rows = [row for row in rows if any((row.name, column.name) in known for column in columns)]
    if not rows:
        return []
    lines = [[row.label, *(_both(found[row.name, column.name]) for column in columns)] for row in rows]
    return [start, table_lines(["", *(column.label for column in columns)], lines)]


def _both(values: tuple[float, float]) -> str:
    return "; ".join(MISSING if math.isnan(value) else f"{value:+.2f}" for value in values)


def _lengths(results: Results, columns: Sequence[Column]) -> str:
    """How many models and runs the columns have, and after how many epochs the runs ended."""
    table = results.table
    models = [f"{len(planned_rows(table, column))} of {len(table.rows)}" for column in columns]
    runs = [f"{column.runs} (paper: {_papers(results, column).runs})" for column in columns]
    most = [f"{_most_epochs(column)} (paper: {_most_epochs(_papers(results, column))})" for column in columns]
    lines = [["models", *models], ["runs", *runs], ["epochs at most", *most]]
    for row in table.rows:
        ended = [[record.epochs for record in results.at(row, column).records if record] for column in columns]
        if any(ended):
            lines.append([row.label, *(", ".join(map(str, epochs)) or NOT_RUN for epochs in ended)])
    return table_lines(["", *(column.label for column in columns)], lines)


def _papers(results: Results, column: Column) -> Column:
    """The column as the paper has it."""
    return next(each for each in TABLES[results.table.name].columns if each.name == column.name)


def _most_epochs(column: Column) -> int:
    return column.base.train.max_epochs
