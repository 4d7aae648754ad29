"""The thread that owns the model: it takes all requests that wait, and answers them together."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from bankgcn.serve.engine import Answer
from bankgcn.serve.errors import RequestError
from bankgcn.serve.limits import Limits
from bankgcn.serve.requests import PredictRequest, parse_request

BATCH_REQUESTS = 256  # answered together at most
logger = logging.getLogger("bankgcn")


@dataclass(frozen=True, eq=False)
class Job:
    """A request that waits for its answer."""

    body: bytes
    answer: asyncio.Future[Answer]


class Batcher:
    """Answers requests in one thread, all that are waiting at a time. No request waits for others to come.

    Args:
        answer: From requests to answers.
        limits: What is accepted.
        on_batch: Called in the thread with the numbers of requests and graphs of each batch.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[PredictRequest]], list[Answer]],
        limits: Limits,
        on_batch: Callable[[int, int], None] = lambda requests, graphs: None,
    ):
        self.limits, self.waiting = limits, 0
        self._answer, self._on_batch = answer, on_batch
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
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

    async def submit(self, body: bytes) -> Answer:
        """The answer to a request.

        Raises:
            RequestError: Too many requests wait, or the answer takes too long.
        """
        if max(self.waiting, self._jobs.qsize()) >= self.limits.waiting:  # jobs that timed out are in the queue, too
            raise RequestError(503, "too many requests are waiting: try again later", headers={"retry-after": "1"})
        job = Job(body, self._loop.create_future())
        self.waiting += 1
        try:
            self._jobs.put(job)
            async with asyncio.timeout(self.limits.seconds):
                return await job.answer
        except TimeoutError:
            raise RequestError(504, f"there is no answer after {self.limits.seconds:g} seconds") from None
        finally:
            self.waiting -= 1

    def _work(self) -> None:
        while (jobs := self._take()) is not None:
            waiting = [job for job in jobs if not job.answer.cancelled()]
            answers = self._answers(waiting)
            with suppress(RuntimeError):  # the loop is closed: the service stopped without waiting
                self._loop.call_soon_threadsafe(_deliver, waiting, answers)

    def _take(self) -> list[Job] | None:
        """All jobs that wait; ``None`` when the thread is to end."""
        first = self._jobs.get()
        if first is None:
            return None
        jobs = [first]
        while len(jobs) < BATCH_REQUESTS:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._jobs.put(None)  # ends the thread after these jobs
                break
            jobs.append(job)
        return jobs

    def _answers(self, jobs: Sequence[Job]) -> list[Answer]:
        answers: list[Answer | PredictRequest] = []
        for job in jobs:
            try:
                answers.append(parse_request(job.body, self.limits))
            except RequestError as error:
                answers.append(error)
            except Exception:
                answers.append(_failed())
        requests = [one for one in answers if isinstance(one, PredictRequest)]
        self._on_batch(len(requests), sum(len(one.items) for one in requests))
        results = iter(self._guarded(requests))
        return [next(results) if isinstance(one, PredictRequest) else one for one in answers]

    def _guarded(self, requests: Sequence[PredictRequest]) -> list[Answer]:
        """The answers. After an unforeseen error, requests are answered one by one, so that one alone fails."""
        try:
            return self._answer(requests)
        except Exception:
            if len(requests) > 1:
                return [answer for one in requests for answer in self._guarded([one])]
            return [_failed()]


def _failed() -> RequestError:
    """The answer after an error of the service; the log has its traceback."""
    logger.exception("a request could not be answered")
    return RequestError(500, "the service failed; its log says why")


def _deliver(jobs: Sequence[Job], answers: Sequence[Answer]) -> None:
    for job, answer in zip(jobs, answers, strict=True):
        if not job.answer.done():
            job.answer.set_result(answer)
