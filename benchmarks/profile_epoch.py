"""Where the time of a training epoch goes: plain operations, fused layers, and the program.

    python benchmarks/profile_epoch.py [--case NCI1] [--repetitions 7] [--top 12]

The three take turns, without a profiler. Then PyTorch's profiler lists the operations of the first two. It does not see
inside the executor, so the executor's own functions are timed on one call's graphs: collate, forward pass, forward and
backward pass, training steps.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from bankgcn.bench import case_named
from bankgcn.bench.ours import OurTraining
from bankgcn.data.graphs import GraphSet
from bankgcn.kernels import use_kernels
from bankgcn.kernels.network.collate import collate
from bankgcn.kernels.network.executor import add_gradient, readouts
from bankgcn.training.stepper import ProgramStepper, Stepper

PLAIN, LAYERS, PROGRAM = "plain operations", "fused layers", "program"


def trainings(graphs: GraphSet, batch_size: int) -> dict[str, OurTraining]:
    """A training for each path."""
    paths = {PROGRAM: OurTraining(graphs, batch_size)}
    for path in (LAYERS, PLAIN):
        paths[path] = OurTraining(graphs, batch_size)
        training = paths[path].training
        training.stepper = Stepper(training.net, training.config, training.task)
    return paths


def epoch(training: OurTraining, path: str) -> float:
    """Seconds of an epoch."""
    started = time.perf_counter()
    with use_kernels(path != PLAIN):
        for _ in training.steps():
            pass
    return time.perf_counter() - started


def print_operations(training: OurTraining, path: str, top: int) -> None:
    """The operations that take the most time themselves."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        epoch(training, path)
    events = sorted(profiler.key_averages(), key=lambda event: -event.self_cpu_time_total)[:top]
    print(f"\n{path}: PyTorch's operations, milliseconds of an epoch, calls")
    for event in events:
        print(f"  {event.self_cpu_time_total / 1000:8.1f}  {event.count:6}  {event.key}")


def print_executor(stepper: ProgramStepper, graphs: GraphSet, repetitions: int) -> None:
    """Milliseconds of the executor's functions, for the batches of one call."""
    size = stepper.config.batch_size * stepper.batches_per_call
    batch = next(graphs.batches(size, shuffle=True, generator=torch.Generator().manual_seed(0)))
    collated, program, y = batch.collated, stepper.program, batch.source.y[batch.indices]
    theta, gradient = stepper.parameters.vector.detach().numpy(), np.zeros_like(stepper.parameters.gradient.numpy())
    functions: dict[str, Callable[[], object]] = {
        "collate": lambda: collate(graphs.quotient, batch.indices),
        "forward": lambda: readouts(collated, program, theta),
        "forward, loss and backward": lambda: add_gradient(collated, program, theta, y, gradient),
        "collate and all training steps": lambda: stepper.step(graphs.batch(batch.indices)),
    }
    merged = len(collated.multiplicity)
    print(f"\n{PROGRAM}: milliseconds, median of {repetitions} (fastest)")
    print(f"for {size // stepper.config.batch_size} batches, {batch.num_nodes} nodes, {merged} in the quotient graphs")
    for name, function in functions.items():
        times = [1000 * _seconds(function) for _ in range(repetitions + 1)][1:]
        print(f"  {median(times):8.1f} ({min(times):.1f})  {name}")


def _seconds(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", default="NCI1")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--top", type=int, default=12)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    case = case_named(arguments.case)
    graphs = case.load()
    print(graphs, *graphs.notes, sep="\n")
    paths = trainings(graphs, case.batch_size)
    seconds: dict[str, list[float]] = {path: [] for path in paths}
    for repetition in range(arguments.repetitions + 1):  # the first one is not counted
        for path, training in paths.items():
            elapsed = epoch(training, path)
            if repetition:
                seconds[path].append(elapsed)
    for path, times in seconds.items():
        print(f"{path:18} {median(times):7.3f} s an epoch ({min(times):.3f} to {max(times):.3f})")
    for path in (PLAIN, LAYERS):
        print_operations(paths[path], path, arguments.top)
    stepper = paths[PROGRAM].training.stepper
    assert isinstance(stepper, ProgramStepper), stepper
    print_executor(stepper, graphs, arguments.repetitions)


if __name__ == "__main__":
    main()
