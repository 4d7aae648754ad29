"""A table as a long list for programs: one line for each cell, in full precision."""

from __future__ import annotations

from bankgcn.experiments.paper.layout import Column, Row
from bankgcn.report.fields import exact
from bankgcn.report.notes import footer, notes_of
from bankgcn.report.results import Results, title_of
from bankgcn.report.sheet import Block, Cell, Sheet

LONG_HEADER = (
    *("table", "dataset", "metric", "unit", "method", "mean", "std", "runs", "runs_wanted", "diverged"),
    *("grid_runs", "grid_runs_wanted", "selection", "search_runs", "weight_decay", "gamma", "normalize"),
    *("layer_parameters", "paper_mean", "paper_std", "decrease", "paper_decrease"),
    *("reference", "difference", "p_t_test", "p_wilcoxon", "wins", "ties", "losses", "pairs_dropped"),
)


def long(results: Results) -> Sheet:
    """One line for each cell, in full precision."""
    rows = tuple(
        tuple(Cell(exact(value)) for value in _long_line(results, row, column))
        for column in results.table.columns
        for row in results.table.rows
    )
    block = Block(title="", header=LONG_HEADER, rows=rows)
    return Sheet(title=title_of(results), blocks=(block,), footer=footer(results), notes=notes_of(results))


def _long_line(results: Results, row: Row, column: Column) -> list[object]:
    cell, versus = results.at(row, column), results.comparison(row, column)
    train = cell.chosen.train if cell.chosen else None
    compared: list[object] = [None] * 8
    if results.reference is not None and versus is not None:
        compared = [results.reference.label, versus.difference, versus.t_test, versus.wilcoxon]
        compared += [versus.wins, versus.ties, versus.losses, versus.dropped]
    return [
        *(results.table.name, column.label, column.metric, "%" if cell.metric.percent else None),
        *(row.label, cell.spread.mean, cell.spread.std),
        *(cell.ran, len(cell.records), cell.diverged, cell.done, cell.total, results.rule, results.table.search_runs),
        *(train.weight_decay if train else None, train.gamma if train and row.has_pairs else None),
        *(cell.chosen.model.normalize if cell.chosen else None, cell.layer_parameters),
        *(cell.published or (None, None)),
        *(results.decrease(row, column) or (None, None)),
        *compared,
    ]
