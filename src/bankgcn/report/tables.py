"""Results as tables: blocks by dataset, a matrix or the paper's layout for readers, a long list for programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from bankgcn.experiments.design import Column, Design, Grid, Row
from bankgcn.experiments.paper import STAND_INS, Description
from bankgcn.experiments.search import SelectionRule
from bankgcn.experiments.statistics import LEVEL
from bankgcn.metrics import METRICS
from bankgcn.report.notes import footer, notes_of
from bankgcn.report.results import Cell, Records, Results, collect
from bankgcn.report.sheet import (
    MISSING,
    TERMINAL_WIDTH,
    WRITERS,
    Block,
    Entry,
    Sheet,
    count,
    difference,
    exact,
    mean_std,
    p_value,
    percentage,
    unit,
    write_sheet,
)
from bankgcn.settings import pick

AHEAD, BEHIND = "↑", "↓"
NOT_RUN = "not run"
NO_DATA = "no data"
PARAMETERS = "para/layer"


def render_table(
    design: Design,
    records: Records,
    rule: SelectionRule = "validation",
    form: str = "text",
    notes: bool = False,
    layout: str = "full",
) -> str:
    """A table of the paper. The same records give the same text, byte for byte.

    Args:
        design: The table.
        records: Records by the keys of their runs. The table marks missing ones.
        rule: How hyper-parameters are chosen; see :func:`~bankgcn.report.results.collect`.
        form: ``"text"``, ``"markdown"``, ``"latex"``, or ``"csv"``.
        notes: Whether to add chosen hyper-parameters, further statistics and all notes.
        layout: ``"full"``: with differences, p-values and runs. ``"paper"``: one block like the paper's.
    """
    pick(WRITERS, form, "format")
    make_sheet = pick(LAYOUTS, layout, "layout")
    return write_sheet(make_sheet(collect(design, records, rule), form), form, notes)


def by_dataset(results: Results) -> Sheet:
    """One block for each dataset, narrow enough for a terminal of 80 columns."""
    columns = results.design.columns
    reduced = [column for column in columns if column.relative_to]
    return Sheet(
        title=results.design.heading,
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
        results, title, lambda row, column: choice_and_runs(results.at(row, column), results.design.grid)
    )
    return Sheet(
        title=results.design.heading,
        blocks=tuple(blocks),
        footer=footer(results),
        details=(choices,),
        notes=notes_of(results),
    )


def _dataset_block(results: Results, column: Column) -> Block:
    cells = [results.at(row, column) for row in results.design.rows]
    has_published = any(cell.published for cell in cells)
    header = ["", "ours", *(["paper"] if has_published else []), "runs"]
    header += ["difference", "p"] if results.reference else []
    lines = []
    for cell in cells:
        papers = [published(cell)] if has_published else []
        lines.append([cell.row.label, score(cell), *papers, runs(cell), *_difference_and_p(results, cell)])
    metric = METRICS[column.metric]
    return Block.of(f"{column.label}: test {metric.label}{unit(metric)}, mean ± std", header, lines)


def _decrease_block(results: Results, column: Column) -> Block:
    unknown = math.nan, math.nan
    lines = [(row.label, *map(percentage, results.decrease(row, column) or unknown)) for row in results.design.rows]
    return Block.of(f"{column.label}: decrease relative to {column.relative_to}", ("", "ours", "paper"), lines)


def _details_block(results: Results, column: Column) -> Block:
    header = ["", "chosen", *(["p (W)", "w/t/l"] if results.reference else []), PARAMETERS]
    lines = []
    for row in results.design.rows:
        cell, versus = results.at(row, column), results.comparison(row, column)
        statistics = [p_value(versus.wilcoxon), versus.counts] if versus else ["", ""]
        chosen = choice(cell, results.design.grid)
        lines.append([row.label, chosen, *(statistics if results.reference else []), count(cell.layer_parameters)])
    return Block.of(f"{column.label}: choices and further statistics", header, lines)


def _score_block(results: Results) -> Block:
    columns = results.design.columns
    rows = []
    for row in results.design.rows:
        ours, papers = [Entry(row.label)], [Entry(f"{row.label}, paper")]
        for column in columns:
            cell = results.at(row, column)
            ours.append(Entry(score(cell), bold=results.is_best(row, column)))
            papers.append(Entry(published(cell)))
            decrease = results.decrease(row, column)
            if decrease:
                ours.append(Entry(percentage(decrease[0])))
                papers.append(Entry(percentage(decrease[1])))
        ours.append(Entry(parameters_of(results, row)))
        papers.append(Entry(count(results.design.parameters.get(row.name))))
        rows.append(tuple(ours))
        if any(results.at(row, column).published for column in columns):
            rows.append(tuple(papers))
    title, header = _score_header(columns)
    return Block(title=title, header=header, rows=tuple(rows))


def _score_header(columns: tuple[Column, ...]) -> tuple[str, tuple[str, ...]]:
    title, labels = _title_and_labels(columns)
    header = [""]
    for column, label in zip(columns, labels, strict=True):
        header += [label, "decrease"] if column.relative_to else [label]
    return f"{title}; the best of ours in bold", (*header, PARAMETERS)


def _title_and_labels(columns: Sequence[Column]) -> tuple[str, list[str]]:
    """What the scores are, and the labels of the columns. The title names the metric if there is one, or each label."""
    metrics = [METRICS[column.metric] for column in columns]
    metric_labels = [f"{metric.label}{unit(metric)}" for metric in metrics]
    if len({column.metric for column in columns}) == 1:
        return f"Test {metric_labels[0]}, mean ± std", [column.label for column in columns]
    labels = [f"{column.label} ({word})" for column, word in zip(columns, metric_labels, strict=True)]
    return "Test score, mean ± std", labels


def _matrix_block(results: Results, title: str, field: Callable[[Row, Column], str]) -> Block:
    columns = results.design.columns
    lines = [(row.label, *(field(row, column) for column in columns)) for row in results.design.rows]
    return Block.of(title, ("", *(column.label for column in columns)), lines)


def _difference_and_p(results: Results, cell: Cell) -> list[str]:
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
    return f"{difference(versus.difference, metric)} ({p_value(versus.t_test)}; {versus.counts})"


def score(cell: Cell) -> str:
    """Mean and standard deviation of ours; a star where runs are missing."""
    if not cell.spread.count:
        return MISSING
    mark = "" if cell.complete else " *"
    return mean_std(cell.spread.mean, cell.spread.std, cell.metric) + mark


def published(cell: Cell) -> str:
    """The paper's figure."""
    return mean_std(*cell.published, cell.metric) if cell.published else MISSING


