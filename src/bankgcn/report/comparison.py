"""A comparison of models: scores with intervals, a constant prediction, paired tests, and the text below them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import Column, Design
from bankgcn.experiments.statistics import FEWEST, LEVEL, Comparison, Spread, compare, holm
from bankgcn.metrics import METRICS, Metric
from bankgcn.report.notes import choice_rule, diverged_notes, incomplete, provenance, training_notes, value_set
from bankgcn.report.results import Cell, Records, Results, collect, interval_of
from bankgcn.report.sheet import (
    MISSING,
    WRITERS,
    Block,
    Sheet,
    count,
    counted,
    difference,
    exact,
    mean_std,
    number,
    p_value,
    shown,
    unit,
    write_sheet,
)
from bankgcn.report.tables import choice, runs, score
from bankgcn.settings import pick

LONG_HEADER = (
    *("dataset", "metric", "unit", "model", "mean", "std", "interval_low", "interval_high"),
    *("runs", "runs_wanted", "diverged", "weight_decay", "gamma", "layer_parameters"),
    *("reference", "difference", "p_holm", "p_t_test", "p_wilcoxon", "wins", "ties", "losses"),
    "target",
)
MODELS_ABREAST = 4  # columns of models in the table of targets
TARGET_WIDTH = 24  # characters of the name of a target


def render_comparison(design: Design, records: Records, form: str = "text", notes: bool = False) -> str:
    """A comparison of models. The same records give the same text, byte for byte.

    Args:
        design: The comparison, see :func:`~bankgcn.experiments.design.comparison_design`.
        records: Records by the keys of their runs. The table marks missing ones.
        form: ``"text"``, ``"markdown"``, ``"latex"``, or ``"csv"``.
        notes: Whether to add chosen hyper-parameters, further statistics and all notes.
    """
    pick(WRITERS, form, "format")
    comparison = ComparedModels(results=collect(design, records))
    return write_sheet(SHEETS.get(form, sheet)(comparison), form, notes)


def sheet(comparison: ComparedModels) -> Sheet:
    """One line for each model, narrow enough for a terminal of 80 columns."""
    metric = comparison.metric
    lines = []
    for line, p in zip(comparison.lines, comparison.adjusted, strict=True):
        runs_of_line = runs(line.cell) if line.cell is not None else str(line.spread.count)
        cells = [line.label, _score(line, metric), _interval(line, comparison), runs_of_line]
        versus = ["reference", ""] if line.cell is comparison.reference else [MISSING, MISSING]
        if line.versus is not None:
            versus = [difference(line.versus.difference, metric), p_value(p)]
        lines.append([*cells, *versus])
    title = f"Test {metric.label}{unit(metric)}, mean ± std"
    header = ("", "score", "95 % interval", "runs", "difference", "p")
    return Sheet(
        title=comparison.results.design.title,
        blocks=(Block.of(title, header, lines), *_target_blocks(comparison)),
        footer=tuple(footer(comparison)),
        details=(_details(comparison),),
        notes=tuple(notes_of(comparison)),
    )


def _target_blocks(comparison: ComparedModels) -> Iterator[Block]:
    """A row for each value or label, with the mean score of each model, in blocks that fit 80 columns."""
    if not comparison.target_lines:
        return
    metric = METRICS[comparison.metric.of_one or comparison.column.metric]
    labels = [line.label for line in next(iter(comparison.target_lines.values()))]
    for first in range(0, len(labels), MODELS_ABREAST):
        part = slice(first, first + MODELS_ABREAST)
        rows = []
        for target, lines in comparison.target_lines.items():
            name = target if len(target) <= TARGET_WIDTH else f"{target[: TARGET_WIDTH - 3]}..."
            rows.append((name, *(number(line.spread.mean, metric) for line in lines[part])))
        yield Block.of(f"Test {metric.label}{unit(metric)} of each target, mean", ("", *labels[part]), rows)


def long(comparison: ComparedModels) -> Sheet:
    """One line for each model, in full precision; below them, one for each model and target of several."""
    rows = []
    for line, p in zip(comparison.lines, comparison.adjusted, strict=True):
        rows.append([*_long_line(comparison, line, p), None])
    for target, lines in comparison.target_lines.items():
        for line in lines:
            values = _long_line(comparison, line, math.nan)
            values[1] = comparison.metric.of_one or comparison.column.metric
            rows.append([*values, target])
    block = Block.of("", LONG_HEADER, (map(exact, row) for row in rows))
    return Sheet(title="", blocks=(block,), footer=tuple(footer(comparison)), notes=tuple(notes_of(comparison)))


SHEETS: dict[str, Callable[[ComparedModels], Sheet]] = {"csv": long}
"""The layouts of formats that are not for readers."""


def _score(line: Line, metric: Metric) -> str:
    if line.cell is not None:
        return score(line.cell)
    return mean_std(line.spread.mean, line.spread.std, metric)


def _interval(line: Line, comparison: ComparedModels) -> str:
    low, high = _bounds(line, comparison)
    if math.isnan(low):
        return "too few runs" if 0 < line.spread.count < FEWEST else MISSING
    return f"{number(low, comparison.metric)} to {number(high, comparison.metric)}"


def _bounds(line: Line, comparison: ComparedModels) -> tuple[float, float]:
    """The interval of the mean, NaN for too few runs; that of a percentage stays between 0 and 100."""
    low, high = interval_of(line.scores, comparison.overlap)
    return (max(0.0, low), min(100.0, high)) if comparison.metric.percent and not math.isnan(low) else (low, high)


def _details(comparison: ComparedModels) -> Block:
    rows = []
    for line in comparison.lines:
        cell, versus = line.cell, line.versus
        chosen = choice(cell, comparison.results.design.grid) if cell else ""
        tests = [p_value(versus.t_test), p_value(versus.wilcoxon)] if versus else ["", ""]
        wins = versus.counts if versus else ""
        parameters = count(cell.layer_parameters) if cell else ""
        rows.append((line.label, chosen, *tests, wins, parameters))
    header = ("", "chosen", "p (t)", "p (W)", "w/t/l", "para/layer")
    return Block.of("Choices and further statistics", header, rows)


def _long_line(comparison: ComparedModels, line: Line, p: float) -> list[object]:
    cell, versus = line.cell, line.versus
    tests: list[object] = [None] * 8
    if versus is not None:
        tests = [comparison.reference.row.label, versus.difference, p, versus.t_test, versus.wilcoxon]
        tests += [versus.wins, versus.ties, versus.losses]
    return [
        *(comparison.column.label, comparison.column.metric, "%" if comparison.metric.percent else None),
        *(line.label, line.spread.mean, line.spread.std, *_bounds(line, comparison)),
        *((cell.ran, len(cell.records), cell.diverged) if cell else (line.spread.count, len(line.scores), None)),
        *((cell.weight_decay, cell.gamma, cell.layer_parameters) if cell else (None, None, None)),
        *tests,
    ]


BASELINES: dict[str, tuple[str, str]] = {
    "classes": ("largest class", "always predicts the largest class of the training graphs"),
    "values": ("mean value", "always predicts the mean of the training graphs"),
    "labels": ("label shares", "always predicts the share of each label in the training graphs"),
}
"""The constant prediction for each kind of task: its label, and what it does."""


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
    cell: Cell | None
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
        return self.results.design.columns[0]

    @property
    def cells(self) -> list[Cell]:
        """The models, in their order."""
        return [self.results.at(row, self.column) for row in self.results.design.rows]

    @property
    def recorded(self) -> list[RunRecord]:
        """The records of all models."""
        return [record for cell in self.cells for record in cell.recorded]

    @property
    def reference(self) -> Cell:
        """The first model, which the others are compared with."""
        return self.cells[0]

    @property
    def metric(self) -> Metric:
        """The metric of the scores."""
        return self.reference.metric

    @property
    def overlap(self) -> float:
        """Number of test graphs for each training graph; all models share their splits."""
        return next((cell.overlap for cell in self.cells if cell.recorded), self.reference.overlap)

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
        kinds = (record.task.get("kind") for record in self.recorded)
        return next((kind for kind in kinds if kind in BASELINES), None)

    @cached_property
    def target_lines(self) -> dict[str, list[Line]]:
        """The models and the constant prediction by the score of each value or label alone; empty for one target."""
        tables = (record.assessment.get("targets", ()) for record in self.recorded)
        names = next(([row["name"] for row in table] for table in tables if len(table) > 1), [])
        return {name: self._lines_of_target(name) for name in names}

    def _lines_of_target(self, target: str) -> list[Line]:
        lines = [
            Line(label=cell.row.label, scores=self._of_target(cell, target, "scores"), cell=cell, versus=None)
            for cell in self.cells
        ]
        constant = self._of_target(self.reference, target, "baseline_scores")
        return [*lines, Line(label=BASELINES[self.task or "labels"][0], scores=constant, cell=None, versus=None)]

    def _of_target(self, cell: Cell, target: str, figures: str) -> tuple[float, ...]:
        """The score of one target in each run of a cell, or that of the constant prediction; NaN if it is unknown."""
        name = self.metric.of_one or self.column.metric
        scores = []
        for record in cell.records:
            rows = record.assessment.get("targets", ()) if record is not None else ()
            score = next((row[figures].get(name) for row in rows if row["name"] == target), None)
            scores.append(math.nan if score is None else shown(score, self.metric))
        return tuple(scores)

    def _baseline(self) -> Iterator[Line]:
        """The constant prediction of each split, which every record of the split knows."""
        scores = []
        for records in zip(*(cell.records for cell in self.cells), strict=True):
            baselines = (record.assessment.get("baseline_score") for record in records if record is not None)
            score = next((score for score in baselines if score is not None), None)
            scores.append(math.nan if score is None else shown(score, self.metric))
        if self.task is not None and not all(map(math.isnan, scores)):
            versus = compare(scores, self.reference.scores, self.overlap, self.metric.higher_is_better)
            yield Line(label=BASELINES[self.task][0], scores=tuple(scores), cell=None, versus=versus)


def footer(comparison: ComparedModels) -> Iterator[str]:
    """The rule of the choice, what is missing, what the tests show, and what the constant prediction is."""
    yield f"{choice_rule(comparison.results)}; each run scores its test graphs once."
    yield from (f"{sentence}." for sentence in incomplete(comparison.results))
    if len(comparison.lines) > 1:
        yield _verdict(comparison)
    if comparison.task is not None:
        label, sentence = BASELINES[comparison.task]
        yield f"{label}: {sentence}."


def _verdict(comparison: ComparedModels) -> str:
    """Which lines differ from the reference by the adjusted test, in one sentence."""
    if all(map(math.isnan, comparison.adjusted)):
        return "There are no p-values: they need two runs of each model (--runs)."
    differences = []
    for line, p in zip(comparison.lines, comparison.adjusted, strict=True):
        if line.versus is not None and p < LEVEL:
            better = (line.versus.difference > 0) == comparison.metric.higher_is_better
            differences.append(f"{line.label} ({'better' if better else 'worse'})")
    name = comparison.reference.row.label
    tests = counted(sum(not math.isnan(p) for p in comparison.adjusted), "test")
    if not differences:
        return f"No difference from {name} is shown (p < {LEVEL:g}, adjusted for {tests})."
    return f"Different from {name} (p < {LEVEL:g}, adjusted for {tests}): {', '.join(differences)}."


def notes_of(comparison: ComparedModels) -> Iterator[str]:
    """The notes of a comparison; the same for the same records."""
    results = comparison.results
    if not all(cell.complete for cell in comparison.cells):
        yield (
            "*: runs are missing, and the choice of hyper-parameters may change with them. 'bankgcn compare' with the "
            "same store runs what is missing."
        )
    yield "score: mean ± sample standard deviation (ddof = 1) over seeds."
    grid = results.design.grid
    banks = any(cell.row.has_pairs for cell in comparison.cells)
    gammas = f", gamma in {value_set(grid.gammas)} for filter banks" if banks else ""
    yield f"Grid: weight decay in {value_set(grid.weight_decays)}{gammas}."
    yield from training_notes(results)
    for split_from in sorted({record.split_from for record in comparison.recorded if record.split_from}):
        yield f"Splits: by {split_from}; all models share them."
    yield from _test_notes(comparison)
    yield from diverged_notes(results)
    yield from dict.fromkeys(note for row in results.design.rows for note in row.notes)
    yield from provenance(results)


def _test_notes(comparison: ComparedModels) -> Iterator[str]:
    reference = comparison.reference.row.label
    if comparison.column.drawn_splits:
        ratio = f"n_test/n_train = {comparison.overlap:.3g}"
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
