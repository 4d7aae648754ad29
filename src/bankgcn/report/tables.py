"""The paper's tables from records: a block for each dataset to read, a matrix to publish, a long list for programs."""

from __future__ import annotations

from collections.abc import Callable

from bankgcn.choices import pick
from bankgcn.experiments.paper.layout import Column, Row, Table
from bankgcn.experiments.selection import SelectionRule
from bankgcn.experiments.significance import Comparison
from bankgcn.metrics import METRICS
from bankgcn.report.cells import choice, choice_and_runs, published, runs, score
from bankgcn.report.compact import PARAMETERS, compact, parameters_of
from bankgcn.report.fields import MISSING, count, difference, p_value, percentage, unit
from bankgcn.report.long import long
from bankgcn.report.notes import footer, notes_of
from bankgcn.report.results import Records, Result, Results, collect, title_of
from bankgcn.report.sheet import WRITERS, Block, Cell, Sheet, write_sheet


def render_table(
    table: Table,
    records: Records,
    rule: SelectionRule = "validation",
    form: str = "text",
    notes: bool = False,
    layout: str = "full",
) -> str:
    """A table of the paper. The same records give the same text, byte for byte.

    Args:
        table: The table.
        records: Records by the keys of their runs. The table marks missing ones.
        rule: How hyper-parameters are chosen; see :func:`~bankgcn.report.results.collect`.
        form: ``"text"``, ``"markdown"``, ``"latex"``, or ``"csv"``.
        notes: Whether to add chosen hyper-parameters, further statistics and all notes.
        layout: ``"full"``: with differences, p-values and runs. ``"paper"``: one block like the paper's.
    """
    pick(WRITERS, form, "format")
    make_sheet = pick(LAYOUTS, layout, "layout")
    return write_sheet(make_sheet(collect(table, records, rule), form), form, notes)


def by_dataset(results: Results) -> Sheet:
    """One block for each dataset, narrow enough for a terminal of 80 columns."""
    columns = results.table.columns
    reduced = [column for column in columns if column.relative_to]
    return Sheet(
        title=title_of(results),
        blocks=(
            *(_dataset_block(results, column) for column in columns),
            *(_decrease_block(results, column) for column in reduced),
        ),
        footer=footer(results),
        details=tuple(_details_block(results, column) for column in columns),
        notes=notes_of(results),
    )


def matrix(results: Results) -> Sheet:
    """Networks by datasets as in the paper, with the paper's figures below ours; then the differences."""
    blocks = [_score_block(results)]
    if results.reference is not None:
        title = f"Difference to {results.reference.label} (p of the t-test; wins/ties/losses)"
        blocks.append(_matrix_block(results, title, lambda row, column: _comparison(results, row, column)))
    title = "Chosen hyper-parameters (runs of the chosen candidate; runs of the grid, if some are missing)"
    choices = _matrix_block(
        results, title, lambda row, column: choice_and_runs(results.at(row, column), results.table.grid)
    )
    return Sheet(
        title=title_of(results),
        blocks=tuple(blocks),
        footer=footer(results),
        details=(choices,),
        notes=notes_of(results),
    )


_FULL: dict[str, Callable[[Results], Sheet]] = {
    "text": by_dataset,
    "markdown": matrix,
    "latex": matrix,
    "csv": long,
}


def _full(results: Results, form: str) -> Sheet:
    return _FULL[form](results)


LAYOUTS: dict[str, Callable[[Results, str], Sheet]] = {"full": _full, "paper": compact}
"""The layouts of a table. Each takes the results and the format."""


def _dataset_block(results: Results, column: Column) -> Block:
    cells = [results.at(row, column) for row in results.table.rows]
    has_published = any(cell.published for cell in cells)
    header = ["", "ours", *(["paper"] if has_published else []), "runs"]
    header += ["difference", "p"] if results.reference else []
    rows = []
    for cell in cells:
        line = [cell.row.label, score(cell), *([published(cell)] if has_published else []), runs(cell)]
        line += _difference_and_p(results, cell)
        rows.append(tuple(map(Cell, line)))
    metric = METRICS[column.metric]
    title = f"{column.label}: test {metric.label}{unit(metric)}, mean ± std"
    return Block(title=title, header=tuple(header), rows=tuple(rows))


