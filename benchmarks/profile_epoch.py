"""Where the time of a training epoch goes: plain operations, fused layers, and the program.

    python benchmarks/profile_epoch.py [--case NCI1] [--model bank] [--repetitions 7] [--top 12]

The three take turns, without a profiler. Then PyTorch's profiler lists the operations of the first two. It does not see
inside the executor, so the executor's own functions are timed on one call's graphs: collate, forward pass, forward and
backward pass, training steps. At last each instruction of the program is repeated on one block of graphs; the times are
added by operation.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import chain
from statistics import median

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from bankgcn.bench import case_named
from bankgcn.bench.peers import OurTraining
from bankgcn.data.graphs import GraphSet
from bankgcn.kernels import use_kernels
from bankgcn.kernels.network.collate import block_end
from bankgcn.kernels.network.executor import _Call, _run, readouts, train
from bankgcn.kernels.ops import blocks as entry
from bankgcn.nn.lowering import lower
from bankgcn.training.stepper import ProgramStepper, Stepper, collate_for

PLAIN, LAYERS, PROGRAM = "plain operations", "fused layers", "program"
REPEATED = 20  # times that an instruction runs in one measurement; results of some shrink from one to the next


def trainings(graphs: GraphSet, batch_size: int, model: str) -> dict[str, OurTraining]:
    """A training for each path."""
    paths = {PROGRAM: OurTraining(graphs, batch_size, model)}
    for path in (LAYERS, PLAIN):
        paths[path] = OurTraining(graphs, batch_size, model)
        training = paths[path].training
        training.stepper = Stepper(training.net, training.context, len(graphs))
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
    batch_size = stepper.context.config.batch_size
    size = batch_size * stepper.batches_per_call
    batch = next(graphs.batches(size, shuffle=True, generator=torch.Generator().manual_seed(0)))
    batch_ptr = np.append(np.arange(0, batch.num_graphs, batch_size), batch.num_graphs)
    program, evaluation = stepper.program, lower(stepper.net)
    assert evaluation is not None
    collated, targets = collate_for(program, batch), stepper._targets(batch, batch_ptr, 1.0)
    theta, gradient = stepper.parameters.vector.detach().numpy(), np.zeros_like(stepper.parameters.gradient.numpy())
    functions: dict[str, Callable[[], object]] = {
        "collate": lambda: collate_for(program, graphs.batch(batch.indices)),
        "forward": lambda: readouts(collated, evaluation, theta),
        "forward, loss and backward": lambda: train(collated, batch_ptr, program, theta, targets, gradient),
        "collate and all training steps": lambda: stepper.step(graphs.batch(batch.indices)),
    }
    merged = len(collated.multiplicity)
    print(f"\n{PROGRAM}: milliseconds, median of {repetitions} (fastest)")
    print(f"for {len(batch_ptr) - 1} batches, {batch.num_nodes} nodes, {merged} in the quotient graphs")
    for name, function in functions.items():
        times = [1000 * _seconds(function) for _ in range(repetitions + 1)][1:]
        print(f"  {median(times):8.1f} ({min(times):.1f})  {name}")


def print_instructions(stepper: ProgramStepper, graphs: GraphSet, repetitions: int) -> None:
    """Microseconds of each operation for the first block of a batch, in cache."""
    batch = graphs.batch(slice(0, stepper.context.config.batch_size))
    batch_ptr, program = np.array([0, batch.num_graphs]), stepper.program
    collated, targets = collate_for(program, batch), stepper._targets(batch, batch_ptr, 1.0)
    theta, gradient = stepper.parameters.vector.detach().numpy(), np.zeros_like(stepper.parameters.gradient.numpy())
    call = _Call(collated, batch_ptr, program, theta, targets, gradient)
    table, work, gradients = call.table, call.work[0], np.zeros(program.gradient_size, program.dtype)
    end = block_end(collated.node_ptr, 0, batch.num_graphs)
    table[entry.ROWS], table[entry.GRAPHS] = collated.node_ptr[end], end
    if stepper.net.dropout:
        table[entry.DROPOUT_KEY] = stepper.dropout_key(0)
    whole = np.concatenate([call.linked.forward, call.linked.backward])
    for code in (call.linked.prologue, whole):
        _run(code, table, work, call.parameters, gradients)
    kept = work.copy()

    def microseconds(code: np.ndarray, times: int) -> float:
        repeated, fastest = np.tile(code, (times, 1)), np.inf
        for _ in range(repetitions):
            work[:] = kept  # operations in place change their inputs
            started = time.thread_time()
            _run(repeated, table, work, call.parameters, gradients)
            fastest = min(fastest, time.thread_time() - started)
        return 1e6 * fastest / times

    spent: dict[tuple[str, str], list[float]] = defaultdict(list)
    forward = zip(program.forward, call.linked.forward, strict=True)
    backward = zip(program.backward, call.linked.backward, strict=True)
    for number, (instruction, row) in enumerate(chain(forward, backward)):
        part = "forward" if number < len(program.forward) else "backward"
        spent[part, instruction.operation.name].append(microseconds(row[None], REPEATED))
    total = sum(map(sum, spent.values()))
    print(
        f"\n{PROGRAM}: microseconds of a block of {end} graphs with {table[entry.ROWS]} nodes, fastest of {repetitions}"
    )
    for (part, name), times in sorted(spent.items(), key=lambda item: -sum(item[1])):
        print(f"  {sum(times):8.1f}  {sum(times) / total:6.1%}  {len(times):3} times  {part:8}  {name}")
    print(f"  {total:8.1f}  in total; one after another, as in training: {microseconds(whole, 1):.1f}")
    for name in ("prologue", "epilogue"):
        print(f"  {microseconds(getattr(call.linked, name), 1):8.1f}  {name}, once for each batch")


def _seconds(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", default="NCI1")
    parser.add_argument("--model", default="bank")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--top", type=int, default=12)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    case = case_named(arguments.case)
    graphs = case.load()
    print(graphs, *graphs.notes, sep="\n")
    paths = trainings(graphs, case.batch_size, arguments.model)
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
    print_instructions(stepper, graphs, arguments.repetitions)


if __name__ == "__main__":
    main()
