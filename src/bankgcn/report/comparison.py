"""A comparison of models from records: scores with intervals, a constant prediction, and paired tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from bankgcn.choices import pick
from bankgcn.experiments.paper.layout import Column, Table
from bankgcn.experiments.significance import Comparison, Spread, compare, corrected_interval, holm
from bankgcn.metrics import Metric
from bankgcn.report.cells import choice, runs, score
from bankgcn.report.compact import LEVEL
from bankgcn.report.fields import MISSING, count, difference, exact, mean_std, number, p_value, unit
from bankgcn.report.notes import diverged_notes, incomplete, provenance, search_rule, training_notes, value_set
from bankgcn.report.results import Records, Result, Results, collect
from bankgcn.report.sheet import WRITERS, Block, Cell, Sheet, write_sheet

BASELINES: dict[str, tuple[str, str]] = {
    "classes": ("largest class", "always predicts the largest class of the training graphs"),
    "values": ("mean value", "always predicts the mean of the training graphs"),
    "labels": ("label shares", "always predicts the share of each label in the training graphs"),
}
"""The constant prediction for each kind of task: its label, and what it does."""

LONG_HEADER = (
    *("dataset", "metric", "unit", "model", "mean", "std", "interval_low", "interval_high"),
    *("runs", "runs_wanted", "diverged", "weight_decay", "gamma", "layer_parameters"),
    *("reference", "difference", "p_holm", "p_t_test", "p_wilcoxon", "wins", "ties", "losses"),
)


@dataclass(frozen=True, kw_only=True)
class Line:
    """A model, or the constant prediction.

    Args:
        label: Name in the table.
        scores: Test score of each seed; NaN where it is unknown.
        cell: The cell of a model; ``None`` for the constant prediction.
        versus: The paired comparison with the reference; ``None`` for the reference itself.
    """

    label: str
    scores: tuple[float, ...]
    cell: Result | None
    versus: Comparison | None

    @property
    def spread(self) -> Spread:
        """Mean and standard deviation of the scores."""
        return Spread.of(self.scores)


@dataclass(frozen=True, kw_only=True)
class ComparedModels:
    """The results of a comparison: a table of one column, and the constant prediction beside it."""

    results: Results

    @property
    def column(self) -> Column:
        """The dataset."""
        return self.results.table.columns[0]

    @property
    def cells(self) -> list[Result]:
        """The models, in their order."""
        return [self.results.at(row, self.column) for row in self.results.table.rows]

    @property
    def reference(self) -> Result:
        """The first model, which the others are compared with."""
        return self.cells[0]

    @property
    def metric(self) -> Metric:
        """The metric of the scores."""
        return self.reference.metric

    @cached_property
    def lines(self) -> list[Line]:
        """The models, and the constant prediction at the end, if it is known."""
        models = [
            Line(
                label=cell.row.label,
                scores=cell.scores,
                cell=cell,
                versus=self.results.comparison(cell.row, self.column),
            )
            for cell in self.cells
        ]
        return [*models, *self._baseline()]

    @cached_property
    def adjusted(self) -> list[float]:
        """P-value of each line, adjusted for their number; NaN for the reference."""
        return holm([line.versus.t_test if line.versus else math.nan for line in self.lines])

    @property
    def task(self) -> str | None:
        """The kind of the task; ``None`` without records."""
        kinds = (record.task.get("kind") for cell in self.cells for record in cell.records if record is not None)
        return next((kind for kind in kinds if kind in BASELINES), None)

    def _baseline(self) -> Iterator[Line]:
        """The constant prediction of each split, which every record of the split knows."""
        factor = 100 if self.metric.percent else 1
        scores = []
        for records in zip(*(cell.records for cell in self.cells), strict=True):
            found = (record.assessment.get("baseline_score") for record in records if record is not None)
            score = next((score for score in found if score is not None), None)
            scores.append(math.nan if score is None else factor * score)
        if self.task is not None and not all(map(math.isnan, scores)):
            versus = compare(scores, self.reference.scores, self.column.overlap, self.metric.higher_is_better)
            yield Line(label=BASELINES[self.task][0], scores=tuple(scores), cell=None, versus=versus)


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
        blocks=(Block(title=title, header=header, rows=tuple(rows)),),
        footer=tuple(_footer(compared)),
        details=(_details(compared),),
        notes=tuple(_notes(compared)),
    )


def long(compared: ComparedModels) -> Sheet:
    """One line for each model, in full precision."""
    rows = []
    for line, p in zip(compared.lines, compared.adjusted, strict=True):
        rows.append(tuple(Cell(exact(value)) for value in _long_line(compared, line, p)))
    block = Block(title="", header=LONG_HEADER, rows=tuple(rows))
    return Sheet(title="", blocks=(block,), footer=tuple(_footer(compared)), notes=tuple(_notes(compared)))


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
        return MISSING
    return f"{number(low, compared.metric)} to {number(high, compared.metric)}"


def _bounds(line: Line, compared: ComparedModels) -> tuple[float, float]:
    """The interval of the mean; that of a percentage stays between 0 and 100."""
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


def _footer(compared: ComparedModels) -> Iterator[str]:
    """The rule of the choice, what is missing, what the tests show, and what the constant prediction is."""
    limit = compared.results.table.search_runs
    rule = "mean validation score over the seeds" if limit is None else search_rule(limit)
    yield f"Hyper-parameters chosen by {rule}; each run scores its test graphs once."
    yield from (f"{sentence}." for sentence in incomplete(compared.results))
    if len(compared.lines) > 1:
        yield _verdict(compared)
    if compared.task is not None:
        label, sentence = BASELINES[compared.task]
        yield f"{label}: {sentence}."


def _verdict(compared: ComparedModels) -> str:
    """Which lines differ from the reference by the adjusted test, in one sentence."""
    words = []
    for line, p in zip(compared.lines, compared.adjusted, strict=True):
        if line.versus is not None and p < LEVEL:
            better = (line.versus.difference > 0) == compared.metric.higher_is_better
            words.append(f"{line.label} ({'better' if better else 'worse'})")
    name = compared.reference.row.label
    if not words:
        return f"No difference from {name} is shown (p < {LEVEL:g}, adjusted for {_num_tests(compared)})."
    return f"Different from {name} (p < {LEVEL:g}, adjusted for {_num_tests(compared)}): {', '.join(words)}."


def _num_tests(compared: ComparedModels) -> str:
    tests = sum(not math.isnan(p) for p in compared.adjusted)
    return f"{tests} test{'s' if tests != 1 else ''}"


def _notes(compared: ComparedModels) -> Iterator[str]:
    results, column = compared.results, compared.column
    if not all(cell.complete for cell in compared.cells):
        yield (
            "*: runs are missing, and the choice of hyper-parameters may change with them. 'bankgcn compare' with the "
            "same store runs what is missing."
        )
    yield "score: mean ± sample standard deviation (ddof = 1) over seeds."
    grid = results.table.grid
    banks = any(cell.row.has_pairs for cell in compared.cells)
    gammas = f", gamma in {value_set(grid.gammas)} for filter banks" if banks else ""
    yield f"Grid: weight decay in {value_set(grid.weight_decays)}{gammas}."
    yield from training_notes(results)
    records = [record for cell in compared.cells for record in cell.records if record is not None]
    for split_from in sorted({record.split_from for record in records if record.split_from}):
        yield f"Splits: by {split_from}; all models share them."
    yield from _test_notes(column, compared.reference.row.label)
    yield from diverged_notes(results)
    yield from dict.fromkeys(note for row in results.table.rows for note in row.notes)
    yield from provenance(results)


def _test_notes(column: Column, reference: str) -> Iterator[str]:
    if column.drawn_splits:
        ratio = f"n_test/n_train = {column.test_to_train:.3g}"
        yield (
            f"95 % interval and p correct for the overlap of the splits (Nadeau and Bengio, {ratio}). p (W): the "
            "signed-rank test of Wilcoxon, exact, but without this correction."
        )
    else:
        yield (
            "All seeds have the same test graphs: 95 % interval and p refer to what the seed changes in the training "
            "alone, not to other test graphs. p (W): Wilcoxon's signed-rank test, exact."
        )
    yield (
        f"difference: to {reference} with the same seeds, in the unit of the scores. p: two-sided paired t-test, "
        "adjusted for the number of lines by Holm's method; p (t): the same without the adjustment. w/t/l: number of "
        "seeds with a better, an equal and a worse score."
    )


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
