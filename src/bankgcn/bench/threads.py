"""Our training on several threads beside one thread: the speed-up, and whether the results are equal."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import torch

from bankgcn.bench.ours import OurTraining, our_name
from bankgcn.bench.protocol import Protocol
from bankgcn.bench.turns import OnTurn, describe_turn, ignore_turn, run_epoch
from bankgcn.data.graphs import GraphSet


class ThreadTraining:
    """Our training on some number of threads.

    Args:
        graphs: The training graphs.
        batch_size: Graphs per step.
        model: A name in ``CONVS``.
        threads: Number of threads.
    """

    def __init__(self, graphs: GraphSet, batch_size: int, model: str, threads: int):
        self.threads = threads
        with torch_threads(threads):
            self.ours = OurTraining(graphs, batch_size, model)

    def seconds(self, epochs: int) -> float:
        """Mean seconds of that many epochs."""
        with torch_threads(self.threads):
            started = time.perf_counter()
            for _ in range(epochs):
                run_epoch(self.ours)
            return (time.perf_counter() - started) / epochs

    def parameters(self) -> list[bytes]:
        """The bits of all parameters."""
        return [parameter.detach().numpy().tobytes() for parameter in self.ours.training.net.parameters()]


class ThreadPair:
    """A training on one thread and an equal one on several; both take the same number of steps.

    Args:
        graphs: The training graphs.
        batch_size: Graphs per step.
        model: A name in ``CONVS``.
        threads: Number of threads of the second.
    """

    def __init__(self, graphs: GraphSet, batch_size: int, model: str, threads: int):
        self.trainings = [ThreadTraining(graphs, batch_size, model, number) for number in (1, threads)]
        self.names = [f"{our_name(model)} on 1 thread", f"{our_name(model)} on {threads} threads"]
        self.seconds: list[list[float]] = [[], []]
        self.epochs = 1

    def warm_up(self, turn_seconds: float, on_turn: OnTurn) -> None:
        """Compile, and find out how many epochs a turn has. The first epoch is not timed: it compiles."""
        elapsed = []
        for name, training in zip(self.names, self.trainings, strict=True):
            on_turn(describe_turn(name, 0, 0))
            training.seconds(1)
            elapsed.append(training.seconds(1))
        self.epochs = max(1, math.ceil(turn_seconds / min(elapsed)))

    def take_turn(self, repetition: int, repetitions: int, on_turn: OnTurn) -> None:
        """One turn of each."""
        for name, training, seconds in zip(self.names, self.trainings, self.seconds, strict=True):
            on_turn(describe_turn(name, repetition, repetitions))
            seconds.append(training.seconds(self.epochs))

    def to_dict(self) -> dict[str, Any]:
        """Median seconds, the speed-up, and whether all parameters are equal bit for bit."""
        one, many = map(median, self.seconds)
        first, second = (training.parameters() for training in self.trainings)
        return {"one_s": one, "many_s": many, "ratio": one / many, "same_result": first == second}


def measure_threads(
    graphs: GraphSet, batch_size: int, protocol: Protocol, on_turn: OnTurn = ignore_turn
) -> dict[str, Any] | None:
    """Time our trainings on one thread and on several, in turns, and compare their parameters.

    Args:
        graphs: The graphs of an epoch.
        batch_size: Graphs per step.
        protocol: What is measured.
        on_turn: Called before each turn.
    """
    if protocol.threads is None:
        return None
    pairs = {model: ThreadPair(graphs, batch_size, model, protocol.threads) for model in protocol.thread_models}
    for pair in pairs.values():
        pair.warm_up(protocol.turn_seconds, on_turn)
    for repetition in range(1, protocol.repetitions + 1):
        for pair in pairs.values():
            pair.take_turn(repetition, protocol.repetitions, on_turn)
    return {"threads": protocol.threads, "models": {model: pair.to_dict() for model, pair in pairs.items()}}


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Set PyTorch's number of threads, which our kernels use too; restore it afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
