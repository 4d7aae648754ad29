"""Progress of a search: a bar on a terminal, a line from time to time elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

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
        columns = (TextColumn("trial {task.completed}/{task.total}"), BarColumn(20), TextColumn("{task.description}"))
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
        line = self._line(trials, best)
        self.bar.update(self.task, completed=self.done, description=line)
        now = time.monotonic()
        if not self.console.is_terminal and (now - self.printed > SECONDS_BETWEEN_LINES or self.done >= self.total):
            self.printed = now
            self.console.print(Text(f"trial {self.done}/{self.total}: {line}"), soft_wrap=True)

    def _line(self, trials: Sequence[TrialResult], best: TrialResult | None) -> str:
        stopped = sum(trial.stopped for trial in trials)
        words = [f"best {self.metric.label} {best.score:.4f} (trial {best.number})"] if best else []
        words += [f"{stopped} stopped early"] if stopped else []
        new = self.done - self.before
        if new > 0 and self.done < self.total:
            left = (time.monotonic() - self.started) / new * (self.total - self.done)
            words.append(f"about {timedelta(seconds=round(left))} left")
        return ", ".join(words)