def runs(cell: Cell) -> str:
    """Number of runs of the chosen candidate, of how many if some are missing, and how many of them diverged."""
    wanted = len(cell.records)
    number = f"{cell.ran}" if cell.ran == wanted else f"{cell.ran}/{wanted}"
    return f"{number} ({cell.diverged} diverged)" if cell.diverged else number


def choice(cell: Cell, grid: Grid) -> str:
    """The chosen hyper-parameters; the place of l2 only if it is not the default or several are chosen from."""
    if cell.chosen is None:
        return MISSING
    values = [f"wd {cell.weight_decay:g}"]
    values += [f"gamma {cell.gamma:g}"] if cell.gamma is not None else []
    values += [] if grid.normalize == Grid.normalize else [f"l2 {cell.chosen.model.normalize}"]
    return ", ".join(values)


def choice_and_runs(cell: Cell, grid: Grid) -> str:
    """The chosen hyper-parameters with their number of runs."""
    searched = "" if cell.complete else f"; {cell.done}/{cell.total} of the grid"
    return f"{choice(cell, grid)} ({runs(cell)}{searched})"


def compact(results: Results, form: str = "text") -> Sheet:
    """One block with the scores, and the parameters of a layer where the paper has them.

    Plain text has several blocks if the datasets do not fit a terminal of 80 columns.

    Args:
        results: The cells of the table.
        form: The format that the sheet is written in. Plain text has no bold and needs aligned marks.
    """
    groups = list(_wrapped(results)) if form == "text" else [results.design.columns]
    last = _block(results, groups[-1], form)
    return Sheet(
        title=results.design.heading,
        blocks=(
            *(_block(results, columns, form) for columns in groups[:-1]),
            _with_parameters(last, results, groups[-1]) if results.design.parameters else last,
        ),
        footer=(_legend(results, form), *footer(results)),
        notes=notes_of(results),
    )


def mark_of(results: Results, row: Row, column: Column) -> str:
    """An arrow up or down if the row is better or worse than the reference by the paired test; otherwise nothing."""
    return {1: AHEAD, -1: BEHIND}.get(results.verdict(row, column), "")


def parameters_of(results: Results, row: Row) -> str:
    """The parameters of a hidden layer; several numbers if the datasets have layers of different widths."""
    counts = {results.at(row, column).layer_parameters for column in results.design.columns}
    return " / ".join(map(count, sorted(number for number in counts if number)))


def _block(results: Results, columns: Sequence[Column], form: str) -> Block:
    pad = " " if form == "text" else ""
    rows = []
    for row in results.design.rows:
        cells = [results.at(row, column) for column in columns]
        marks = [mark_of(results, row, column) for column in columns]
        ours = [
            Entry(_ours(cell) + (mark or pad), bold=results.is_best(row, cell.column))
            for cell, mark in zip(cells, marks, strict=True)
        ]
        rows.append((Entry(row.label), *ours))
        if any(cell.published for cell in cells):
            label = {"text": "  paper", "csv": f"{row.label}, paper"}.get(form, "paper")
            rows.append((Entry(label), *(Entry(_papers(cell) + pad) for cell in cells)))
    title, labels = _title_and_labels(columns)
    return Block(title=title, header=("", *(label + pad for label in labels)), rows=tuple(rows))


