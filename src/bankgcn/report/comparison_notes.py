"""The text below a comparison: what its tests show, and how its figures came about."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bankgcn.experiments.paper.layout import Column
from bankgcn.report.compact import LEVEL
from bankgcn.report.compared import BASELINES, ComparedModels
from bankgcn.report.notes import choice_rule, diverged_notes, incomplete, provenance, training_notes, value_set


def footer(compared: ComparedModels) -> Iterator[str]:
    """The rule of the choice, what is missing, what the tests show, and what the constant prediction is."""
    yield f"{choice_rule(compared.results)}; each run scores its test graphs once."
    yield from (f"{sentence}." for sentence in incomplete(compared.results))
    if len(compared.lines) > 1:
        yield _verdict(compared)
    if compared.task is not None:
        label, sentence = BASELINES[compared.task]
        yield f"{label}: {sentence}."


def _verdict(compared: ComparedModels) -> str:
    """Which lines differ from the reference by the adjusted test, in one sentence."""
    if all(map(math.isnan, compared.adjusted)):
        return "There are no p-values: they need two runs of each model (--runs)."
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


def notes_of(compared: ComparedModels) -> Iterator[str]:
    """The notes of a comparison; the same for the same records."""
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
