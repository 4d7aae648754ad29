"""Progress of ``bankgcn bench``: a bar with the time left on a terminal, a line from time to time elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from bankgcn.cli.output import terminal_text

SECONDS_BETWEEN_LINES = 10.0


class BenchProgress:
    """Shows what is measured now, and the time left.

    Args:
        total: Sum of the estimates of all steps, in seconds. Only their proportions matter: the time left follows from
            the time that the steps really took.
    """

    def __init__(self, total: float):
        self.console = Console(stderr=True, highlight=False)
        columns = (BarColumn(20), TextColumn("{task.fields[left]}"), TextColumn("{task.description}"))
        self.bar = Progress(
            *columns,
            console=self.console,
            auto_refresh=False,  # no other thread while something is timed
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("", total=total, left="")
        self.total, self.done, self.estimate = total, 0.0, 0.0
        self.skipped: float | None = (
            None  # estimate of the first step, which also compiles: it says nothing about speed
        )
        self.started, self.printed = 0.0, float("-inf")

    def __enter__(self) -> BenchProgress:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Hide the bar while something else is printed."""
        self.bar.stop()
        yield
        self.bar.start()

    def __call__(self, description: str, estimate: float) -> None:
        """The step before is done, and the next one starts.

        Args:
            description: What the next step measures.
            estimate: Its estimate in seconds, a part of ``total``.
        """
        now = time.monotonic()
        self.done += self.estimate
        if self.skipped is None and self.done:
            self.skipped, self.started = self.done, now
        self.estimate = estimate
        left = self._time_left(now)
        self.bar.update(self.task, completed=self.done, description=description, left=left, refresh=True)
        if self.bar.disable and now - self.printed >= SECONDS_BETWEEN_LINES:
            self.printed = now
            self.console.print(terminal_text(", ".join(filter(None, (description, left)))), soft_wrap=True)

    def _time_left(self, now: float) -> str:
        """Empty before the second step is done."""
        measured = self.done - (self.skipped or 0.0)
        if self.skipped is None or measured <= 0:
            return ""
        seconds = (now - self.started) / measured * (self.total - self.done)
        return f"{timedelta(seconds=max(0, round(seconds)))} left"
