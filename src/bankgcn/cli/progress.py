"""How a training is shown: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from datetime import timedelta
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from bankgcn.training import Epoch, TrainConfig

SECONDS_BETWEEN_LINES = 10.0


class TrainingProgress:
    """Tells each epoch, and how long it can take at most: nobody knows when validation stops improving.

    Args:
        config: How long to train.
        shown: Whether to tell anything.
    """

    def __init__(self, config: TrainConfig, shown: bool = True):
        self.config, self.shown = config, shown
        self.console = Console(stderr=True, highlight=False)
        self.bar: Progress | None = None
        if shown and self.console.is_terminal:
            columns = (
                TextColumn("epoch {task.completed}/{task.total}"),
                BarColumn(20),
                TextColumn("{task.description}"),
            )
            self.bar = Progress(*columns, console=self.console, transient=True)
            self.task = self.bar.add_task("", total=config.max_epochs)
        self.best: Epoch | None = None
        self.last: Epoch | None = None
        self.first = 0  # epoch of this session from whose end the pace is measured: it also warms up
        self.started = self.told = time.monotonic()

    def __enter__(self) -> TrainingProgress:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, epoch: Epoch) -> None:
        """Tell of an epoch."""
        now = time.monotonic()
        if self.last is None:
            self.first, self.started = epoch.number, now
        self.last = epoch
        if self.best is None or self._figure(epoch) < self._figure(self.best):
            self.best = epoch
        if self.bar is not None:
            self.bar.update(self.task, completed=epoch.number, description=self._line(epoch, now))
        elif self.shown and (now == self.started or now - self.told >= SECONDS_BETWEEN_LINES):
            self.told = now
            self.console.print(
                Text(f"epoch {epoch.number}/{self.config.max_epochs}: {self._line(epoch, now)}"), soft_wrap=True
            )

    def _figure(self, epoch: Epoch) -> float:
        return epoch.valid_loss if self.config.select == "loss" else -epoch.valid_score

    def _line(self, epoch: Epoch, now: float) -> str:
        assert self.best is not None
        metric = self.config.metric.replace("_", "-")
        known = (
            f"loss {epoch.train_loss:.4f}, validation {epoch.valid_loss:.4f}, {metric} {epoch.valid_score:.4f}, "
            f"best epoch {self.best.number}"
        )
        done = epoch.number - self.first
        if not done:
            return known
        pace = (now - self.started) / done
        most = self.config.max_epochs - epoch.number
        least = min(most, self.config.patience - (epoch.number - self.best.number))
        return f"{known}, {_time(pace * least)} to {_time(pace * most)} left"


def _time(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
