"""Progress of a command: what is counted, how much of it is done, and the time left.

On a terminal it is a bar that is redrawn, elsewhere a line from time to time. What is printed meanwhile appears above
the bar.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table

from bankgcn.cli.output import Display, terminal_text
from bankgcn.data.workers import Workers
from bankgcn.metrics import METRICS, significant
from bankgcn.training.callbacks import Callback

if TYPE_CHECKING:
    from bankgcn.data.graphs import GraphSet
    from bankgcn.data.options import Expected, ReadOptions
    from bankgcn.data.sources import Source
    from bankgcn.training.config import TrainConfig
    from bankgcn.training.fitting import Epoch

SECONDS_BETWEEN_LINES = 10.0
REFRESHES = 4.0  # of a bar, each second
WIDE = 70  # columns that the count, a bar and the time left need

Count = Callable[[float, float | None], str]
"""How much is done, and how much there is in all, in words."""


def pieces(done: float, total: float | None) -> str:
    """Such as 3/10."""
    return f"{done:.0f}" if total is None else f"{done:.0f}/{total:.0f}"


def percent(done: float, total: float | None) -> str:
    """Such as 30 %."""
    return f"{100 * done / total:.0f} %" if total else ""


def megabytes(done: float, total: float | None) -> str:
    """Such as 3.0/10.0 MB."""
    return f"{done / 1e6:.1f}{'' if total is None else f'/{total / 1e6:.1f}'} MB"


class Progress(Display):
    """Shows how much is done, details of it, and the time left.

    Elsewhere than on a terminal, the first and the last state have a line if the end is known from the start, and
    others at intervals of ``SECONDS_BETWEEN_LINES``.

    Args:
        what: What is counted, such as ``"epoch"``.
        total: How much there is in all, if it is known from the start.
        done: How much was done before this command.
        count: Writes how much is done.
        shown: Whether to show anything.
        skip_first: Whether the time of the first piece says nothing about the others, because it also compiles.
        refreshes: How often a second a thread redraws the bar; 0: no thread runs beside the work.
        console: Where to show it; standard error by default.
    """

    def __init__(
        self,
        what: str,
        total: float | None = None,
        done: float = 0.0,
        *,
        count: Count = pieces,
        shown: bool = True,
        skip_first: bool = False,
        refreshes: float = REFRESHES,
        console: Console | None = None,
    ):
        super().__init__(console or Console(stderr=True, highlight=False), refreshes)
        self.what, self.total, self.done, self.count, self.shown = what, total, done, count, shown
        self.details = self.left = ""
        self._next = 0.0  # weight of the step that runs
        now = time.monotonic()
        self._timed_from = None if skip_first else (done, now)
        self._has_line = total is not None
        self._printed = float("-inf") if self._has_line else now

    def __enter__(self) -> Self:
        return super().__enter__() if self.shown else self

    def update(self, done: float, total: float | None = None, details: str = "", earliest: float | None = None) -> None:
        """Show how much is done.

        Args:
            done: How much, with what was done before this command.
            total: How much there is in all; unchanged by default.
            details: What else there is to say.
            earliest: Where the work may already end.
        """
        now = time.monotonic()
        self.total = self.total if total is None else total
        if self._timed_from is None and done > self.done:
            self._timed_from = done, now
        self.done, self.details = done, details
        self.left = self._time_left(now, earliest)
        if not self.refreshes:
            self.redraw()
        if self.shown and not self.console.is_terminal:
            self._print_line(now, last=earliest is None and self.total is not None and done >= self.total)

    def step(self, details: str, weight: float) -> None:
        """Start a step; the one before is done.

        Args:
            details: What the step does.
            weight: Its share of the total.
        """
        done, self._next = self.done + self._next, weight
        self.update(done, details=details)

    def _print_line(self, now: float, last: bool) -> None:
        if (last and self._has_line) or now - self._printed >= SECONDS_BETWEEN_LINES:
            self._printed, self._has_line = now, True
            rest = ", ".join(filter(None, (self.details, self.left)))
            line = ": ".join(filter(None, (self._head(), rest)))
            self.console.print(terminal_text(line), soft_wrap=True)

    def _head(self) -> str:
        return f"{self.what} {self.count(self.done, self.total)}"

    def _time_left(self, now: float, earliest: float | None) -> str:
        """The time left, or the shortest and the longest; empty if it is unknown or over."""
        if self._timed_from is None or self.total is None or self.done >= self.total:
            return ""
        done, since = self._timed_from
        if self.done <= done:
            return ""
        seconds = (now - since) / (self.done - done)
        ends = (self.total if earliest is None else min(earliest, self.total), self.total)
        times = list(dict.fromkeys(str(timedelta(seconds=round(seconds * max(0.0, end - self.done)))) for end in ends))
        return f"{' to '.join(times)} left" if len(times) > 1 else f"about {times[0]} left"

    def render(self) -> RenderableType:
        """The bar with the time left, and the details below it: one line would be too long for 80 columns."""
        wide = self.console.width >= WIDE
        if not self.done and self.total is None:
            return terminal_text("")
        line = Table.grid(padding=(0, 1))
        bar = ProgressBar(self.total, self.done, width=20 if wide else 10, pulse=self.total is None)
        line.add_row(terminal_text(self._head()), bar, *([terminal_text(self.left)] if wide else []))
        below = ", ".join(filter(None, ("" if wide else self.left, self.details)))
        return Group(line, terminal_text(below)) if below else line


def load_graphs(source: Source, options: ReadOptions, expected: Expected) -> GraphSet:
    """:meth:`Source.load`, with the progress of readers that report it, and on all cores where there are many rows."""
    with Workers() as workers, Progress(f"reading {source.name}") as progress:
        return source.load(options, expected, progress=progress.update, run=workers.run)


class TrainingProgress(Progress, Callback):
    """Shows each epoch, and the shortest and longest time left: early stopping makes the end unpredictable.

    Args:
        config: The training protocol.
        before: The epochs before an interruption.
        shown: Whether to show anything.
        metric: Name of the metric of the scores; that of the protocol by default.
        console: Where to show it; standard error by default.
    """

    def __init__(
        self,
        config: TrainConfig,
        before: Sequence[Epoch] = (),
        shown: bool = True,
        metric: str | None = None,
        console: Console | None = None,
    ):
        super().__init__("epoch", config.max_epochs, len(before), shown=shown, skip_first=True, console=console)
        self.config, self.metric = config, METRICS[metric or config.metric]
        self.best: Epoch | None = None
        self.last: Epoch | None = None
        for epoch in before:
            self._update_best(epoch)

    def on_epoch_end(self, epoch: Epoch) -> None:
        """Show an epoch."""
        best = self._update_best(epoch)
        figures = (
            f"loss {significant(epoch.train_loss)}, validation {significant(epoch.valid_loss)}, {self.metric.label} "
            f"{self.metric.text(epoch.valid_score)}, best epoch {best.number}"
        )
        self.update(epoch.number, details=figures, earliest=best.number + self.config.patience)

    def _update_best(self, epoch: Epoch) -> Epoch:
        self.last = epoch
        if self.best is None or self._cost(epoch) < self._cost(self.best):
            self.best = epoch
        return self.best

    def _cost(self, epoch: Epoch) -> float:
        """The validation figure that selects the epoch, with the sign that makes smaller values better."""
        return epoch.valid_loss if self.config.select == "loss" else self.metric.cost(epoch.valid_score)