def _with_parameters(block: Block, results: Results, columns: Sequence[Column]) -> Block:
    """The block of these columns with one more: the parameters of a hidden layer, and the paper's counts of them."""
    counts = []
    for row in results.design.rows:
        counts.append(parameters_of(results, row) or MISSING)
        if any(results.at(row, column).published for column in columns):
            counts.append(count(results.design.parameters.get(row.name)))
    rows = tuple((*row, Entry(number)) for row, number in zip(block.rows, counts, strict=True))
    return Block(title=block.title, header=(*block.header, PARAMETERS), rows=rows)


def _wrapped(results: Results) -> Iterator[list[Column]]:
    """The columns in groups that fit a terminal, as even as the order allows."""
    table = results.design
    label = max(len(row.label) for row in table.rows)
    widths = [max(len(word), len("100.00±10.00")) + 3 for word in _title_and_labels(table.columns)[1]]
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


def _ours(cell: Cell) -> str:
    if not cell.spread.count:
        return NO_DATA if cell.column.dataset in STAND_INS else NOT_RUN
    return score(cell).replace(" ", "")


def _papers(cell: Cell) -> str:
    return published(cell).replace(" ", "")


def _legend(results: Results, form: str) -> str:
    published = any(cell.published for cell in results.cells.values())
    clauses = ["Below ours: the paper's figures" if published else "All figures are ours"]
    clauses += [] if form in ("text", "csv") else ["bold: the best of ours"]
    if results.reference is not None:
        test = "corrected paired t-test" if results.design.columns[0].drawn_splits else "paired t-test"
        clauses.append(f"{BEHIND} or {AHEAD}: worse or better than {results.reference.label}, {test}, p < {LEVEL:g}")
    if any(_ours(cell) == NO_DATA for cell in results.cells.values()):
        clauses.append(f"{NO_DATA}: the dataset cannot be downloaded")
    return f"{'; '.join(clauses)}."


LONG_HEADER = (
    *("table", "dataset", "metric", "unit", "method", "mean", "std", "runs", "runs_wanted", "diverged"),
    *("grid_runs", "grid_runs_wanted", "selection", "search_runs", "weight_decay", "gamma", "normalize"),
    *("layer_parameters", "paper_mean", "paper_std", "decrease", "paper_decrease"),
    *("reference", "difference", "p_t_test", "p_wilcoxon", "wins", "ties", "losses", "pairs_dropped"),
)


def long(results: Results) -> Sheet:
    """One line for each cell, in full precision."""
    lines = (map(exact, _long_line(results, row, c)) for c in results.design.columns for row in results.design.rows)
    block = Block.of("", LONG_HEADER, lines)
    return Sheet(title=results.design.heading, blocks=(block,), footer=footer(results), notes=notes_of(results))


def _long_line(results: Results, row: Row, column: Column) -> list[object]:
    cell, versus = results.at(row, column), results.comparison(row, column)
    statistics: list[object] = [None] * 8
    if results.reference is not None and versus is not None:
        statistics = [results.reference.label, versus.difference, versus.t_test, versus.wilcoxon]
        statistics += [versus.wins, versus.ties, versus.losses, versus.dropped]
    return [
        *(results.design.name, column.label, column.metric, "%" if cell.metric.percent else None),
        *(row.label, cell.spread.mean, cell.spread.std),
        *(cell.ran, len(cell.records), cell.diverged, cell.done, cell.total, results.rule, results.design.search_runs),
        *(cell.weight_decay, cell.gamma, cell.chosen.model.normalize if cell.chosen else None, cell.layer_parameters),
        *(cell.published or (None, None)),
        *(results.decrease(row, column) or (None, None)),
        *statistics,
    ]


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


STATISTICS = ("graphs", "nodes", "edges", "features", "classes")
NOT_HERE = "not here"


def dataset_sheet(descriptions: Iterable[Description]) -> Sheet:
    """One row for each dataset, and one for the paper's figures where they differ."""
    described = list(descriptions)
    lines = (line for data in described for line in _dataset_lines(data))
    absent = f"{NOT_HERE}: the figures are the paper's; 'bankgcn data fetch NAME' downloads the dataset."
    return Sheet(
        title="Table 0: Datasets (nodes and edges: means)",
        blocks=(Block.of("", ("", *STATISTICS, "data"), lines),),
        footer=(absent,) if any(data.here is None for data in described) else (),
        notes=tuple(f"{data.name}: {note}." for data in described for note in data.notes),
    )


def _dataset_lines(data: Description) -> Iterator[tuple[str, ...]]:
    here, published = (
        [_statistic((figures or {}).get(name)) for name in STATISTICS] for figures in (data.here, data.published)
    )
    if data.here is None:
        yield data.name, *published, NOT_HERE
    elif data.published is None:
        yield data.name, *here, "not in paper"
    elif data.here == data.published:
        yield data.name, *here, "as in paper"
    else:
        yield data.name, *here, "differs"
        yield f"{data.name}, paper", *published, ""


def _statistic(value: float | None) -> str:
    if value is None:
        return MISSING
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
