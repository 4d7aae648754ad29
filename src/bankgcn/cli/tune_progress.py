"""Progress of a search: a bar on a terminal, a line from time to time elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from bankgcn.cli.output import terminal_text
from bankgcn.metrics import Metric

if TYPE_CHECKING:
    from bankgcn.experiments.tuning.study import TrialResult

SECONDS_BETWEEN_LINES = 10.0


class TuneProgress:
    """Shows how many trials have ended, the best score, and the time left.

    Args:
        total: Number of trials in the end.
        before: Number of trials of earlier commands.
        metric: What the scores are.
    """

    def __init__(self, total: int, before: int, metric: Metric):
        self.total, self.before, self.metric = total, before, metric
        self.console = Console(stderr=True, highlight=False)
        columns = (TextColumn("trial {task.completed}/{task.total}"), BarColumn(10), TextColumn("{task.description}"))
        self.bar = Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)
        self.task = self.bar.add_task("", total=total, completed=before)
        self.started = self.printed = time.monotonic()
        self.done = before

    def __enter__(self) -> TuneProgress:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def update(self, trials: Sequence[TrialResult], best: TrialResult | None) -> None:
        """Show the trials that have ended."""
        if len(trials) == self.done:
            return
        self.done = len(trials)
        score = f"best {self.metric.label} {self.metric.text(best.score)}" if best else ""
        time_left = self._time_left()
        self.bar.update(self.task, completed=self.done, description=", ".join(filter(None, (score, time_left))))
        now = time.monotonic()
        if not self.console.is_terminal and (now - self.printed > SECONDS_BETWEEN_LINES or self.done >= self.total):
            self.printed = now
            number = f"{score} (trial {best.number})" if best else ""
            stopped = sum(trial.stopped for trial in trials)
            parts = (number, f"{stopped} stopped early" if stopped else "", time_left)
            line = f"trial {self.done}/{self.total}: {', '.join(filter(None, parts))}"
            self.console.print(terminal_text(line), soft_wrap=True)

    def _time_left(self) -> str:
        """The time left, by the mean time of the trials of this command; empty if it is unknown or over."""
        new = self.done - self.before
        if new <= 0 or self.done >= self.total:
            return ""
        seconds = (time.monotonic() - self.started) / new * (self.total - self.done)
        return f"about {timedelta(seconds=round(seconds))} left"
