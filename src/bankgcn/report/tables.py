"""The paper's tables from records: one block a dataset to read, a matrix to publish, a long list to compute with."""

from __future__ import annotations

import math
from collections.abc import Callable

from bankgcn.choices import pick
from bankgcn.experiments.paper.layout import Column, Row, Table
from bankgcn.experiments.selection import How
from bankgcn.experiments.significance import Comparison
from bankgcn.report.notes import METRICS, notes
from bankgcn.report.results import Records, Result, Results, collect
from bankgcn.report.sheet import WRITERS, Block, Entry, Sheet


def render_table(table: Table, records: Records, rule: How = "validation", form: str = "text") -> str:
    """A table of the paper, the same for the same records to the last byte.

    Args:
        table: Which.
        records: Records by the keys of their runs. Those that are missing are shown as missing.
        rule: How hyper-parameters are chosen; see :func:`~bankgcn.report.results.collect`.
        form: ``"text"``, ``"markdown"``, ``"latex"``, or ``"csv"``.
    """
    write = pick(WRITERS, form, "format")
    return write(_LAYOUTS[form](collect(table, records, rule)))


def by_dataset(results: Results) -> Sheet:
    """One block a dataset, with all there is to say of each network."""
    return Sheet(
        title=_title(results),
        blocks=tuple(_dataset_block(results, column) for column in results.table.columns),
        notes=notes(results),
    )


def matrix(results: Results) -> Sheet:
    """Networks by datasets as the paper has it, the paper's figures below ours; then comparisons and choices."""
    blocks = [_score_block(results)]
    if results.reference is not None and len(results.table.rows) > 1:
        title = f"Difference to {results.reference.label} in points (p of the corrected t-test; win/tie/loss)"
        blocks.append(_matrix_block(results, title, lambda row, column: _short(results.comparison(row, column))))
    title = "Chosen hyper-parameters (runs of the chosen; runs of the grid, if some are missing)"
    blocks.append(_matrix_block(results, title, lambda row, column: _choice_and_runs(results.at(row, column))))
    return Sheet(title=_title(results), blocks=tuple(blocks), notes=notes(results))


LONG_HEADER = (
    *("table", "dataset", "metric", "method", "mean", "std", "runs", "runs_wanted", "diverged"),
    *("grid_runs", "grid_runs_wanted", "selection", "weight_decay", "gamma", "layer_parameters"),
    *("paper_mean", "paper_std", "decrease", "paper_decrease"),
    *("reference", "difference", "p_t_test", "p_wilcoxon", "wins", "ties", "losses", "pairs_dropped"),
)


def long(results: Results) -> Sheet:
    """One line a cell, in full precision."""
    rows = tuple(
        tuple(Entry(_csv(value)) for value in _long_line(results, row, column))
        for column in results.table.columns
        for row in results.table.rows
    )
    return Sheet(title=_title(results), blocks=(Block(title="", header=LONG_HEADER, rows=rows),))


_LAYOUTS: dict[str, Callable[[Results], Sheet]] = {
    "text": by_dataset,
    "markdown": matrix,
    "latex": matrix,
    "csv": long,
}


def _title(results: Results) -> str:
    return f"Table {results.table.name.removeprefix('table')}: {results.table.title}"


def _dataset_block(results: Results, column: Column) -> Block:
    reference = results.reference
    header = ["", "ours", "paper", "runs", "chosen"]
    header += ["decrease", "paper"] if column.relative_to else []
    header += ["difference", "p (t)", "p (W)", "w/t/l"] if reference else []
    rows = []
    for row in results.table.rows:
        result = results.at(row, column)
        line = [row.label, _score(result), _published(result), _runs(result), _choice(result)]
        line += [_percent(value) for value in results.decrease(row, column) or ()]
        line += _statistics(results.comparison(row, column)) if reference else []
        line += [_count(result.layer_parameters)]
        rows.append(tuple(map(Entry, line)))
    title = f"{column.label}: test {METRICS[column.metric]} in %, mean ± std"
    return Block(title=title, header=(*header, "para/layer"), rows=tuple(rows))