def _decrease_block(results: Results, column: Column) -> Block:
    rows = []
    for row in results.table.rows:
        ours, papers = results.decrease(row, column) or (float("nan"), float("nan"))
        rows.append((Cell(row.label), Cell(percentage(ours)), Cell(percentage(papers))))
    title = f"{column.label}: decrease relative to {column.relative_to}"
    return Block(title=title, header=("", "ours", "paper"), rows=tuple(rows))


def _details_block(results: Results, column: Column) -> Block:
    header = ["", "chosen", *(["p (W)", "w/t/l"] if results.reference else []), PARAMETERS]
    rows = []
    for row in results.table.rows:
        cell, versus = results.at(row, column), results.comparison(row, column)
        line = [row.label, choice(cell, results.table.grid)]
        if results.reference:
            line += [p_value(versus.wilcoxon), _wins(versus)] if versus else ["", ""]
        rows.append(tuple(map(Cell, [*line, count(cell.layer_parameters)])))
    return Block(title=f"{column.label}: choices and further statistics", header=tuple(header), rows=tuple(rows))


def _score_block(results: Results) -> Block:
    columns = results.table.columns
    rows = []
    for row in results.table.rows:
        ours, papers = [Cell(row.label)], [Cell(f"{row.label}, paper")]
        for column in columns:
            cell = results.at(row, column)
            ours.append(Cell(score(cell), bold=results.is_best(row, column)))
            papers.append(Cell(published(cell)))
            decrease = results.decrease(row, column)
            if decrease:
                ours.append(Cell(percentage(decrease[0])))
                papers.append(Cell(percentage(decrease[1])))
        ours.append(Cell(parameters_of(results, row)))
        papers.append(Cell(count(results.table.parameters.get(row.name))))
        rows.append(tuple(ours))
        if any(results.at(row, column).published for column in columns):
            rows.append(tuple(papers))
    title, header = _score_header(columns)
    return Block(title=title, header=header, rows=tuple(rows))


def _score_header(columns: tuple[Column, ...]) -> tuple[str, tuple[str, ...]]:
    """Title and header of the scores. The title names the metric if there is one; otherwise each column does."""
    metrics = {column.metric: METRICS[column.metric] for column in columns}
    shared = next(iter(metrics.values())) if len(metrics) == 1 else None
    header = [""]
    for column in columns:
        metric = metrics[column.metric]
        header.append(column.label if shared else f"{column.label} ({metric.label}{unit(metric)})")
        header += ["decrease"] if column.relative_to else []
    what = f"{shared.label}{unit(shared)}" if shared else "score"
    return f"Test {what}, mean ± std; the best of ours in bold", (*header, PARAMETERS)


def _matrix_block(results: Results, title: str, field: Callable[[Row, Column], str]) -> Block:
    columns = results.table.columns
    rows = tuple((Cell(row.label), *(Cell(field(row, column)) for column in columns)) for row in results.table.rows)
    return Block(title=title, header=("", *(column.label for column in columns)), rows=rows)


def _difference_and_p(results: Results, cell: Result) -> list[str]:
    if results.reference is None:
        return []
    if cell.row.name == results.reference.name:
        return ["reference", ""]
    versus = results.comparison(cell.row, cell.column)
    return [difference(versus.difference, cell.metric), p_value(versus.t_test)] if versus else ["", ""]


def _comparison(results: Results, row: Row, column: Column) -> str:
    versus, metric = results.comparison(row, column), results.at(row, column).metric
    if versus is None:
        return MISSING
    return f"{difference(versus.difference, metric)} ({p_value(versus.t_test)}; {_wins(versus)})"


def _wins(versus: Comparison) -> str:
    return f"{versus.wins}/{versus.ties}/{versus.losses}"
