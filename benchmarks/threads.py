"""The speed-up by threads on one large graph: a filter and its gradients, on one thread and on several, in turns.

    python benchmarks/threads.py [--threads 2] [--repetitions 7]

A hop with little work uses one thread in any case; see ``bankgcn/kernels/layer/large_graph.py``.
"""

from __future__ import annotations

import argparse
from statistics import median

import torch

from bankgcn.bench.growth import FilterCase, random_shift

SIZES = [(edges, channels) for edges in (300_000, 1_000_000, 10_000_000) for channels in (16, 64)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=7)
    arguments = parser.parse_args()
    for edges, channels in SIZES:
        case = FilterCase(random_shift(edges), order=2, channels=channels)
        seconds: dict[int, list[float]] = {1: [], arguments.threads: []}
        for repetition in range(arguments.repetitions + 1):
            for threads, times in seconds.items():
                torch.set_num_threads(threads)
                elapsed = case.seconds()
                if repetition:
                    times.append(elapsed)
        one, several = (median(times) for times in seconds.values())
        print(
            f"{edges:10,} directed edges, {channels} channels: {1000 * one:7.1f} ms on one thread, "
            f"{1000 * several:7.1f} ms on {arguments.threads}: {one / several:.2f} times faster"
        )


if __name__ == "__main__":
    main()
