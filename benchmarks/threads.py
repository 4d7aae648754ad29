"""The speed-up by threads: our training of a dataset, or a filter on one large graph, in turns with one thread.

    python benchmarks/threads.py [--case DD] [--models bank,gcn] [--threads 2] [--repetitions 7]
    python benchmarks/threads.py --large [--threads 2] [--repetitions 7]

A hop with little work uses one thread in any case; see ``bankgcn/kernels/layer/large_graph.py``.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import torch

from bankgcn.bench import case_named
from bankgcn.bench.cases import random_shift
from bankgcn.bench.measure import OnTurn, describe_turn, ignore_turn, run_epoch
from bankgcn.bench.peers import OurTraining, our_name
from bankgcn.data.graphs import GraphSet
from growth import FilterCase

SIZES = [(edges, channels) for edges in (300_000, 1_000_000, 10_000_000) for channels in (16, 64)]


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
    graphs: GraphSet,
    batch_size: int,
    *,
    threads: int,
    models: Sequence[str],
    repetitions: int = 5,
    turn_seconds: float = 1.0,
    on_turn: OnTurn = ignore_turn,
) -> dict[str, dict[str, Any]]:
    """Time our trainings on one thread and on several, in turns, and compare their parameters.

    Args:
        graphs: The graphs of an epoch.
        batch_size: Graphs per step.
        threads: Number of threads to compare with one.
        models: Names in ``CONVS``.
        repetitions: Number of timed turns of each training, after one turn to warm up.
        turn_seconds: Minimum seconds of a turn.
        on_turn: Called before each turn.
    """
    pairs = {model: ThreadPair(graphs, batch_size, model, threads) for model in models}
    for pair in pairs.values():
        pair.warm_up(turn_seconds, on_turn)
    for repetition in range(1, repetitions + 1):
        for pair in pairs.values():
            pair.take_turn(repetition, repetitions, on_turn)
    return {model: pair.to_dict() for model, pair in pairs.items()}


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Set PyTorch's number of threads, which our kernels use too; restore it afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def measure_large_graphs(threads: int, repetitions: int) -> Iterator[tuple[int, int, float, float]]:
    """Edges and channels of each large graph, and the median seconds of a filter on one thread and on several."""
    for edges, channels in SIZES:
        case = FilterCase(random_shift(edges), order=2, channels=channels)
        seconds: dict[int, list[float]] = {1: [], threads: []}
        for repetition in range(repetitions + 1):
            for number, times in seconds.items():
                with torch_threads(number):
                    elapsed = case.seconds()
                if repetition:
                    times.append(elapsed)
        one, several = (median(times) for times in seconds.values())
        yield edges, channels, one, several


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", default="DD")
    parser.add_argument("--models", default="bank,gcn")
    parser.add_argument("--large", action="store_true", help="a filter and its gradients on one large graph instead")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=7)
    arguments = parser.parse_args()
    if arguments.large:
        for edges, channels, one, several in measure_large_graphs(arguments.threads, arguments.repetitions):
            print(
                f"{edges:10,} directed edges, {channels} channels: {1000 * one:7.1f} ms on one thread, "
                f"{1000 * several:7.1f} ms on {arguments.threads}: {one / several:.2f} times faster"
            )
        return
    case = case_named(arguments.case)
    models, repetitions = arguments.models.split(","), arguments.repetitions
    figures = measure_threads(
        case.load(), case.batch_size, threads=arguments.threads, models=models, repetitions=repetitions
    )
    for model, row in figures.items():
        print(
            f"{model}: {1000 * row['one_s']:.1f} ms on 1 thread, {1000 * row['many_s']:.1f} ms on "
            f"{arguments.threads}, speed-up {row['ratio']:.2f}, same result: {str(row['same_result']).lower()}"
        )


if __name__ == "__main__":
    main()
