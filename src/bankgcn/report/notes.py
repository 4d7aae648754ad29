"""What a reader must know of a table: how its figures came about, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from bankgcn.experiments import RunRecord
from bankgcn.experiments.paper.layout import Grid
from bankgcn.experiments.selection import LABELS
from bankgcn.report.results import Results

COUNTS = {
    "bank": (
        "para/layer: by the equations, BankGCN has 64 * 64 + 64 + s (K + 1); the paper prints 64 * 64 + 64 + (K + 1), "
        "whatever s is."
    ),
    "cheb": "para/layer: ChebNet (K=2) has 3 * 64 * 64 + 64 = 12,352; the paper prints 12353.",
}

METRICS = {"accuracy": "accuracy", "roc_auc": "ROC-AUC"}


def notes(results: Results) -> tuple[str, ...]:
    """The lines below a table; the same for the same records."""
    return (
        *_incomplete(results),
        "ours: mean ± sample standard deviation (ddof = 1) over seeds. paper: as published, over its own runs.",
        f"Selection: {LABELS[results.rule]}.",
        *_grid(results),
        *_training(results),
        *_splits(results),
        *_comparison(results),
        *_diverged(results),
        *dict.fromkeys(note for row in results.table.rows for note in row.notes),
        *_parameters(results),
        *(f"{column.label}: {note}." for column in results.table.columns for note in column.notes),
        *_provenance(results),
    )


def _incomplete(results: Results) -> Iterator[str]:
    missing = [result for result in results.cells.values() if not result.complete]
    if missing:
        done, total = (sum(getattr(result, name) for result in missing) for name in ("done", "total"))
        yield (
            f"INCOMPLETE: entries with * rest on {done} of their {total} runs, and may choose otherwise with all; "
            "'bankgcn reproduce' with the same options runs what is missing."
        )


def _grid(results: Results) -> Iterator[str]:
    grid, paper = results.table.grid, Grid()
    values = f"weight decay in {_set(grid.weight_decays)}"
    if any(row.has_pairs and row.gamma is None for row in results.table.rows):
        values += f", gamma in {_set(grid.gammas)} for filter banks"
    reduced = "" if grid == paper else " Not the paper's grid, which is weight decay in " + _set(paper.weight_decays)
    reduced += "" if grid == paper else f", gamma in {_set(paper.gammas)}."
    yield f"Grid: {values}.{reduced}"


def _training(results: Results) -> Iterator[str]:
    table = results.table
    alike = {"gamma": 0.0, "metric": "accuracy"}  # told elsewhere
    trainings = {table.candidates(table.rows[0], column)[0].with_(**alike).train for column in table.columns}
    for train in sorted(trainings, key=repr):
        decay = f", reduced after {train.decay_patience} epochs" if train.decay_patience else ""
        yield (
            f"Training: Adam, learning rate {train.learning_rate:g}{decay}, batches of {train.batch_size}, at most "
            f"{train.max_epochs} epochs, patience {train.patience}; the epoch with the best validation {train.select} "
            "is kept."
        )
    if table.max_epochs is not None:
        yield f"SHORTENED to {table.max_epochs} epochs: not the paper's protocol."
    if table.runs is not None and any(table.runs != column.runs for column in table.columns):
        papers = " or ".join(str(runs) for runs in sorted({column.runs for column in table.columns}))
        yield f"{table.runs} {'run' if table.runs == 1 else 'runs'} of each candidate; the paper has {papers}."


def _splits(results: Results) -> Iterator[str]:
    if any(column.drawn_splits for column in results.table.columns):
        yield "Splits: stratified 8:1:1, drawn by the seed alone, so that all models share them."
    if not all(column.drawn_splits for column in results.table.columns):
        yield "Splits: the official ones; seeds move weights and batches alone, and p-values tell of these alone."


def _comparison(results: Results) -> Iterator[str]:
    if results.reference is None or len(results.table.rows) < 2:
        return
    tests = "p (t): paired t-test. p (W): Wilcoxon's signed ranks, exact."
    if results.table.columns[0].drawn_splits:
        tests = (
            "p (t): corrected resampled t-test (Nadeau and Bengio, n_test/n_train = 1/8). p (W): Wilcoxon's signed "
            "ranks, exact, but blind to the overlap of the splits."
        )
    yield (
        f"difference: to {results.reference.label} with the same seeds, in points. {tests} Neither is adjusted for the "
        "number of comparisons. w/t/l: seeds won, tied, lost."
    )
    if results.rule == "paper":
        yield "After a choice on the test graphs, these p-values prove nothing."


def _parameters(results: Results) -> Iterator[str]:
    """The paper's counts, where they are not those of its own equations."""
    rows = [row for row in results.table.rows if row.name in results.table.parameters]
    yield from dict.fromkeys(COUNTS[row.conv] for row in rows if row.conv in COUNTS)


def _diverged(results: Results) -> Iterator[str]:
    if any(result.diverged for result in results.cells.values()):
        yield "Diverged runs are left out of mean and std; in the selection they count as 0."


def _provenance(results: Results) -> Iterator[str]:
    records = [record for result in results.cells.values() for record in result.records if record is not None]
    for column in results.table.columns:
        used = [record for record in records if record.config.dataset == column.dataset]
        yield from (f"{column.label}: {note}." for note in sorted({note for record in used for note in record.notes}))
        prints = {record.fingerprint for record in used}
        if prints:
            warning = " DIFFERENT DATA UNDER ONE NAME." if len(prints) > 1 else ""
            yield f"{column.label}: data {', '.join(sorted(prints))}.{warning}"
    for versions in sorted({_versions(record) for record in records}):
        yield f"Made with {versions}."


def _versions(record: RunRecord) -> str:
    named = ", ".join(f"{name} {version}" for name, version in sorted(record.versions.items()))
    return f"{named}; {record.threads} thread{'s' if record.threads > 1 else ''} a run"


def _set(values: tuple[float, ...]) -> str:
    return "{" + ", ".join(f"{value:g}" for value in values) + "}"
