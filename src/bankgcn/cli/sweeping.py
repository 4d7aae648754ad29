"""What commands that make many runs share: where to run, progress, interrupts, and failed runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bankgcn.cli.errors import FAILED, INTERRUPTED
from bankgcn.cli.messages import say
from bankgcn.cli.sweep_grid import SweepGrid
from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import Design, Figure
from bankgcn.experiments.engines.base import Engine
from bankgcn.experiments.search import expected_configs, run_experiment
from bankgcn.experiments.store import Store
from bankgcn.experiments.sweep import SweepResult

EngineName = Annotated[
    str, typer.Option(help="Where to run: 'local' processes, a 'ray' cluster, or 'serial' in this process.")
]
Workers = Annotated[int | None, typer.Option(help="Number of parallel runs; all cores by default.", min=1)]
Address = Annotated[str | None, typer.Option(help="Address of the Ray cluster, for --engine ray.")]


def run_missing(
    experiment: Design | Figure, store: Path, engine: Engine, known: Mapping[str, RunRecord] | None = None
) -> SweepResult:
    """Run what is missing in the store, with a grid of the progress; an interrupt ends the command.

    Args:
        experiment: The table or figure.
        store: Folder of the records.
        engine: What runs.
        known: Further records; their runs are not repeated.
    """
    configs = expected_configs(experiment)
    try:
        with SweepGrid(experiment, configs, Console(stderr=True, highlight=False)) as grid:
            runs = f"{len(configs):,} run{'s' if len(configs) > 1 else ''}"
            grid.say(f"{experiment.name}: {runs}; records are in {store}")
            outcome = run_experiment(experiment, Store(store), engine, grid.on_event, known)
            grid.say(grid.summary())
    except KeyboardInterrupt:
        say(f"interrupted: finished runs are in {store}; the same command resumes", stderr=True)
        raise typer.Exit(INTERRUPTED) from None
    return outcome


def check_failed(outcome: SweepResult) -> None:
    """End the command with an error if runs failed."""
    if outcome.failed:
        say(f"error: {len(outcome.failed):,} runs failed; the same command tries them again", stderr=True)
        raise typer.Exit(FAILED)
