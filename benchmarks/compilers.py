"""The filter bank compiled by numba, C++ and torch.compile, and the plain operations, in one run.

    python benchmarks/compilers.py [--repetitions 50] [--calls 10] [--json FILE]

One batch of 64 NCI1 graphs (or generated ones of the same statistics), 64 channels, order 2, 8 subspaces, float32, one
thread. All use autograd, are checked to agree, and take turns; compare ratios. torch.compile compiles the filter for
the shapes of this batch, and the layer for any number of nodes, as training needs it.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from bankgcn import BankConv, GraphShift
from bankgcn.bench import case_named
from bankgcn.data.batch import GraphBatch
from bankgcn.files.checked import atomic_write
from bankgcn.kernels import use_kernels
from bankgcn.spectral import chebyshev
from bankgcn.training.fitting import reuse_memory

CHANNELS, ORDER, SUBSPACES = 64, 2, 8
SEED = 147  # draws a batch of 1765 nodes from NCI1
# The same freedom as numba has. Not -ffast-math: loading such a library changes the rounding of the whole process.
REORDERING = ("-fassociative-math", "-freciprocal-math", "-fno-signed-zeros", "-fno-trapping-math", "-fno-math-errno")
NUMBA, CPP, COMPILE, PLAIN = "numba", "C++", "torch.compile", "plain"
FORWARD, BACKWARD, LAYER, PRODUCT = "forward", "backward", "layer", "product"

Filter = Callable[[GraphShift, Tensor, Tensor], Tensor]


class Contender(NamedTuple):
    """A way to filter.

    Args:
        apply: The filter, as :func:`bankgcn.spectral.chebyshev.apply`.
        kernels: Whether the kernels of the library are switched on.
        wrap: Applied to a layer; ``None`` skips the layer.
        preparing: Seconds spent before the first call.
    """

    apply: Filter
    kernels: bool
    wrap: Callable[[Any], Any] | None
    preparing: float = 0.0


class Inputs(NamedTuple):
    """Inputs of the filter, and the gradient of its output."""

    shift: GraphShift
    x: Tensor
    coefficients: Tensor
    gradient: Tensor


def main() -> None:
    """Measure, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=50, help="turns of each contender that are timed")
    parser.add_argument("--calls", type=int, default=10, help="calls in a turn, of which the mean is taken")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    reuse_memory()  # as training does
    case = case_named("NCI1")
    graphs = case.load()
    order = torch.Generator().manual_seed(SEED)
    batch = next(iter(graphs.batches(case.batch_size, shuffle=True, generator=order)))
    print(graphs, *graphs.notes, batch, sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        # Compilers cache their results; with empty folders the first call includes compilation.
        os.environ |= {"NUMBA_CACHE_DIR": f"{folder}/numba", "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor"}
        import numba  # noqa: F401  # so that its import is not part of the first call

        contenders = _contenders(Path(folder))
        if CPP not in contenders:
            print("found no compiler (g++): skipping C++ and torch.compile")
        first, seconds = _measure(contenders, batch, arguments.repetitions, arguments.calls)
    Console(highlight=False).print(_table(first, seconds))
    print("First calls are forward and backward together, with compilation; a layer is timed forward and backward.")
    if arguments.json is not None:
        results = {"graphs": repr(graphs), "notes": graphs.notes, "nodes": batch.num_nodes}
        with atomic_write(arguments.json) as file:
            file.write(json.dumps(results | {"first_s": first, "seconds": seconds}, indent=1).encode() + b"\n")


def _contenders(folder: Path) -> dict[str, Contender]:
    """Those that can run here, numba first and the plain operations last."""
    contenders = {NUMBA: Contender(chebyshev.apply, True, lambda layer: layer)}
    if shutil.which("g++"):
        started = time.perf_counter()
        cpp = _cpp_filter(folder)
        contenders[CPP] = Contender(cpp, True, None, time.perf_counter() - started)
        once = torch.compile(chebyshev.apply, fullgraph=True, dynamic=False)
        contenders[COMPILE] = Contender(once, False, partial(torch.compile, fullgraph=True, dynamic=True))
    contenders[PLAIN] = Contender(chebyshev.apply, False, lambda layer: layer)
    return contenders


def _cpp_filter(folder: Path) -> Filter:
    """Build and load the filter in C++; it takes the same arrays as numba's."""
    library = folder / "filter_bank.so"
    source = Path(__file__).with_name("filter_bank.cpp")
    flags = ("-O3", "-march=native", "-ffp-contract=fast", *REORDERING, "-std=c++17", "-shared", "-fPIC")
    subprocess.run(["g++", *flags, "-o", str(library), str(source)], check=True)
    loaded = ctypes.CDLL(str(library))
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    loaded.filter_bank.argtypes = [pointer] * 4 + [integer] + [pointer] * 2 + [integer] * 2 + [pointer]
    loaded.filter_bank_adjoint.argtypes = [pointer] * 4 + [integer] + [pointer] * 2 + [integer] * 2 + [pointer] * 3

    def arguments(shift: GraphShift, x: Tensor, coefficients: Tensor) -> tuple[tuple[int, ...], Tensor]:
        """The first arguments of both functions, and the wide coefficients, which the caller must keep alive."""
        wide = coefficients.repeat_interleave(x.size(1) // coefficients.size(1), dim=1)
        arrays = [array.ctypes.data for array in shift.csr]
        sizes = (coefficients.size(0) - 1, x.size(1))
        return (*arrays, len(shift.csr.block_ptr) - 1, x.data_ptr(), wide.data_ptr(), *sizes), wide

    class CppFilter(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, shift: GraphShift, x: Tensor, coefficients: Tensor) -> Tensor:
            ctx.shift = shift
            ctx.save_for_backward(x, coefficients)
            out = torch.empty_like(x)
            start, _wide = arguments(shift, x, coefficients)
            loaded.filter_bank(*start, out.data_ptr())
            return out

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
            x, coefficients = ctx.saved_tensors
            gradient = gradient.contiguous()
            start, wide = arguments(ctx.shift, x, coefficients)
            grad_x, grad_wide = torch.empty_like(x), torch.empty_like(wide)
            loaded.filter_bank_adjoint(*start, gradient.data_ptr(), grad_x.data_ptr(), grad_wide.data_ptr())
            return None, grad_x, grad_wide.view(*coefficients.shape, -1).sum(-1)

    return CppFilter.apply


def _measure(
    contenders: dict[str, Contender], batch: GraphBatch, repetitions: int, calls: int
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, list[float]]]]:
    """Seconds of the first calls, and of all turns, by part and contender."""
    x = torch.randn(batch.num_nodes, CHANNELS, requires_grad=True)
    coefficients = torch.randn(ORDER + 1, SUBSPACES, requires_grad=True)
    shift = batch.shift.to(torch.float32)
    complete = GraphShift(
        shift.rowptr, shift.col, shift.weight, shift.row
    )  # with its rows, which no contender then has to derive
    inputs = Inputs(complete, x, coefficients, torch.randn_like(x))
    conv, weight = BankConv(CHANNELS, CHANNELS, ORDER, SUBSPACES), torch.randn(CHANNELS, CHANNELS)

    runs: dict[str, dict[str, Callable[[], float]]] = {FORWARD: {}, BACKWARD: {}, LAYER: {}, PRODUCT: {}}
    first: dict[str, dict[str, float]] = {FORWARD: {}, LAYER: {}}
    outcomes = {}
    for name, contender in contenders.items():
        outcomes[name], first[FORWARD][name] = _first_call(contender, inputs)
        runs[FORWARD][name] = _forward(contender, inputs)
        runs[BACKWARD][name] = _backward(contender, inputs)
        if contender.wrap is not None:
            runs[LAYER][name] = _layer(contender, conv, inputs)
            first[LAYER][name] = runs[LAYER][name]()
    for outcome in outcomes.values():
        torch.testing.assert_close(outcome, outcomes[PLAIN], rtol=1e-4, atol=1e-4)
    runs[PRODUCT][""] = lambda: _seconds(lambda: x.detach() @ weight)

    seconds: dict[str, dict[str, list[float]]] = {part: {name: [] for name in who} for part, who in runs.items()}
    for repetition in range(repetitions + 1):  # the first one is not counted
        for part, who in runs.items():
            for name, run in who.items():
                mean = sum(run() for _ in range(calls)) / calls
                if repetition:
                    seconds[part][name].append(mean)
    return first, seconds


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _first_call(contender: Contender, inputs: Inputs) -> tuple[list[Tensor], float]:
    """Filtered signals and both gradients, and the seconds they took, compilation included."""
    shift, x, coefficients, gradient = inputs
    started = time.perf_counter()
    with use_kernels(contender.kernels):
        out = contender.apply(shift, x, coefficients)
        gradients = torch.autograd.grad(out, (x, coefficients), gradient)
    return [out.detach(), *gradients], contender.preparing + time.perf_counter() - started


