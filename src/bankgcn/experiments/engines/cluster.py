"""Many runs on many machines: each run is a Ray task."""

from __future__ import annotations

import json
import socket
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from bankgcn.data.workers import Job, WorkerDied, Workers
from bankgcn.experiments.engines.base import RETRIES, RUNNER, Event, OnEvent, make_runner
from bankgcn.extras import require
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

CONNECT_SECONDS = 10.0
POLL_SECONDS = 5.0  # after them, the cluster may have more machines


class RayEngine:
    """Runs configurations on a cluster, one core and one thread each. A run whose worker is lost is repeated.

    The package and the datasets must be on every machine. Records come back to this process, and no other process
    writes files. When this process ends, the runs end.

    Args:
        address: Address of the cluster, such as ``"auto"`` or ``"ray://host:10001"``. Without one, Ray joins the
            cluster in ``$RAY_ADDRESS``, or starts one on this machine.
        workers: Maximum number of parallel runs; the number of cores of the cluster by default.
        data_root: Folder to search first for datasets, on every machine.
        runner: As :data:`~bankgcn.experiments.engines.base.RUNNER`.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        data_root: str | Path | None = None,
        runner: str = RUNNER,
    ):
        if workers is not None and workers < 1:
            raise ValueError(f"workers={workers}: expected at least 1")
        self.address, self.workers, self.runner = address, workers, runner
        self.data_root = None if data_root is None else str(data_root)

    def run_all(self, configs: Iterable[RunSpec], on_event: OnEvent) -> Generator[RunRecord]:
        """See :class:`~bankgcn.experiments.engines.base.Engine`."""
        ray = _import_ray()
        joined_here = not ray.is_initialized()
        if joined_here:
            _join(ray, self.address)
        try:
            yield from self._run_all(ray, configs, on_event)
        finally:
            if joined_here:
                ray.shutdown()

    def _run_all(self, ray: Any, configs: Iterable[RunSpec], on_event: OnEvent) -> Generator[RunRecord]:
        task = ray.remote(num_cpus=1, max_retries=0)(run_task)  # retried here, not by Ray, so that the user is informed
        lost: deque[tuple[RunSpec, int]] = deque()
        tasks = _lost_first(lost, configs)
        running: dict[Any, tuple[RunSpec, int]] = {}
        try:
            while True:
                while len(running) < self._max_parallel(ray) and (following := next(tasks)) is not None:
                    config, retries = following
                    answer = task.remote(json.dumps(config.to_dict()), self.runner, self.data_root)
                    running[answer] = config, retries
                    if retries == RETRIES:
                        on_event(Event("started", config))
                if not running:
                    return
                for answer in ray.wait(list(running), timeout=POLL_SECONDS)[0]:
                    config, retries = running.pop(answer)
                    try:
                        yield RunRecord.from_dict(json.loads(ray.get(answer)))
                    except ray.exceptions.RayTaskError as error:  # a retry would fail, too
                        yield RunRecord.failed(config, str(error).strip())
                    except ray.exceptions.RayError as error:
                        cause = f"its worker was lost: {_first_line(error)}"
                        if retries:
                            on_event(Event("retried", config, message=cause))
                            lost.append((config, retries - 1))
                        else:
                            yield RunRecord.failed(config, f"{cause}, {RETRIES + 1} times")
        finally:
            for answer in running:
                with suppress(Exception):  # the cluster may be gone
                    ray.cancel(answer, force=True)

    def _max_parallel(self, ray: Any) -> int:
        """Maximum number of parallel runs; it grows when machines join the cluster."""
        return self.workers or max(1, int(ray.cluster_resources().get("CPU", 1)))


class RayWorkers(Workers):
    """Processes of a cluster that read rows, one core each, in place of processes of this machine.

    Rows and results come and go with the tasks: no other machine needs the files. A task whose process or machine is
    lost is repeated elsewhere, by halves.

    Args:
        address: Address of the cluster; see :class:`RayEngine`.
        count: Maximum number of parallel tasks; the number of cores of the cluster by default.
    """

    def __init__(self, address: str | None = None, count: int | None = None):
        self._ray = _import_ray()
        self._joined_here = not self._ray.is_initialized()
        if self._joined_here:
            _join(self._ray, address)
        super().__init__(count or max(1, int(self._ray.cluster_resources().get("CPU", 1))))
        self._task = self._ray.remote(num_cpus=1, max_retries=0)(run_job)

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self._joined_here:
            self._ray.shutdown()

    def answer(self, job: Job) -> Any:
        """See :meth:`Workers.answer`."""
        try:
            return self._ray.get(self._task.remote(job.function, job.items, job.arguments))
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            raise WorkerDied(f"was lost: {_first_line(error)}") from None


def run_job(function: Callable[..., Any], items: Sequence[Any], arguments: tuple[Any, ...]) -> Any:
    """Run a job in a Ray process."""
    return function(items, *arguments)


def _lost_first(lost: deque[tuple[RunSpec, int]], configs: Iterable[RunSpec]) -> Iterator[tuple[RunSpec, int] | None]:
    """The next run with the number of its retries, for ever: a lost one, else a new one, else ``None``."""
    fresh = iter(configs)
    while True:
        if lost:
            yield lost.popleft()
        else:
            config = next(fresh, None)
            yield None if config is None else (config, RETRIES)


def run_task(config: str, runner: str, data_root: str | None) -> str:
    """Run a configuration in a Ray process; input and output are JSON."""
    import torch

    torch.set_num_threads(1)
    record = _cached_runner(runner, data_root)(RunSpec.from_dict(json.loads(config)))
    return json.dumps(record.to_dict())


@lru_cache(maxsize=1)
def _cached_runner(runner: str, data_root: str | None) -> Callable[[RunSpec], RunRecord]:
    """A Ray process runs many tasks: with one runner for all, it loads a dataset once."""
    return make_runner(runner, data_root)


def _import_ray() -> Any:
    require("ray", "the engine 'ray'")
    import ray

    return ray


def _join(ray: Any, address: str | None) -> None:
    try:
        _check_connection(address)
        ray.init(address=address, log_to_driver=False, logging_level="error", configure_logging=False)
    except ConnectionError as error:
        raise ValueError(f"no Ray cluster at address {address!r}: {_first_line(error)}") from error


def _check_connection(address: str | None) -> None:
    """Raise a ConnectionError at once if nothing answers; Ray itself would retry for many minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # "auto", or no address: Ray finds the cluster
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise ConnectionError(str(error)) from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
