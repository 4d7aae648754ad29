"""Progress of a training: a bar on a terminal, a line from time to time elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn

from bankgcn.cli.output import terminal_text
from bankgcn.metrics import METRICS, significant
from bankgcn.training import Callback, Epoch, TrainConfig

SECONDS_BETWEEN_LINES = 10.0
WIDE = 70  # columns that epoch, bar and time left need


class TrainingProgress(Callback):
    """Shows each epoch, and the shortest and longest time left: early stopping makes the end unpredictable.

    Args:
        config: The training protocol.
        before: The epochs before an interruption.
        shown: Whether to show anything.
        metric: Name of the metric of the scores; that of the protocol by default.
    """

    def __init__(
        self, config: TrainConfig, before: Sequence[Epoch] = (), shown: bool = True, metric: str | None = None
    ):
        self.config, self.shown = config, shown
        self.metric = METRICS[metric or config.metric]
        self.console = Console(stderr=True, highlight=False)
        self.wide = self.console.width >= WIDE
        columns = [TextColumn("epoch {task.completed}/{task.total}"), BarColumn(20 if self.wide else 10)]
        time_left = [TextColumn("{task.description}")] if self.wide else []  # else it begins the line below
        self.bar = Progress(*columns, *time_left, console=self.console)
        self.task = self.bar.add_task("", total=config.max_epochs, completed=len(before))
        self.figures = terminal_text("")
        self.display = Group(self.bar, self.figures)  # two lines: one would be too long for a terminal of 80 columns
        self.live: Live | None = None
        if shown and self.console.is_terminal:
            self.live = Live(self.display, console=self.console, transient=True)
        self.best: Epoch | None = None
        self.last: Epoch | None = None
        for epoch in before:
            self._update_best(epoch)
        self.first = 0  # epoch of this session at whose end timing starts: it also compiles
        self.started = self.printed = time.monotonic()

    def __enter__(self) -> TrainingProgress:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()

    def on_epoch_end(self, epoch: Epoch) -> None:
        """Show an epoch."""
        now = time.monotonic()
        if not self.first:
            self.first, self.started = epoch.number, now
        self._update_best(epoch)
        if self.live is not None:
            time_left = self._time_left(epoch, now)
            self.bar.update(self.task, completed=epoch.number, description=time_left)
            self.figures.plain = ", ".join(filter(None, ("" if self.wide else time_left, self._figures(epoch))))
        elif self.shown and (now == self.started or now - self.printed >= SECONDS_BETWEEN_LINES):
            self.printed = now
            line = ", ".join(filter(None, (self._figures(epoch), self._time_left(epoch, now))))
            self.console.print(terminal_text(f"epoch {epoch.number}/{self.config.max_epochs}: {line}"), soft_wrap=True)

    def _update_best(self, epoch: Epoch) -> None:
        self.last = epoch
        if self.best is None or self._cost(epoch) < self._cost(self.best):
            self.best = epoch

    def _cost(self, epoch: Epoch) -> float:
        """The validation figure that selects the epoch, with the sign that makes smaller values better."""
        return epoch.valid_loss if self.config.select == "loss" else self.metric.cost(epoch.valid_score)

    def _figures(self, epoch: Epoch) -> str:
        assert self.best is not None
        return (
            f"loss {significant(epoch.train_loss)}, validation {significant(epoch.valid_loss)}, {self.metric.label} "
            f"{self.metric.text(epoch.valid_score)}, best epoch {self.best.number}"
        )

    def _time_left(self, epoch: Epoch, now: float) -> str:
        """The shortest and longest time left, or one if they are equal; empty before this session's second epoch."""
        assert self.best is not None
        done = epoch.number - self.first
        if not done:
            return ""
        seconds_per_epoch = (now - self.started) / done
        most = self.config.max_epochs - epoch.number
        least = min(most, self.config.patience - (epoch.number - self.best.number))
        times = dict.fromkeys(_time(seconds_per_epoch * epochs) for epochs in (least, most))
        return f"{' to '.join(times)} left"


def _time(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