def _forward(contender: Contender, inputs: Inputs) -> Callable[[], float]:
    shift, x, coefficients, _ = inputs

    def run() -> float:
        with use_kernels(contender.kernels):
            return _seconds(lambda: contender.apply(shift, x, coefficients))

    return run


def _backward(contender: Contender, inputs: Inputs) -> Callable[[], float]:
    shift, x, coefficients, gradient = inputs

    def run() -> float:
        with use_kernels(contender.kernels):
            out = contender.apply(shift, x, coefficients)
            return _seconds(lambda: torch.autograd.grad(out, (x, coefficients), gradient))

    return run


def _layer(contender: Contender, conv: BankConv, inputs: Inputs) -> Callable[[], float]:
    """A layer forward and backward, with the gradients of its input and its parameters."""
    layer, wanted = contender.wrap(conv), [inputs.x, *conv.parameters()]

    def run() -> float:
        with use_kernels(contender.kernels):
            return _seconds(lambda: torch.autograd.grad(layer(inputs.x, inputs.shift), wanted, inputs.gradient))

    return run


def _table(first: dict[str, dict[str, float]], seconds: dict[str, dict[str, list[float]]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("", no_wrap=True)
    for title in ("median µs", "quartiles", "times numba", "first call s"):
        table.add_column(title, justify="right")
    for part, who in seconds.items():
        for name, times in who.items():
            low, middle, high = (1e6 * quartile for quartile in quantiles(times, n=4))
            factor = f"{median(times) / median(who[NUMBA]):.2f}" if NUMBA in who else ""
            once = first.get(part, {}).get(name)
            spread = f"{low:.0f} to {high:.0f}"
            table.add_row(part, name, f"{middle:.0f}", spread, factor, "" if once is None else f"{once:.2f}")
    return table


if __name__ == "__main__":
    main()
