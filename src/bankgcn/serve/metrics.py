"""Figures for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


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
