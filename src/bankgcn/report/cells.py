"""A cell of a table as text: score, paper's figure, runs, chosen hyper-parameters."""

from __future__ import annotations

from bankgcn.experiments.paper.layout import Grid
from bankgcn.report.fields import MISSING, mean_std
from bankgcn.report.results import Result


def score(cell: Result) -> str:
    """Mean and standard deviation of ours; a star where runs are missing."""
    if not cell.spread.count:
        return MISSING
    mark = "" if cell.complete else " *"
    return mean_std(cell.spread.mean, cell.spread.std, cell.metric) + mark


def published(cell: Result) -> str:
    """The paper's figure."""
    return mean_std(*cell.published, cell.metric) if cell.published else MISSING


def runs(cell: Result) -> str:
    """Number of runs of the chosen candidate, of how many if some are missing, and how many of them diverged."""
    wanted = len(cell.records)
    number = f"{cell.ran}" if cell.ran == wanted else f"{cell.ran}/{wanted}"
    return f"{number} ({cell.diverged} diverged)" if cell.diverged else number


def choice(cell: Result, grid: Grid) -> str:
    """The chosen hyper-parameters; the place of l2 only if it is not the default or several are chosen from."""
    if cell.chosen is None:
        return MISSING
    words = [f"wd {cell.chosen.train.weight_decay:g}"]
    words += [f"gamma {cell.chosen.train.gamma:g}"] if cell.row.has_pairs else []
    words += [] if grid.normalize == Grid.normalize else [f"l2 {cell.chosen.model.normalize}"]
    return ", ".join(words)


def choice_and_runs(cell: Result, grid: Grid) -> str:
    """The chosen hyper-parameters with their number of runs."""
    searched = "" if cell.complete else f"; {cell.done}/{cell.total} of the grid"
    return f"{choice(cell, grid)} ({runs(cell)}{searched})"
