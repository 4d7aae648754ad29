"""Figures for Prometheus."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)

Outcome = Literal["answered", "gone", "cut off"]
"""A request got an answer, or its client was gone, or the service stopped before the answer."""


class Tally:
    """What became of the requests for predictions that were under way when the service was told to stop."""

    def __init__(self) -> None:
        self.open, self.outcomes = 0, Counts[Outcome]()

    def begin(self) -> None:
        """Count a request that has come."""
        self.open += 1

    def end(self, outcome: Outcome) -> None:
        """Count what became of it."""
        self.open -= 1
        self.outcomes[outcome] += 1

    def restart(self) -> None:
        """Forget the requests that are over."""
        self.outcomes.clear()

    def lose(self, count: int) -> None:
        """Take back answers that were written, but that did not reach the system before the end."""
        count = min(count, self.outcomes["answered"])
        self.outcomes["answered"] -= count
        self.outcomes["cut off"] += count

    def words(self) -> str:
        """A sentence on them."""
        answered, gone = self.outcomes["answered"], self.outcomes["gone"]
        cut = self.outcomes["cut off"] + self.open
        total = answered + gone + cut
        if not total:
            return "stopped: no request was under way"
        if answered == total:
            return f"stopped: {total:,} request{'s were' if total > 1 else ' was'} under way, and answered"
        left = f"; {gone:,} client{'s were' if gone > 1 else ' was'} gone" if gone else ""
        stopped = f"; {cut:,} got no prediction" if cut else ""
        early = " early" if cut else ""
        return (
            f"stopped{early}: of {total:,} request{'s' * (total > 1)} under way, {answered:,} answered{left}{stopped}"
        )


class Metrics:
    """Counts requests, graphs and batches, and measures times.

    Args:
        waiting: Number of requests that wait for an answer.
    """

    def __init__(self, waiting: Callable[[], int]):
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        requests = Counter(
            "bankgcn_requests", "Requests for predictions, by status.", ["status"], registry=self.registry
        )
        self._requests = requests
        self._by_status: dict[int, Counter] = {}
        self._seconds = Histogram(
            "bankgcn_request_seconds", "Time from a complete request to its answer.", buckets=SECONDS,
            registry=self.registry,
        )  # fmt: skip
        self._batch = Histogram(
            "bankgcn_batch_requests", "Requests that were answered together.", buckets=SIZES, registry=self.registry
        )
        self._graphs = Counter("bankgcn_graphs", "Graphs in valid requests.", registry=self.registry)
        Gauge("bankgcn_waiting_requests", "Requests that wait for an answer.", registry=self.registry).set_function(
            waiting
        )

    def count_request(self, status: int, seconds: float | None = None) -> None:
        """Count a request and, if it was complete, the time to its answer."""
        if status not in self._by_status:
            self._by_status[status] = self._requests.labels(str(status))
        self._by_status[status].inc()
        if seconds is not None:
            self._seconds.observe(seconds)

    def count_batch(self, requests: int, graphs: int) -> None:
        """Count requests that are answered together."""
        if requests:
            self._batch.observe(requests)
            self._graphs.inc(graphs)

    def text(self) -> bytes:
        """All figures, as Prometheus reads them."""
        return generate_latest(self.registry)
