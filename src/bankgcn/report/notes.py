"""The text below a table: a footer of two lines, and notes on how its figures came about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import Grid
from bankgcn.experiments.paper import places_in_words
from bankgcn.experiments.search import RULES
from bankgcn.report.results import Results
from bankgcn.training.config import TrainConfig

COUNTS = {
    "bank": (
        "para/layer: by the equations, BankGCN has 64 * 64 + 64 + s (K + 1); the paper prints 64 * 64 + 64 + (K + 1) "
        "for every s."
    ),
    "cheb": "para/layer: ChebNet (K=2) has 3 * 64 * 64 + 64 = 12,352; the paper prints 12353.",
}


def footer(results: Results) -> tuple[str, str]:
    """The selection rule, and everything that is missing or differs from the paper's protocol."""
    warning = "; p-values prove nothing" if results.rule == "paper" else ""
    places = results.design.grid.normalize
    setting = "" if places == Grid.normalize else f"; {places_in_words(places)}"
    exceptions = [*incomplete(results), *shortened(results.design.max_epochs), *_changed(results), *_mixed(results)]
    missing = "; ".join(exceptions) or "Complete: all runs of the protocol"
    return f"{choice_rule(results)}{warning}{setting}.", f"{missing[0].upper()}{missing[1:]}."


def choice_rule(results: Results) -> str:
    """How hyper-parameters are chosen."""
    table = results.design
    if all(table.num_candidates(row) == 1 for row in table.rows):
        return f"No hyper-parameters are chosen: {_values(results)}"
    if table.search_runs is not None:
        return f"Hyper-parameters chosen by {search_rule(table.search_runs)}"
    return f"Hyper-parameters chosen by {RULES[results.rule]}"


def notes_of(results: Results) -> tuple[str, ...]:
    """The notes of a table; the same for the same records."""
    return (
        *_missing(results),
        "ours: mean ± sample standard deviation (ddof = 1) over seeds. paper: as published, over its own runs.",
        *_selection(results),
        *_grid(results),
        *training_notes(results),
        *_splits(results),
        *_comparison(results),
        *diverged_notes(results),
        *dict.fromkeys(note for row in results.design.rows for note in row.notes),
        *_parameters(results),
        *(f"{column.label}: {note}." for column in results.design.columns for note in column.notes),
        *provenance(results),
    )


def shortened(max_epochs: int | None) -> list[str]:
    """The words for runs with fewer epochs than the paper's, if they are so."""
    return [f"SHORTENED to {max_epochs} epoch{'s' if max_epochs > 1 else ''}"] if max_epochs else []


def search_rule(search_runs: int) -> str:
    """The rule of a choice by the first seeds."""
    seeds = f"first {search_runs} seeds" if search_runs > 1 else "first seed"
    return f"mean validation score over the {seeds}; only the winner runs all seeds"


def incomplete(results: Results) -> Iterator[str]:
    """How many runs are missing, if some are."""
    cells = [cell for cell in results.cells.values() if not cell.complete]
    if cells:
        done, total = (sum(getattr(cell, name) for cell in cells) for name in ("done", "total"))
        yield f"INCOMPLETE: entries with * have {done:,} of {total:,} runs"


def _changed(results: Results) -> Iterator[str]:
    table = results.design
    if table.runs is not None and any(table.runs != column.runs for column in table.columns):
        papers = " or ".join(str(runs) for runs in sorted({column.runs for column in table.columns}))
        yield f"{table.runs} {'seed' if table.runs == 1 else 'seeds'} (paper: {papers})"
    if not _is_papers(table.grid):
        yield "not the paper's grid"


def _mixed(results: Results) -> Iterator[str]:
    for column in results.design.columns:
        if len({record.fingerprint for record in _records(results, column.dataset)}) > 1:
            yield f"DIFFERENT DATA UNDER ONE NAME: {column.label}"


def _missing(results: Results) -> Iterator[str]:
    if not all(cell.complete for cell in results.cells.values()):
        yield (
            "*: runs are missing, and the choice of hyper-parameters may change with them. 'bankgcn paper reproduce' "
            "with the same options runs what is missing."
        )


def _selection(results: Results) -> Iterator[str]:
    if results.rule == "paper":
        yield (
            "Selection: the paper appears to choose by test score, too. Such scores are optimistic, and p-values after "
            "a choice on the test graphs prove nothing."
        )


def _grid(results: Results) -> Iterator[str]:
    grid, paper = results.design.grid, Grid()
    values = f"{_values(results)}; {places_in_words(grid.normalize)}"
    papers = f" The paper's grid: weight decay in {value_set(paper.weight_decays)}, gamma in {value_set(paper.gammas)}."
    yield f"Grid: {values}.{'' if _is_papers(grid) else papers} The paper does not say where its l2 stands."