def _score_block(results: Results) -> Block:
    columns = results.table.columns
    header = [""]
    for column in columns:
        header += [column.label, "decrease"] if column.relative_to else [column.label]
    rows = []
    for row in results.table.rows:
        ours, papers = [Entry(row.label)], [Entry(f"{row.label}, paper")]
        for column in columns:
            result = results.at(row, column)
            ours.append(Entry(_score(result), bold=results.is_best(row, column)))
            papers.append(Entry(_published(result)))
            decrease = results.decrease(row, column)
            if decrease:
                ours.append(Entry(_percent(decrease[0])))
                papers.append(Entry(_percent(decrease[1])))
        parameters = {count for column in columns if (count := results.at(row, column).layer_parameters)}
        ours.append(Entry(" / ".join(f"{count:,}" for count in sorted(parameters))))
        papers.append(Entry(_count(results.table.parameters.get(row.name))))
        rows.append(tuple(ours))
        if any(results.at(row, column).published for column in columns):
            rows.append(tuple(papers))
    title = "Test score in %, mean ± std; the best of ours in bold"
    return Block(title=title, header=(*header, "para/layer"), rows=tuple(rows))


def _matrix_block(results: Results, title: str, field: Callable[[Row, Column], str]) -> Block:
    columns = results.table.columns
    rows = tuple((Entry(row.label), *(Entry(field(row, column)) for column in columns)) for row in results.table.rows)
    return Block(title=title, header=("", *(column.label for column in columns)), rows=rows)


def _long_line(results: Results, row: Row, column: Column) -> list[object]:
    result, versus = results.at(row, column), results.comparison(row, column)
    train = result.chosen.train if result.chosen else None
    compared: list[object] = [None] * 8
    if results.reference is not None and versus is not None:
        compared = [results.reference.label, versus.difference, versus.t_test, versus.wilcoxon]
        compared += [versus.wins, versus.ties, versus.losses, versus.dropped]
    return [
        *(results.table.name, column.label, column.metric, row.label, result.spread.mean, result.spread.std),
        *(result.ran, len(result.records), result.diverged, result.done, result.total, results.rule),
        *(train.weight_decay if train else None, train.gamma if train and row.has_pairs else None),
        result.layer_parameters,
        *(result.published or (None, None)),
        *(results.decrease(row, column) or (None, None)),
        *compared,
    ]


def _score(result: Result) -> str:
    if not result.spread.count:
        return "-"
    mark = "" if result.complete else " *"
    return _mean_std(result.spread.mean, result.spread.std) + mark


def _published(result: Result) -> str:
    return _mean_std(*result.published) if result.published else "-"


def _mean_std(mean: float, std: float) -> str:
    return f"{mean:.2f}" if math.isnan(std) else f"{mean:.2f} ± {std:.2f}"


def _runs(result: Result) -> str:
    wanted = len(result.records)
    runs = f"{result.ran}" if result.ran == wanted else f"{result.ran}/{wanted}"
    return f"{runs} ({result.diverged} diverged)" if result.diverged else runs


def _choice(result: Result) -> str:
    if result.chosen is None:
        return "-"
    decay = f"wd {result.chosen.train.weight_decay:g}"
    return f"{decay}, gamma {result.chosen.train.gamma:g}" if result.row.has_pairs else decay


def _choice_and_runs(result: Result) -> str:
    grid = "" if result.complete else f"; {result.done}/{result.total} of the grid"
    return f"{_choice(result)} ({_runs(result)}{grid})"


def _statistics(versus: Comparison | None) -> list[str]:
    if versus is None:
        return ["", "", "", ""]
    counts = f"{versus.wins}/{versus.ties}/{versus.losses}"
    return [_signed(versus.difference), _p(versus.t_test), _p(versus.wilcoxon), counts]


def _short(versus: Comparison | None) -> str:
    if versus is None:
        return "-"
    return f"{_signed(versus.difference)} ({_p(versus.t_test)}; {versus.wins}/{versus.ties}/{versus.losses})"


def _signed(value: float) -> str:
    return "-" if math.isnan(value) else f"{round(value, 2) + 0.0:+.2f}"  # + 0.0: there is no negative nothing


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{round(value, 1) + 0.0:+.1f}%"


def _p(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _csv(value: object) -> str:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)
