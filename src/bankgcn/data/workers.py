"""Worker processes that read rows: jobs in, results out in their order; a row that ends its process costs no other.

A worker loads neither PyTorch nor the program that started it, so it is small and soon there. Each has a thread that
gives it one job after another. If a process dies, a new one gets the halves of its job, until the row is alone.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import IO, Any, Self, TypeVar

Block = TypeVar("Block")

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
SHORT = 2000  # items of a job that is not worth a process
AHEAD = 2  # jobs for each worker that are under way or done and not yet taken
STARTS = 3  # attempts to start a process
TRIES = 2  # with a single row: a process may also be killed for something that it did not do

START = f"from {__name__} import work; work()"
"""What a worker process runs."""


@dataclass(frozen=True)
class Job:
    """Work on items, which can be divided between any two of them.

    Args:
        function: From the items and the arguments to a result; a function of a module, which other processes find.
        items: The items.
        arguments: What else the function needs.
        lost: From an item, the reason and the arguments to the result for an item whose process died.
        joined: From the results of the parts to that of all items.
    """

    function: Callable[..., Any]
    items: Sequence[Any]
    arguments: tuple[Any, ...]
    lost: Callable[..., Any]
    joined: Callable[[list[Any]], Any]

    def run(self) -> Any:
        """The result, computed in this process."""
        return self.function(self.items, *self.arguments)

    def part(self, start: int, stop: int) -> Job:
        """The work on some of the items."""
        return replace(self, items=self.items[start:stop])

    def halves(self) -> tuple[Job, Job]:
        """The first half of the items, and the rest."""
        middle = len(self.items) // 2
        return self.part(0, middle), self.part(middle, len(self.items))


class WorkerDied(Exception):
    """A worker process ended during a job; the message gives the cause."""


class Workers:
    """Worker processes, which start with the first jobs and end with the block.

    Args:
        count: Their number; by default, the number of cores that this process may use.
    """

    def __init__(self, count: int | None = None):
        if count is not None and count < 1:
            raise ValueError(f"workers={count}: expected at least 1")
        self.count = count or available_cores()
        self._threads = ThreadPoolExecutor(self.count, thread_name_prefix="bankgcn-worker")
        self._of_thread = threading.local()
        self._workers: list[_Worker] = []
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._closed = True
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def results(self, blocks: Iterable[Block], job_of: Callable[[Block], Job]) -> Iterator[tuple[Block, Any]]:
        """Each block with the result of its job, in order. A bounded number of them is held.

        If no further block can be read, those before it come first.
        """
        waiting: deque[tuple[Block, Future[Any]]] = deque()
        left, ended, failure = iter(blocks), False, None
        while True:
            while not ended and len(waiting) < AHEAD * self.count:
                try:
                    block = next(left)
                except StopIteration:
                    ended = True
                except Exception as error:
                    ended, failure = True, error
                else:
                    waiting.append((block, self._threads.submit(self._run, job_of(block))))
            if not waiting:
                break
            block, future = waiting.popleft()
            yield block, future.result()
        if failure is not None:
            raise failure

    def run(self, job: Job) -> Any:
        """The result of a job, which the workers share. One that is not long is done in this process."""
        if len(job.items) <= SHORT:
            return job.run()
        pieces = (job.part(start, start + SHORT) for start in range(0, len(job.items), SHORT))
        return job.joined([result for _, result in self.results(pieces, lambda piece: piece)])

    def _run(self, job: Job) -> Any:
        for left in reversed(range(1 if len(job.items) > 1 else TRIES)):
            try:
                return self.answer(job)
            except WorkerDied as error:
                if self._closed:
                    raise
                if len(job.items) == 1 and not left:
                    return job.lost(job.items[0], str(error), *job.arguments)
        return job.joined([self._run(half) for half in job.halves()])

    def answer(self, job: Job) -> Any:
        """The result of a job from another process; called by several threads at once.

        Raises:
            WorkerDied: The process ended during the job.
        """
        if not hasattr(self._of_thread, "worker"):
            self._of_thread.worker = _Worker()
            self._workers.append(self._of_thread.worker)
        return self._of_thread.worker.run(job)


class _Worker:
    """A process that runs jobs, see :func:`work`. It is replaced if it dies."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, job: Job) -> Any:
        """The result of a job.

        Raises:
            WorkerDied: The process ended during the job. The next job starts a new process.
        """
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            pickle.dump((job.function, job.items, job.arguments), process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
        try:
            failed, result = pickle.load(process.stdout)
        except (EOFError, pickle.UnpicklingError):
            cause = cause_of_death(process.wait(), self._stderr)
            self.close()
            raise WorkerDied(cause) from None
        if failed:
            raise result
        return result

    def kill(self) -> None:
        """Kill the process; any thread may call this."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Kill the process, and close its pipes."""
        self.kill()
        self._process = None
        with suppress(BrokenPipeError):
            self._open.close()

    def _start(self) -> subprocess.Popen[bytes]:
        """Start a process, and wait until it is ready: no item is to blame if it never is."""
        for left in reversed(range(STARTS)):
            self._stderr = self._open.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  the exit stack closes it
            self._process = process = self._open.enter_context(start_process(START, stderr=self._stderr))
            assert process.stdout is not None
            if process.stdout.read(1):
                break
            code = process.wait()
            cause = cause_of_death(code, self._stderr)
            self.close()
            if code >= 0 or not left:  # else it was killed before it began, perhaps for something else
                raise RuntimeError(f"a process that reads rows could not start: it {cause}")
        return process


def start_process(code: str, *arguments: str, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a Python process on one thread that finds the same modules, with pipes for its input and output."""
    path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C reaches only this process, which then ends the others
    )


def cause_of_death(code: int, stderr: IO[bytes]) -> str:
    """Why a process ended, in words that follow what it did."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    stderr.seek(0)
    last_line = stderr.read().decode(errors="replace").strip().rpartition("\n")[2]
    return f"ended with exit code {code}" + (f" ({last_line})" if last_line else "")


def answers_of_this_process() -> IO[bytes]:
    """Standard output, for answers alone: what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def work() -> None:
    """Be a worker process: run the jobs of standard input, until the input ends."""
    answers, jobs = answers_of_this_process(), sys.stdin.buffer
    answers.write(b"!")
    answers.flush()
    while True:
        try:
            function, items, arguments = pickle.load(jobs)
        except EOFError:
            return
        try:
            answer = False, function(items, *arguments)
        except Exception as error:
            answer = True, error
        with suppress(BrokenPipeError):  # nobody waits any more
            pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()


def available_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
