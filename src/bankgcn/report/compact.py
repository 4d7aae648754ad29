"""A table that reads like the paper's: models by datasets, the paper's figure below ours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bankgcn.experiments.paper.layout import STAND_INS, Column, Row
from bankgcn.metrics import METRICS
from bankgcn.report.fields import MISSING, count, number, unit
from bankgcn.report.notes import footer, notes_of
from bankgcn.report.results import Result, Results, title_of
from bankgcn.report.sheet import TERMINAL_WIDTH, Block, Cell, Sheet

LEVEL = 0.05
"""A p-value below this level counts as a difference."""

AHEAD, BEHIND = "↑", "↓"
NOT_RUN = "not run"
NO_DATA = "no data"
PARAMETERS = "para/layer"


def compact(results: Results, form: str = "text") -> Sheet:
    """One block with the scores, and the parameters of a layer where the paper has them.

    Plain text has several blocks if the datasets do not fit a terminal of 80 columns.

    Args:
        results: The cells of the table.
        form: The format that the sheet is written in. Plain text has no bold and needs aligned marks.
    """
    groups = list(_wrapped(results)) if form == "text" else [results.table.columns]
    last = _block(results, groups[-1], form)
    return Sheet(
        title=title_of(results),
        blocks=(
            *(_block(results, columns, form) for columns in groups[:-1]),
            _with_parameters(last, results, groups[-1]) if results.table.parameters else last,
        ),
        footer=(_legend(results, form), *footer(results)),
        notes=notes_of(results),
    )


def mark_of(results: Results, row: Row, column: Column) -> str:
    """An arrow up or down if the row is better or worse than the reference by the paired test; otherwise nothing."""
    sign = verdict(results, row, column)
    return {1: AHEAD, -1: BEHIND}.get(sign, "")


def parameters_of(results: Results, row: Row) -> str:
    """The parameters of a hidden layer; several numbers if the datasets have layers of different widths."""
    known = {results.at(row, column).layer_parameters for column in results.table.columns}
    return " / ".join(map(count, sorted(number for number in known if number)))


def verdict(results: Results, row: Row, column: Column) -> int:
    """Whether the row is better (1) or worse (-1) than the reference by the paired test; 0 if neither is shown."""
    versus = results.comparison(row, column)
    if versus is None or math.isnan(versus.t_test) or versus.t_test >= LEVEL:
        return 0
    return 1 if (versus.difference > 0) == results.at(row, column).metric.higher_is_better else -1


def _block(results: Results, columns: Sequence[Column], form: str) -> Block:
    pad = " " if form == "text" else ""
    rows = []
    for row in results.table.rows:
        cells = [results.at(row, column) for column in columns]
        marks = [mark_of(results, row, column) for column in columns]
        ours = [
            Cell(_ours(cell) + (mark or pad), bold=results.is_best(row, cell.column))
            for cell, mark in zip(cells, marks, strict=True)
        ]
        rows.append((Cell(row.label), *ours))
        if any(cell.published for cell in cells):
            label = {"text": "  paper", "csv": f"{row.label}, paper"}.get(form, "paper")
            rows.append((Cell(label), *(Cell(_papers(cell) + pad) for cell in cells)))
    metrics = {column.metric for column in columns}
    title, labels = "Test score, mean ± std", [_label(column) for column in columns]
    if len(metrics) == 1:
        metric = METRICS[metrics.pop()]
        title, labels = f"Test {metric.label}{unit(metric)}, mean ± std", [column.label for column in columns]
    return Block(title=title, header=("", *(label + pad for label in labels)), rows=tuple(rows))


def _with_parameters(block: Block, results: Results, columns: Sequence[Column]) -> Block:
    """The block of these columns with one more: the parameters of a hidden layer, and the paper's counts of them."""
    counts = []
    for row in results.table.rows:
        counts.append(parameters_of(results, row) or MISSING)
        if any(results.at(row, column).published for column in columns):
            counts.append(count(results.table.parameters.get(row.name)))
    rows = tuple((*row, Cell(number)) for row, number in zip(block.rows, counts, strict=True))
    return Block(title=block.title, header=(*block.header, PARAMETERS), rows=rows)


def _label(column: Column) -> str:
    metric = METRICS[column.metric]
    return f"{column.label} ({metric.label}{unit(metric)})"


def _wrapped(results: Results) -> Iterator[list[Column]]:
    """The columns in groups that fit a terminal, as even as the order allows."""
    table = results.table
    label = max(len(row.label) for row in table.rows)
    widths = [max(len(_label(column)), len("100.00±10.00")) + 3 for column in table.columns]
    if len({column.metric for column in table.columns}) == 1:
        widths = [max(len(column.label), len("100.00±10.00")) + 3 for column in table.columns]
    if table.parameters:
        widths[-1] += len(PARAMETERS) + 2  # it follows the last dataset
    group: list[Column] = []
    used = label
    for column, width in zip(table.columns, widths, strict=True):
        if group and used + width > TERMINAL_WIDTH:
            yield group
            group, used = [], label
        group.append(column)
        used += width
    yield group


def _ours(cell: Result) -> str:
    if not cell.spread.count:
        return NO_DATA if cell.column.dataset in STAND_INS else NOT_RUN
    return _figure(cell, cell.spread.mean, cell.spread.std) + ("" if cell.complete else "*")


def _papers(cell: Result) -> str:
    return _figure(cell, *cell.published) if cell.published else MISSING


def _figure(cell: Result, mean: float, std: float) -> str:
    """A mean with its deviation, without spaces, as the paper prints it."""
    deviation = "" if math.isnan(std) else f"±{number(std, cell.metric)}"
    return f"{number(mean, cell.metric)}{deviation}"


def _legend(results: Results, form: str) -> str:
    published = any(cell.published for cell in results.cells.values())
    words = ["Below ours: the paper's figures" if published else "All figures are ours"]
    words += [] if form in ("text", "csv") else ["bold: the best of ours"]
    if results.reference is not None:
        test = "corrected paired t-test" if results.table.columns[0].drawn_splits else "paired t-test"
        words.append(f"{BEHIND} or {AHEAD}: worse or better than {results.reference.label}, {test}, p < {LEVEL:g}")
    if any(_ours(cell) == NO_DATA for cell in results.cells.values()):
        words.append(f"{NO_DATA}: the dataset cannot be downloaded")
    return f"{'; '.join(words)}."
