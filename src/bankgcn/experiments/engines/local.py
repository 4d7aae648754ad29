"""Many runs on this machine: one process for each core, one thread each."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterable
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

from bankgcn.data.workers import WorkerDied, answers_of_this_process, available_cores, cause_of_death, start_process
from bankgcn.experiments.engines.base import RETRIES, RUNNER, Event, OnEpoch, OnEvent, make_runner, pass_on
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

START = f"from {__name__} import work; work()"
"""What a worker process runs."""


class LocalEngine:
    """Runs configurations in worker processes. A worker that dies is replaced, and its run is repeated.

    Args:
        workers: Number of worker processes; by default, the number of cores that this process may use.
        data_root: Folder to search first for datasets.
        runner: As :data:`~bankgcn.experiments.engines.base.RUNNER`.
        checkpoints: Folder for the states of unfinished runs, from which they resume.
    """

    def __init__(
        self,
        workers: int | None = None,
        data_root: str | Path | None = None,
        runner: str = RUNNER,
        checkpoints: str | Path | None = None,
    ):
        if workers is not None and workers < 1:
            raise ValueError(f"workers={workers}: expected at least 1")
        self.workers = workers or available_cores()
        self.runner, self.folders = runner, (data_root, checkpoints)

    def run_all(self, configs: Iterable[RunSpec], on_event: OnEvent) -> Generator[RunRecord]:
        """See :class:`~bankgcn.experiments.engines.base.Engine`."""
        arguments = json.dumps([self.runner, *(None if folder is None else str(folder) for folder in self.folders)])
        pool = _WorkerPool(self.workers, configs, arguments)
        try:
            busy = self.workers
            while busy:
                message = pool.messages.get()
                if message is None:
                    busy -= 1
                elif isinstance(message, Event):
                    on_event(message)
                elif isinstance(message, RunRecord):
                    yield message
                else:
                    raise message
        finally:
            pool.stop()


class _WorkerPool:
    """Worker processes, each with a thread that gives it one run after another, and at last puts ``None``."""

    def __init__(self, size: int, configs: Iterable[RunSpec], arguments: str):
        self.messages: SimpleQueue[Event | RunRecord | Exception | None] = SimpleQueue()
        self._tasks, self._taking = iter(configs), threading.Lock()
        self._stopped = False
        self._workers = [_Worker(arguments) for _ in range(size)]
        self._threads = [threading.Thread(target=self._work, args=[worker], daemon=True) for worker in self._workers]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Kill all workers."""
        self._stopped = True
        for worker, thread in zip(self._workers, self._threads, strict=True):
            while thread.is_alive():
                worker.kill()
                thread.join(timeout=0.1)  # again, if the worker was just starting

    def _work(self, worker: _Worker) -> None:
        try:
            while (config := self._next()) is not None:
                self.messages.put(Event("started", config))
                self._run_with_retries(config, worker)
        except Exception as error:  # the consumer must not wait for a thread that has ended
            self.messages.put(error)
        finally:
            worker.close()
            self.messages.put(None)

    def _next(self) -> RunSpec | None:
        with self._taking:
            return None if self._stopped else next(self._tasks, None)

    def _run_with_retries(self, config: RunSpec, worker: _Worker) -> None:
        for retries_left in reversed(range(RETRIES + 1)):
            try:
                self.messages.put(worker.run(config, partial(pass_on, self.messages.put, config)))
                return
            except WorkerDied as error:
                if self._stopped:
                    return
                if retries_left:
                    self.messages.put(Event("retried", config, message=str(error)))
                else:
                    self.messages.put(RunRecord.failed(config, f"{error}, {RETRIES + 1} times"))


class _Worker:
    """A process that runs configurations, see :func:`work`. It is replaced if it dies."""

    def __init__(self, arguments: str):
        self._arguments = arguments
        self._open = contextlib.ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, config: RunSpec, on_epoch: OnEpoch) -> RunRecord:
        """Run a configuration.

        Args:
            config: The run.
            on_epoch: Called with the number of an epoch, now and then.

        Raises:
            WorkerDied: The process ended during the run. The next run starts a new process.
        """
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(config.to_dict()).encode() + b"\n")
            process.stdin.flush()
        while (answer := process.stdout.readline()).endswith(b"\n"):
            kind, value = json.loads(answer)
            if kind == "record":
                return RunRecord.from_dict(value)
            on_epoch(value)
        cause = f"its worker {cause_of_death(process.wait(), self._stderr)}"
        self.close()
        raise WorkerDied(cause)

    def kill(self) -> None:
        """Kill the process; any thread may call this."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Kill the process, and close its pipes."""
        self.kill()
        self._process = None
        with contextlib.suppress(BrokenPipeError):
            self._open.close()

    def _start(self) -> subprocess.Popen[bytes]:
        self._stderr = self._open.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  the exit stack closes it
        process = start_process(START, self._arguments, stderr=self._stderr)
        self._process = self._open.enter_context(process)
        return process


def work() -> None:
    """Be a worker process: run the configurations of standard input on one thread, until the input ends.

    Epochs and records are written to standard output, one JSON line each.
    """
    import torch

    arguments = json.loads(sys.argv[1])
    answers = answers_of_this_process()
    torch.set_num_threads(1)
    run = make_runner(*arguments)
    tasks: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, tasks), daemon=True).start()

    def answer(kind: str, value: Any) -> None:
        answers.write(json.dumps([kind, value]).encode() + b"\n")
        answers.flush()

    while True:
        record = run(RunSpec.from_dict(json.loads(tasks.get())), lambda epoch: answer("epoch", epoch))
        answer("record", record.to_dict())


def _listen(requests: BinaryIO, tasks: SimpleQueue[bytes]) -> None:
    """Pass requests on. When the input ends, the process exits at once, even during a run."""
    for line in requests:
        tasks.put(line)
    os._exit(0)
