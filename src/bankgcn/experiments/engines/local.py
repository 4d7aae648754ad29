"""Many runs on this machine: as many processes as cores, one thread each."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO

from bankgcn.experiments.engines.base import RETRIES, RUNNER, Event, OnEvent
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class LocalEngine:
    """Runs in processes of their own. One that dies is replaced, and its run is tried again.

    Args:
        workers: Number of processes; as many as this one may use cores by default.
        data_root: Where to look for datasets first.
        runner: What runs a configuration.
    """

    def __init__(self, workers: int | None = None, data_root: str | Path | None = None, runner: str = RUNNER):
        if workers is not None and workers < 1:
            raise ValueError(f"workers={workers}: expected at least 1")
        self.workers = workers or available_cores()
        self.data_root, self.runner = data_root, runner

    def run_all(self, configs: Sequence[RunSpec], on_event: OnEvent) -> Generator[RunRecord]:
        """See :class:`~bankgcn.experiments.engines.base.Engine`."""
        arguments = json.dumps([self.runner, None if self.data_root is None else str(self.data_root)])
        team = _Team(min(self.workers, len(configs)), configs, arguments)
        try:
            missing = len(configs)
            while missing:
                news = team.news.get()
                if isinstance(news, Event):
                    on_event(news)
                elif isinstance(news, RunRecord):
                    missing -= 1
                    yield news
                else:
                    raise news
        finally:
            team.stop()


class WorkerDied(Exception):
    """A worker process ended in the middle of a run; the message says how."""


class _Team:
    """Workers, and a thread for each that hands it one run after another."""

    def __init__(self, size: int, configs: Sequence[RunSpec], arguments: str):
        self.news: SimpleQueue[Event | RunRecord | Exception] = SimpleQueue()
        self._tasks: SimpleQueue[RunSpec] = SimpleQueue()
        for config in configs:
            self._tasks.put(config)
        self._stopped = False
        self._workers = [_Worker(arguments) for _ in range(size)]
        self._threads = [threading.Thread(target=self._work, args=[worker], daemon=True) for worker in self._workers]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all workers at once, whatever they are doing."""
        self._stopped = True
        for worker, thread in zip(self._workers, self._threads, strict=True):
            while thread.is_alive():
                worker.kill()
                thread.join(timeout=0.1)  # and once more, if it was just starting

    def _work(self, worker: _Worker) -> None:
        try:
            while not self._stopped:
                config = self._tasks.get_nowait()
                self.news.put(Event("started", config))
                self._bring_to_an_end(config, worker)
        except Empty:
            pass
        except Exception as error:  # whoever listens must not wait for a thread that is gone
            self.news.put(error)
        finally:
            worker.close()

    def _bring_to_an_end(self, config: RunSpec, worker: _Worker) -> None:
        for retries_left in reversed(range(RETRIES + 1)):
            try:
                self.news.put(worker.run(config))
                return
            except WorkerDied as error:
                if self._stopped:
                    return
                if retries_left:
                    self.news.put(Event("retried", config, message=str(error)))
                else:
                    self.news.put(RunRecord.failed(config, f"{error}, {RETRIES + 1} times"))


class _Worker:
    """A process that runs configurations, replaced when it dies; see :mod:`bankgcn.experiments.engines.worker`."""

    def __init__(self, arguments: str):
        self._command = [sys.executable, "-P", "-m", "bankgcn.experiments.engines.worker", arguments]
        self._open = contextlib.ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, config: RunSpec) -> RunRecord:
        """What comes of a run.

        Raises:
            WorkerDied: The process did not survive it. The next run has a new one.
        """
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        answer = b""
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(config.to_dict()).encode() + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        if not answer.endswith(b"\n"):
            cause = _cause_of_death(process.wait(), self._complaints)
            self.close()
            raise WorkerDied(cause)
        return RunRecord.from_dict(json.loads(answer))

    def kill(self) -> None:
        """End the process, from any thread."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the process, and close what was open to talk to it."""
        self.kill()
        self._process = None
        with contextlib.suppress(BrokenPipeError):
            self._open.close()

    def _start(self) -> subprocess.Popen[bytes]:
        self._complaints = self._open.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  closed with the rest
        path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for this process, which then ends the others
        )
        self._process = self._open.enter_context(process)
        return process


def _cause_of_death(code: int, complaints: IO[bytes]) -> str:
    if code < 0:
        return f"its worker was killed by {signal.Signals(-code).name}"
    complaints.seek(0)
    last_words = complaints.read().decode(errors="replace").strip().rpartition("\n")[2]
    return f"its worker ended with exit code {code}" + (f" ({last_words})" if last_words else "")


def available_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
