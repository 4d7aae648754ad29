"""Where the time of a training epoch goes: plain operations, fused layers, and the pass through the whole network.

    python benchmarks/profile_epoch.py [--case NCI1] [--repetitions 7] [--top 12]

The three ways take turns, without a profiler; then each is profiled once by PyTorch's, which slows the first two down.
What happens inside the pass no profiler sees, so its parts are run by themselves on one batch, a part at a time: in
place they share the cache, hence their sum is not exactly the whole.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import numba
import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from bankgcn.bench import case_named
from bankgcn.bench.measure import OurTraining
from bankgcn.data.graphs import GraphSet
from bankgcn.kernels import use_kernels
from bankgcn.kernels.jit.vector import row_of
from bankgcn.kernels.network.block import (
    activate_graph,
    activate_graph_back,
    add_outer,
    block_end,
    classify,
    largest_block,
    product,
    room_for_block,
    take_back,
    take_forward,
)
from bankgcn.kernels.network.parameters import read_parameters, room_for_parameters
from bankgcn.kernels.ops.filter_rows import filter_rows
from bankgcn.nn.whole import whole

PLAIN, LAYERS, WHOLE = "plain operations", "fused layers", "whole network"
PARTS = (
    "making room, reading the parameters",
    "products of signals and matrices, one layer",
    "gradient of a matrix, one layer",
    "filter forward, one layer",
    "filter backward, one layer",
    "activation and readout forward, one layer",
    "activation and readout backward, one layer",
    "all layers forward",
    "loss",
    "all layers backward",
)


def epoch(training: OurTraining, way: str) -> float:
    """Seconds of an epoch."""
    started = time.perf_counter()
    with use_kernels(way != PLAIN):
        for _ in training.steps():
            pass
    return time.perf_counter() - started


def trainings(graphs: GraphSet, batch_size: int) -> dict[str, OurTraining]:
    """A training for each way; fused layers alone are what autograd uses."""
    ways = {way: OurTraining(graphs, batch_size) for way in (PLAIN, LAYERS, WHOLE)}
    ways[LAYERS].training.learner._whole = None
    return ways


def print_profile(training: OurTraining, way: str, top: int) -> None:
    """The operations that took longest by themselves."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        epoch(training, way)
    events = sorted(profiler.key_averages(), key=lambda event: -event.self_cpu_time_total)[:top]
    print(f"\n{way}: PyTorch's operations, milliseconds of an epoch by themselves")
    for event in events:
        print(f"  {event.self_cpu_time_total / 1000:8.1f}  {event.count:6}  {event.key}")


@numba.njit
def run_part(part, graphs, cuts, shape, banks, basis, theta, y):
    """Run one part of the pass on all blocks of a batch."""
    net, gradient = room_for_parameters(shape, theta.dtype), room_for_parameters(shape, theta.dtype)
    read_parameters(shape, banks, basis, theta, net)
    nodes, most = largest_block(graphs.ptr, cuts)
    space = room_for_block(shape, graphs.attributes.shape[1], nodes, most, True, theta.dtype)
    nothing, begin, last = net.c[0, :0], cuts[0], cuts[-1]
    r, h, x, c, factor = space.r[1], space.h[1], space.x[1], net.c[1], space.factor[1]
    rowptr, col, weight, hops, row = graphs.rowptr, graphs.col, graphs.weight, space.hops, row_of(theta.dtype.type(0))
    grad, grad_r, grad_c = space.grad, space.grad_r, gradient.c[1]
    while begin < last:
        end = block_end(graphs.ptr, begin, last)
        first = graphs.ptr[begin]
        rows, alike = graphs.ptr[end] - first, graphs.alike[first:]
        if part == 1:
            product(x, net.onward[1], rows, shape.hidden, net.bias, 1, r)
        elif part == 2:
            add_outer(space.grad_r, x, rows, gradient.back[1])
        elif part == 7:
            take_forward(graphs, shape, net, space, begin, end)
        elif part == 8:
            classify(shape, net, gradient, space, y, begin, end, 1.0)
        elif part == 9:
            take_back(graphs, shape, net, gradient, space, begin, end)
        for graph in range(begin, end):
            start, size = graphs.ptr[graph] - first, graphs.ptr[graph + 1] - graphs.ptr[graph]
            at = (graph - begin) * shape.layers * shape.parts
            if part == 3:
                filter_rows(row, rowptr, col, weight, first, start, size, r, 0, c, hops, h, r, nothing)
            elif part == 4:
                filter_rows(row, rowptr, col, weight, first, start, size, grad, 0, c, hops, grad_r, r, grad_c)
            elif part == 5:
                activate_graph(h, start, size, alike, shape.mode, shape.parts > 1, factor, x, space.read, at)
            elif part == 6:
                with_max, read, grad_read = shape.parts > 1, space.read, space.grad_read
                mode = shape.mode
                activate_graph_back(h, x, start, size, alike, mode, with_max, factor, read, grad_read, at, True, grad)
        begin = end


def print_parts(training: OurTraining, graphs: GraphSet, batch_size: int, repetitions: int) -> None:
    """Microseconds of each part of the pass for one batch, less those of making room."""
    passes = whole(training.training.net)
    batch = next(graphs.batches(batch_size, shuffle=True, generator=torch.Generator().manual_seed(0)))
    assert passes is not None
    assert batch.y is not None
    theta = training.training.learner.parameters.vector.detach().numpy()
    plan, cuts, y = passes.plan, np.array([0, batch.num_graphs]), batch.y.numpy()

    def runner(part: int) -> Callable[[], None]:
        return lambda: run_part(part, batch.arrays, cuts, plan.shape, plan.banks, plan.basis, theta, y)

    different = len(batch.arrays.alike)
    print(f"\nthe pass, microseconds for one batch, fastest of {30 * repetitions}")
    print(f"({batch.num_nodes} nodes; {different} when those that are alike are taken together)")
    room = 0.0
    for part, name in enumerate(PARTS):
        seconds = _fastest(runner(part), 30 * repetitions)
        print(f"  {1e6 * (seconds - room):8.0f}  {name}")
        room = seconds if part == 0 else room
    signal, matrix = torch.randn(different, plan.shape.hidden), torch.randn(plan.shape.hidden, plan.shape.hidden)
    seconds = _fastest(lambda: torch.mm(signal, matrix), 30 * repetitions)
    print(f"  {1e6 * seconds:8.0f}  PyTorch's product of a signal and a matrix, for scale")


def _fastest(call: Callable[[], object], repetitions: int) -> float:
    call()
    times = []
    for _ in range(repetitions):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


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
    ways = trainings(graphs, case.batch_size)
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for repetition in range(arguments.repetitions + 1):
        for way, training in ways.items():
            elapsed = epoch(training, way)
            if repetition:
                seconds[way].append(elapsed)
    for way, times in seconds.items():
        print(f"{way:18} {median(times):7.3f} s an epoch ({min(times):.3f} to {max(times):.3f})")
    for way in (PLAIN, LAYERS):
        print_profile(ways[way], way, arguments.top)
    print_parts(ways[WHOLE], graphs, case.batch_size, arguments.repetitions)


if __name__ == "__main__":
    main()