def _values(results: Results) -> str:
    """The values of the hyper-parameters in the grid."""
    grid = results.design.grid
    values = f"weight decay {_one_or_set(grid.weight_decays)}"
    if any(row.has_pairs and row.gamma is None for row in results.design.rows):
        values += f", gamma {_one_or_set(grid.gammas)} for filter banks"
    return values


def _is_papers(grid: Grid) -> bool:
    """Whether the grid has the paper's values. The place of l2 is no difference: the paper does not say it."""
    return replace(grid, normalize=Grid.normalize) == Grid()


def training_notes(results: Results) -> Iterator[str]:
    """How the networks are trained."""
    table = results.design
    irrelevant = {"gamma": 0.0, "metric": "accuracy"}  # other notes give them
    trainings = {table.candidates(table.rows[0], column)[0].with_(**irrelevant).train for column in table.columns}
    for train in sorted(trainings, key=repr):
        optimizer = {"adam": "Adam", "adamw": "AdamW"}[train.optimizer]
        clipped = f", gradients clipped to norm {train.clip_norm:g}" if train.clip_norm else ""
        yield (
            f"Training: {optimizer}, learning rate {_rate(train)}{clipped}, batches of {train.batch_size}, at most "
            f"{train.max_epochs} epoch{'s' if train.max_epochs > 1 else ''}, patience {train.patience}; a run keeps "
            f"the epoch with the best validation {train.select}."
        )


def _rate(train: TrainConfig) -> str:
    """The learning rate and its schedule, in words."""
    warmup = f", after {train.warmup} epochs of warm-up" if train.warmup else ""
    cosine = f", falling to {train.min_learning_rate:g} along a cosine" if train.schedule == "cosine" else ""
    decay = f", reduced after {train.decay_patience} epochs" if train.decay_patience else ""
    return f"{train.learning_rate:g}{warmup}{cosine}{decay}"


def _splits(results: Results) -> Iterator[str]:
    if any(column.drawn_splits for column in results.design.columns):
        yield "Splits: stratified 8:1:1; they depend on the seed alone, so all models share them."
    if not all(column.drawn_splits for column in results.design.columns):
        yield "Splits: the official ones; a seed changes only weights and batches, and p-values refer to these alone."


def _comparison(results: Results) -> Iterator[str]:
    if results.reference is None:
        return
    tests = "p: paired t-test. p (W): Wilcoxon's signed-rank test, exact."
    if results.design.columns[0].drawn_splits:
        tests = (
            "p: corrected resampled t-test (Nadeau and Bengio, n_test/n_train = 1/8). p (W): Wilcoxon's signed-rank "
            "test, exact, but without a correction for overlapping splits."
        )
    yield (
        f"difference: to {results.reference.label} with the same seeds, in the unit of the scores. {tests} Neither is "
        "adjusted for the number of comparisons. w/t/l: number of seeds with a better, an equal and a worse score."
    )


def _parameters(results: Results) -> Iterator[str]:
    """The paper's counts that differ from its own equations."""
    rows = [row for row in results.design.rows if row.name in results.design.parameters]
    yield from dict.fromkeys(COUNTS[row.conv] for row in rows if row.conv in COUNTS)


def diverged_notes(results: Results) -> Iterator[str]:
    """How diverged runs count, if there are some."""
    if any(cell.diverged for cell in results.cells.values()):
        yield "Diverged runs are left out of mean and std; the selection counts them as the worst score."


def provenance(results: Results) -> Iterator[str]:
    """Notes on the data, their fingerprints, and the versions that made the records."""
    for column in results.design.columns:
        used = _records(results, column.dataset)
        yield from (f"{column.label}: {note}." for note in sorted({note for record in used for note in record.notes}))
        fingerprints = sorted({record.fingerprint for record in used})
        if fingerprints:
            yield f"{column.label}: data {', '.join(fingerprints)}."
    for versions in sorted({_versions(record) for record in _records(results)}):
        yield f"Made with {versions}."


def _records(results: Results, dataset: str | None = None) -> list[RunRecord]:
    records = [record for cell in results.cells.values() for record in cell.records if record is not None]
    return [record for record in records if dataset in (None, record.config.dataset)]


def _versions(record: RunRecord) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in sorted(record.versions.items()))
    return f"{versions}; {record.threads} thread{'s' if record.threads > 1 else ''} per run"


def _one_or_set(values: tuple[float, ...]) -> str:
    return f"{values[0]:g}" if len(values) == 1 else f"in {value_set(values)}"


def value_set(values: tuple[float, ...]) -> str:
    """The values of a hyper-parameter that are chosen from."""
    return "{" + ", ".join(f"{value:g}" for value in values) + "}"
