"""The thread that owns the model: it takes requests that wait, as many as make one call of the network."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from bankgcn.serve.access import ClientGone, Limits, RequestError
from bankgcn.serve.engine import CALL_NODES, Answer
from bankgcn.serve.requests import PredictRequest, parse_request

WATCH_AFTER = 0.1  # seconds until a client is watched: most requests are answered by then
logger = logging.getLogger("bankgcn")


class Answering(Protocol):
    """From requests to answers; ``wanted`` says whether someone still waits for the answer to one of them."""

    def __call__(self, requests: Sequence[PredictRequest], wanted: Callable[[int], bool]) -> list[Answer]:
        """The answers, in the order of the requests."""


@dataclass(eq=False, slots=True)
class Job:
    """A request that waits for its answer, until a time of the monotonic clock."""

    body: bytes | PredictRequest
    answer: asyncio.Future[Answer]
    deadline: float

    @property
    def wanted(self) -> bool:
        """Whether someone still waits."""
        return not self.answer.done() and time.monotonic() < self.deadline


class Task(NamedTuple):
    """A job and what its body asks for."""

    job: Job
    request: PredictRequest


class Watch:
    """Ends the wait of a job when its client is gone. It begins late, because most requests are answered soon.

    Args:
        job: The job.
        gone: Returns when the client is gone.
        loop: The loop of the service.
    """

    def __init__(self, job: Job, gone: Callable[[], Awaitable[None]], loop: asyncio.AbstractEventLoop):
        self._task: asyncio.Task[None] | None = None
        self._timer = loop.call_later(WATCH_AFTER, self._begin, job, gone)

    def end(self) -> None:
        """Watch no longer."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self, job: Job, gone: Callable[[], Awaitable[None]]) -> None:
        self._task = asyncio.create_task(self._wait(job, gone))

    async def _wait(self, job: Job, gone: Callable[[], Awaitable[None]]) -> None:
        await gone()
        if not job.answer.done():
            job.answer.set_exception(ClientGone())


class Batcher:
    """Answers requests in one thread, in the order in which they came. No request waits for others to come.

    Requests that wait are answered together as long as they make one call of the network. So a request is answered
    as soon as its own work is done. Requests that nobody waits for any more are left out.

    Args:
        answer: From requests to answers.
        limits: What is accepted.
        on_batch: Called in the thread with the numbers of requests and graphs of each batch.
    """

    def __init__(
        self, answer: Answering, limits: Limits, on_batch: Callable[[int, int], None] = lambda requests, graphs: None
    ):
        self.limits, self.waiting = limits, 0
        self._answer, self._on_batch = answer, on_batch
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._left: Task | None = None  # did not fit into the last batch
        self._thread = threading.Thread(target=self._work, name="bankgcn-model", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Answer what was accepted, then end the thread."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    async def submit(self, body: bytes | PredictRequest, gone: Callable[[], Awaitable[None]] | None = None) -> Answer:
        """The answer to a request.

        Args:
            body: The request, or what it asks for.
            gone: Returns when the client is gone.

        Raises:
            RequestError: Too many requests wait, or the answer takes too long.
            ClientGone: Nobody waits any more.
        """
        if max(self.waiting, self._jobs.qsize()) >= self.limits.waiting:  # jobs that timed out are in the queue, too
            raise RequestError(503, "too many requests are waiting: try again later", headers={"retry-after": "1"})
        job = Job(body, self._loop.create_future(), time.monotonic() + self.limits.seconds)
        watch = Watch(job, gone, self._loop) if gone is not None else None
        self.waiting += 1
        try:
            self._jobs.put(job)
            async with asyncio.timeout(self.limits.seconds):
                return await job.answer
        except TimeoutError:
            raise RequestError(504, f"there is no answer after {self.limits.seconds:g} seconds") from None
        finally:
            self.waiting -= 1
            job.body = b""  # it may stay in the queue for a while
            if watch is not None:
                watch.end()

    def _work(self) -> None:
        while (tasks := self._take()) is not None:
            if tasks:
                answers = self._answers(tasks)
                self._deliver([task.job for task in tasks], answers)

    def _take(self) -> list[Task] | None:
        """The jobs of the next call, in their order; ``None`` when the thread is to end."""
        tasks = [self._left] if self._left else []
        work, self._left = sum(task.request.work for task in tasks), None
        while work < CALL_NODES:
            try:
                job = self._jobs.get(block=not tasks)
            except queue.Empty:
                break
            if job is None:
                if not tasks:
                    return None
                self._jobs.put(None)  # ends the thread after these jobs
                break
            if (task := self._read(job)) is None:
                continue
            work += task.request.work
            if tasks and work > CALL_NODES:
                self._left = task
                break
            tasks.append(task)
        return [task for task in tasks if task.job.wanted]

    def _read(self, job: Job) -> Task | None:
        """The request of a job; ``None`` if nobody waits for it, or if it is refused."""
        body = job.body
        if not job.wanted:
            return None
        try:
            return Task(job, body if isinstance(body, PredictRequest) else parse_request(body, self.limits))
        except RequestError as error:
            self._deliver([job], [error])
        except Exception:
            self._deliver([job], [_failed()])
        return None

    def _answers(self, tasks: Sequence[Task]) -> list[Answer]:
        """The answers. After an unforeseen error, requests are answered one by one, so that one alone fails."""
        self._on_batch(len(tasks), sum(len(task.request.items) for task in tasks))
        try:
            return self._answer([task.request for task in tasks], lambda number: tasks[number].job.wanted)
        except Exception:
            if len(tasks) == 1:
                return [_failed()]
        return [self._alone(task) for task in tasks]

    def _alone(self, task: Task) -> Answer:
        try:
            return self._answer([task.request], lambda number: task.job.wanted)[0]
        except Exception:
            return _failed()

    def _deliver(self, jobs: Sequence[Job], answers: Sequence[Answer]) -> None:
        with suppress(RuntimeError):  # the loop is closed: the service stopped without waiting
            self._loop.call_soon_threadsafe(_set_answers, jobs, answers)


def _failed() -> RequestError:
    """The answer after an error of the service; the log has its traceback."""
    logger.exception("a request could not be answered")
    return RequestError(500, "the service failed; its log says why")


def _set_answers(jobs: Sequence[Job], answers: Sequence[Answer]) -> None:
    for job, answer in zip(jobs, answers, strict=True):
        if not job.answer.done():
            job.answer.set_result(answer)
