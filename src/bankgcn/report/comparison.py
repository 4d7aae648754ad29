"""A comparison of models from records: scores with intervals, a constant prediction, and paired tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from bankgcn.choices import pick
from bankgcn.experiments.paper.layout import Table
from bankgcn.experiments.significance import FEWEST, corrected_interval
from bankgcn.metrics import METRICS, Metric
from bankgcn.report.cells import choice, runs, score
from bankgcn.report.compared import ComparedModels, Line
from bankgcn.report.comparison_notes import footer, notes_of
from bankgcn.report.fields import MISSING, count, difference, exact, mean_std, number, p_value, unit
from bankgcn.report.results import Records, collect
from bankgcn.report.sheet import WRITERS, Block, Cell, Sheet, write_sheet

LONG_HEADER = (
    *("dataset", "metric", "unit", "model", "mean", "std", "interval_low", "interval_high"),
    *("runs", "runs_wanted", "diverged", "weight_decay", "gamma", "layer_parameters"),
    *("reference", "difference", "p_holm", "p_t_test", "p_wilcoxon", "wins", "ties", "losses"),
    "target",
)
MODELS_ABREAST = 4  # columns of models in the table of targets
TARGET_WIDTH = 24  # characters of the name of a target


def render_comparison(table: Table, records: Records, form: str = "text", notes: bool = False) -> str:
    """A comparison of models. The same records give the same text, byte for byte.

    Args:
        table: The comparison, see :func:`~bankgcn.experiments.comparison.comparison_table`.
        records: Records by the keys of their runs. The table marks missing ones.
        form: ``"text"``, ``"markdown"``, ``"latex"``, or ``"csv"``.
        notes: Whether to add chosen hyper-parameters, further statistics and all notes.
    """
    pick(WRITERS, form, "format")
    compared = ComparedModels(results=collect(_with_sizes(table, records), records))
    return write_sheet(SHEETS.get(form, sheet)(compared), form, notes)


def sheet(compared: ComparedModels) -> Sheet:
    """One line for each model, narrow enough for a terminal of 80 columns."""
    metric = compared.metric
    rows = []
    for line, p in zip(compared.lines, compared.adjusted, strict=True):
        cells = [Cell(line.label), Cell(_score(line, metric)), Cell(_interval(line, compared)), Cell(_runs(line))]
        versus = ["reference", ""] if line.cell is compared.reference else [MISSING, MISSING]
        if line.versus is not None:
            versus = [difference(line.versus.difference, metric), p_value(p)]
        rows.append((*cells, *map(Cell, versus)))
    title = f"Test {metric.label}{unit(metric)}, mean ± std"
    header = ("", "score", "95 % interval", "runs", "difference", "p")
    return Sheet(
        title=compared.results.table.title,
        blocks=(Block(title=title, header=header, rows=tuple(rows)), *_target_blocks(compared)),
        footer=tuple(footer(compared)),
        details=(_details(compared),),
        notes=tuple(notes_of(compared)),
    )


def _target_blocks(compared: ComparedModels) -> Iterator[Block]:
    """A row for each value or label, with the mean score of each model, in blocks that fit 80 columns."""
    if not compared.target_lines:
        return
    metric = METRICS[compared.metric.of_one or compared.column.metric]
    labels = [line.label for line in next(iter(compared.target_lines.values()))]
    for first in range(0, len(labels), MODELS_ABREAST):
        part = slice(first, first + MODELS_ABREAST)
        rows = []
        for target, lines in compared.target_lines.items():
            name = target if len(target) <= TARGET_WIDTH else f"{target[: TARGET_WIDTH - 3]}..."
            rows.append((Cell(name), *(Cell(number(line.spread.mean, metric)) for line in lines[part])))
        title = f"Test {metric.label}{unit(metric)} of each target, mean"
        yield Block(title=title, header=("", *labels[part]), rows=tuple(rows))


def long(compared: ComparedModels) -> Sheet:
    """One line for each model, in full precision; below them, one for each model and target of several."""
    rows = []
    for line, p in zip(compared.lines, compared.adjusted, strict=True):
        rows.append(tuple(Cell(exact(value)) for value in (*_long_line(compared, line, p), None)))
    for target, lines in compared.target_lines.items():
        for line in lines:
            values = _long_line(compared, line, math.nan)
            values[1] = compared.metric.of_one or compared.column.metric
            rows.append(tuple(Cell(exact(value)) for value in (*values, target)))
    block = Block(title="", header=LONG_HEADER, rows=tuple(rows))
    return Sheet(title="", blocks=(block,), footer=tuple(footer(compared)), notes=tuple(notes_of(compared)))


SHEETS: dict[str, Callable[[ComparedModels], Sheet]] = {"csv": long}
"""The layouts of formats that are not for readers."""


def _with_sizes(table: Table, records: Records) -> Table:
    """The table with the share of test graphs that its records have."""
    (column,) = table.columns
    own = (records[config.key] for config in table.configs() if config.key in records)
    sizes = next((record.split_sizes for record in own if record.split_sizes), None)
    ratio = sizes[2] / sizes[0] if sizes and sizes[0] else column.test_to_train
    return replace(table, columns=(replace(column, test_to_train=ratio),))


def _score(line: Line, metric: Metric) -> str:
    if line.cell is not None:
        return score(line.cell)
    return mean_std(line.spread.mean, line.spread.std, metric)


def _interval(line: Line, compared: ComparedModels) -> str:
    low, high = _bounds(line, compared)
    if math.isnan(low):
        return "too few runs" if 0 < line.spread.count < FEWEST else MISSING
    return f"{number(low, compared.metric)} to {number(high, compared.metric)}"


def _bounds(line: Line, compared: ComparedModels) -> tuple[float, float]:
    """The interval of the mean, NaN for too few runs; that of a percentage stays between 0 and 100."""
    if line.spread.count < FEWEST:
        return math.nan, math.nan
    low, high = corrected_interval(line.scores, compared.column.overlap)
    return (max(0.0, low), min(100.0, high)) if compared.metric.percent and not math.isnan(low) else (low, high)


def _runs(line: Line) -> str:
    return runs(line.cell) if line.cell is not None else str(line.spread.count)


def _details(compared: ComparedModels) -> Block:
    rows = []
    for line in compared.lines:
        cell, versus = line.cell, line.versus
        chosen = choice(cell, compared.results.table.grid) if cell else ""
        tests = [p_value(versus.t_test), p_value(versus.wilcoxon)] if versus else ["", ""]
        wins = f"{versus.wins}/{versus.ties}/{versus.losses}" if versus else ""
        parameters = count(cell.layer_parameters) if cell else ""
        rows.append(tuple(map(Cell, (line.label, chosen, *tests, wins, parameters))))
    header = ("", "chosen", "p (t)", "p (W)", "w/t/l", "para/layer")
    return Block(title="Choices and further statistics", header=header, rows=tuple(rows))


def _long_line(compared: ComparedModels, line: Line, p: float) -> list[object]:
    cell, versus = line.cell, line.versus
    train = cell.chosen.train if cell is not None and cell.chosen is not None else None
    tests: list[object] = [None] * 8
    if versus is not None:
        tests = [compared.reference.row.label, versus.difference, p, versus.t_test, versus.wilcoxon]
        tests += [versus.wins, versus.ties, versus.losses]
    return [
        *(compared.column.label, compared.column.metric, "%" if compared.metric.percent else None),
        *(line.label, line.spread.mean, line.spread.std, *_bounds(line, compared)),
        *((cell.ran, len(cell.records), cell.diverged) if cell else (line.spread.count, len(line.scores), None)),
        *(train.weight_decay if train else None, train.gamma if train and cell and cell.row.has_pairs else None),
        *(cell.layer_parameters if cell else None, *tests),
    ]
