"""Many runs: where to run them, a grid of their progress, interrupts, and failed runs."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, Group
from rich.table import Table as RichTable
from rich.text import Text

from bankgcn.cli.errors import FAILED, INTERRUPTED
from bankgcn.cli.output import Display, say, terminal_text
from bankgcn.experiments import RunRecord, RunSpec
from bankgcn.experiments.design import Design, Figure
from bankgcn.experiments.engines.base import Engine, Event
from bankgcn.experiments.search import expected_configs, run_experiment
from bankgcn.experiments.store import Store
from bankgcn.experiments.sweep import SweepResult

EngineName = Annotated[
    str, typer.Option(help="Where to run: 'local' processes, a 'ray' cluster, or 'serial' in this process.")
]
Workers = Annotated[int | None, typer.Option(help="Number of parallel runs; all cores by default.", min=1)]

ENDED = ("kept", "finished", "diverged")
REFRESHES = 2.0  # of the grid, each second
SECONDS_BETWEEN_LINES = 60.0
"""Where the output is not a terminal."""

Position = tuple[str, str]
RunGroup = tuple[str, ...]
"""What similar runs have in common: dataset, subset and convolution; dataset and subset; or nothing."""


def run_missing(
    experiment: Design | Figure, store: Path, engine: Engine, known_records: Mapping[str, RunRecord] | None = None
) -> SweepResult:
    """Run what is missing in the store, with a grid of the progress; an interrupt ends the command.

    Args:
        experiment: The table or figure.
        store: Folder of the records.
        engine: What runs.
        known_records: Further records; their runs are not repeated.
    """
    configs = expected_configs(experiment)
    try:
        with SweepGrid(experiment, configs, Console(stderr=True, highlight=False)) as grid:
            runs = f"{len(configs):,} run{'s' if len(configs) > 1 else ''}"
            grid.say(f"{experiment.name}: {runs}; records are in {store}")
            outcome = run_experiment(experiment, Store(store), engine, grid.on_event, known_records)
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


def positions(experiment: Design | Figure) -> dict[str, Position]:
    """Row and column of each run, by its key."""
    if isinstance(experiment, Figure):
        return {
            config.key: (f"({panel.name}) {panel.setting}", panel.label)
            for panel in experiment.panels
            for config in experiment.configs_of(panel)
        }
    return {
        config.key: (row.label, column.label)
        for column in experiment.columns
        for row in experiment.rows
        for config in experiment.cell_configs(row, column)
    }


class TimeLeft:
    """Estimates the time left from the duration of similar runs, of this sweep or an earlier one."""

    def __init__(self, configs: Iterable[RunSpec], clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._not_ended = Counter(_groups_of(config)[0] for config in configs)
        self._started: dict[str, tuple[RunGroup, float]] = {}  # of running runs, by their keys
        self._seconds: defaultdict[RunGroup, float] = defaultdict(float)
        self._count: Counter[RunGroup] = Counter()

    def started(self, config: RunSpec) -> None:
        """Count a run as running from now on."""
        self._started[config.key] = _groups_of(config)[0], self._clock()

    def ended(self, config: RunSpec, seconds: float) -> None:
        """Count a run as ended."""
        self._started.pop(config.key, None)
        self._not_ended[_groups_of(config)[0]] -= 1
        if seconds > 0:
            for group in _groups_of(config):
                self._seconds[group] += seconds
                self._count[group] += 1

    def seconds(self, parallel_runs: int) -> float | None:
        """Seconds left with this number of parallel runs; ``None`` before the first run has ended."""
        if not self._count:
            return None
        # Copies, because the display calls from its own thread.
        not_ended, started = list(self._not_ended.items()), list(self._started.values())
        now = self._clock()
        total = sum(count * self._typical(group) for group, count in not_ended)
        spent = sum(min(now - start, self._typical(group)) for group, start in started)
        return (total - spent) / max(1, parallel_runs)

    def _typical(self, group: RunGroup) -> float:
        """Mean duration in the group, or if no run of it has ended, in a larger one."""
        measured = next(larger for larger in _widened(group) if self._count[larger])
        return self._seconds[measured] / self._count[measured]


class SweepGrid(Display):
    """Shows the events of a sweep: live on a terminal, in a few plain lines elsewhere.

    Args:
        experiment: The table or figure.
        configs: As many runs as will be run, each in the position of one that will be run.
        console: Where to print.
    """

    def __init__(self, experiment: Design | Figure, configs: Collection[RunSpec], console: Console):
        super().__init__(console, REFRESHES)
        self._name = experiment.name
        self._positions = positions(experiment)
        self._total = Counter(self._positions[config.key] for config in configs)
        # All keys from the start: the display reads the counters in its own thread, while no key may be added.
        self._counts = {state: Counter(dict.fromkeys(self._total, 0)) for state in ("done", "running", "failed")}
        self._most_running = 1
        self._epochs: dict[str, int] = {}  # of running runs, by their keys
        self._left = TimeLeft(configs)
        self._printed = time.monotonic()
        self._messages: set[tuple[str, str]] = set()

    def on_event(self, event: Event) -> None:
        """Update the grid after an event."""
        position = self._positions[event.config.key]
        if event.epoch is None:
            self._epochs.pop(event.config.key, None)
        else:
            self._epochs[event.config.key] = event.epoch
        if event.kind == "started":
            self._counts["running"][position] += 1
            self._left.started(event.config)
            self._most_running = max(self._most_running, self._counts["running"].total())
        elif event.kind in (*ENDED, "failed"):
            self._counts["failed" if event.kind == "failed" else "done"][position] += 1
            self._counts["running"][position] -= event.kind != "kept"
            self._left.ended(event.config, event.record.seconds if event.record else 0.0)
        if event.message and (event.kind, event.message) not in self._messages and event.kind != "diverged":
            self._messages.add((event.kind, event.message))  # one cause often fails many runs: print it once
            self.say(f"{event.kind}: {' on '.join(position)}, seed {event.config.seed}: {event.message}")
        # Between the end of a run and the start of the next, a line would count too few running ones.
        settled = event.kind in ("started", "kept", "epoch") or not self._waiting()
        if settled and not self.console.is_terminal and time.monotonic() - self._printed > SECONDS_BETWEEN_LINES:
            self.say(self.summary())

    def say(self, message: str) -> None:
        """Print a line above the grid."""
        self._printed = time.monotonic()
        self.console.print(terminal_text(message), soft_wrap=True)

    def summary(self) -> str:
        """The state of the sweep in one line."""
        done, running, failed = (self._counts[state].total() for state in ("done", "running", "failed"))
        parts = [f"{self._name}: {done:,} of {self._total.total():,} runs done"]
        parts += [f"{running} running{self._reached()}"] if running else []
        parts += [f"{failed} failed"] if failed else []
        left = self._left.seconds(self._most_running)
        if left and done + failed < self._total.total():
            parts.append(f"about {timedelta(seconds=round(left))} left")
        return ", ".join(parts)

    def _reached(self) -> str:
        """Which epochs the running runs have reached, as far as they have told them."""
        epochs = sorted(self._epochs.values())
        if not epochs:
            return ""
        return f" (at epoch {epochs[0]})" if epochs[0] == epochs[-1] else f" (at epochs {epochs[0]} to {epochs[-1]})"

    def _waiting(self) -> int:
        """Number of runs that have not started."""
        return self._total.total() - sum(count.total() for count in self._counts.values())

    def render(self) -> Group:
        """A table of the runs that are done in each row and column, and the state of the sweep below it."""
        rows = list(dict.fromkeys(row for row, _ in self._total))
        columns = list(dict.fromkeys(column for _, column in self._total))
        grid = RichTable("", box=None, pad_edge=False)
        for column in columns:
            grid.add_column(terminal_text(column))
        for row in rows:
            grid.add_row(terminal_text(row), *(self._field((row, column)) for column in columns))
        return Group(grid, terminal_text(self.summary(), style="bold"))

    def _field(self, position: Position) -> Text:
        total, done = self._total[position], self._counts["done"][position]
        if not total:
            return terminal_text("")
        style = (
            "green" if done == total else "yellow" if self._counts["running"][position] else "dim" if not done else ""
        )
        text = terminal_text(f"{done}/{total}", style=style)
        if self._counts["running"][position]:
            text.append(f" +{self._counts['running'][position]}", style="cyan")
        if self._counts["failed"][position]:
            text.append(f" {self._counts['failed'][position]} failed", style="bold red")
        return text


def _groups_of(config: RunSpec) -> tuple[RunGroup, RunGroup, RunGroup]:
    """The groups that a run belongs to, the smallest first."""
    return _widened((config.dataset, str(config.train_per_class), config.model.conv))


def _widened(group: RunGroup) -> tuple[RunGroup, RunGroup, RunGroup]:
    """The group itself, the runs of its dataset and subset, and all runs."""
    return group, group[:2], ()
