"""Clients of a service that know the right answers: many connections, each sends one request after another."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

HEAD = re.compile(rb"HTTP/1.1 (\d+)[^\n]*\r\n(?:.*\r\n)*?content-length: (\d+)\r\n", re.IGNORECASE)
PAUSE = 0.05  # seconds before a connection that was refused is tried again
Check = Callable[[bytes, bytes], bool]


@dataclass(frozen=True)
class Question:
    """A request and the body of its answer."""

    request: bytes
    answer: bytes


@dataclass
class Outcome:
    """What the clients saw until ``end``."""

    start: float = field(default_factory=time.perf_counter)
    end: float = float("inf")
    latencies: list[float] = field(default_factory=list)
    errors: int = 0  # answers with another status than 200
    wrong: int = 0
    broken: int = 0  # connections that ended before the answer

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.latencies) / (self.end - self.start)

    def add(self, other: Outcome) -> None:
        """Add what clients saw later."""
        self.latencies += other.latencies
        self.errors, self.wrong, self.broken = (
            self.errors + other.errors,
            self.wrong + other.wrong,
            self.broken + other.broken,
        )

    def __str__(self) -> str:
        p50, p99 = np.percentile(self.latencies, (50, 99)) * 1e3 if self.latencies else (np.nan, np.nan)
        return (
            f"{self.rate:7,.0f} requests/s, p50 {p50:6.1f} ms, p99 {p99:6.1f} ms; "
            f"{self.errors} errors, {self.wrong} wrong, {self.broken} broken"
        )


class Connection(asyncio.Protocol):
    """Sends a question, checks the answer, and goes on until the end."""

    def __init__(self, questions: Sequence[Question], check: Check, outcome: Outcome, chance: random.Random):
        self.questions, self.check, self.outcome, self.chance = questions, check, outcome, chance
        self.closed = asyncio.get_running_loop().create_future()
        self.question: Question | None = None
        self.buffer, self.asked = b"", 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first question."""
        self.transport: Any = transport
        self.ask()

    def ask(self) -> None:
        """Send a question, or end."""
        self.asked = time.perf_counter()
        if self.asked >= self.outcome.end:
            self.question = None
            self.transport.close()
        else:
            self.question = self.chance.choice(self.questions)
            self.transport.write(self.question.request)

    def data_received(self, data: bytes) -> None:
        """Check the answer as soon as it is complete."""
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n") + 4
        head = HEAD.match(self.buffer)
        if end < 4 or head is None or self.question is None or len(self.buffer) < end + int(head[2]):
            return
        body, self.buffer = self.buffer[end:], b""
        self.outcome.latencies.append(time.perf_counter() - self.asked)
        if head[1] != b"200":
            self.outcome.errors += 1
        elif not self.check(body, self.question.answer):
            self.outcome.wrong += 1
        self.ask()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note whether an answer is missing."""
        self.outcome.broken += self.question is not None
        self.closed.set_result(None)


async def ask_until_end(
    port: int, questions: Sequence[Question], check: Check, outcome: Outcome, connections: int
) -> None:
    """Ask on many connections until ``outcome.end``; connections that break are made again."""
    loop = asyncio.get_running_loop()

    async def client(seed: int) -> None:
        chance = random.Random(seed)
        while time.perf_counter() < outcome.end:
            try:
                _, protocol = await loop.create_connection(
                    lambda: Connection(questions, check, outcome, chance), "127.0.0.1", port
                )
                await protocol.closed
            except OSError:
                await asyncio.sleep(PAUSE)

    await asyncio.gather(*(client(seed) for seed in range(connections)))


def load(port: int, questions: Sequence[Question], check: Check, seconds: float, connections: int) -> Outcome:
    """Put a service under load."""
    outcome = Outcome()
    outcome.end = outcome.start + seconds
    asyncio.run(ask_until_end(port, questions, check, outcome, connections))
    return outcome


def same_bytes(body: bytes, expected: bytes) -> bool:
    """Whether an answer is right to the last bit."""
    return body == expected


def same_numbers(body: bytes, expected: bytes) -> bool:
    """Whether the probabilities of an answer are right to four digits."""
    given, wanted = (list(orjson.loads(each)["predictions"][0]["probabilities"].values()) for each in (body, expected))
    return bool(np.allclose(given, wanted, atol=1e-4))
