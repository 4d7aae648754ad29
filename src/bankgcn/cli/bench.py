"""``bankgcn bench``: the speed of training on this machine, beside plain PyG, in one run."""

from __future__ import annotations

import json
import os
import platform
import time
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from bankgcn.cli.options import DataRoot
from bankgcn.cli.output import OR_STANDARD_OUTPUT, is_standard_output, named, open_output
from bankgcn.extras import require

ALL = "NCI1,ENZYMES,DD,CIFAR-10,ogbg-molhiv"


def bench(
    cases: Annotated[str, typer.Option(help="Datasets, separated by commas.")] = ALL,
    repetitions: Annotated[
        int, typer.Option(min=1, help="Number of timed turns; a turn lasts an epoch or a second.")
    ] = 5,
    max_steps: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of steps per epoch, for a quick look.")
    ] = None,
    max_edges: Annotated[
        int, typer.Option(help="Largest graph for the growth measurements, in directed edges; 0 skips them.")
    ] = 10_000_000,
    json_file: Annotated[
        Path | None, typer.Option("--json", help=f"Output file for all figures; {OR_STANDARD_OUTPUT}")
    ] = None,
    data_root: DataRoot = None,
) -> None:
    """Time a training epoch on one thread: bankgcn, models of plain PyG, and the matrix products alone.

    The contenders take turns in one run, so other work on the machine slows all of them: compare ratios of medians.
    Generated graphs of the same size replace datasets that are not on this machine.
    """
    require("torch_geometric", "bankgcn bench")
    from bankgcn.bench import case_named, growth

    chosen = {case_named(name.strip()).dataset: case_named(name.strip()) for name in cases.split(",")}
    torch.set_num_threads(1)
    console = Console(highlight=False, stderr=is_standard_output(json_file))
    results: dict[str, Any] = {"cases": [], "growth": {}, "machine": _machine()}
    for name, case in chosen.items():
        results["cases"].append(_bench_case(console, name, case, repetitions, max_steps, data_root))
    if max_edges:
        with console.status("growth"):
            results["growth"] = growth(max_edges=max_edges)
        exponents = ", ".join(f"{name} {fit['exponent']:.2f}" for name, fit in results["growth"].items())
        console.print(Text(f"exponents of the time of a filter: {exponents}"))
    if json_file is not None:
        with open_output(json_file) as file:
            file.write(json.dumps(results, indent=1).encode() + b"\n")
        console.print(Text(f"all figures: {named(json_file)}"), soft_wrap=True)


def _bench_case(
    console: Console, name: str, case: Any, repetitions: int, max_steps: int | None, data_root: Path | None
) -> dict[str, Any]:
    from bankgcn.bench import batching_seconds, measure_case

    with console.status(f"{name}: loading") as status:
        started = time.perf_counter()
        graphs = case.load(data_root)
        loading = time.perf_counter() - started

        def show(contender: str, repetition: int) -> None:
            status.update(f"{name}: {contender}, turn {repetition} of {repetitions}")

        result = measure_case(name, case, graphs, repetitions=repetitions, max_steps=max_steps, on_epoch=show)
        batching = batching_seconds(graphs, case.batch_size)
    console.print(_table(result))
    for note in result.notes:
        console.print(Text(f"note: {note}"), soft_wrap=True)
    medians = {contender: median(times) for contender, times in batching.items()}
    times = ", ".join(f"{contender} {1000 * seconds:.1f} ms" for contender, seconds in medians.items())
    console.print(Text(f"loading {loading:.3f} s; batches of an epoch: {times}"))
    return result.to_dict() | {"load_s": loading, "batching_s": medians}


def _table(result: Any) -> RichTable:
    from bankgcn.bench import OURS

    table = RichTable(title=f"{result.name}: one training epoch", title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    for title in ("median", "fastest", "slowest", "times ours", "memory of a step"):
        table.add_column(title, justify="right")
    ours = result.medians[OURS]
    for name, times in result.seconds.items():
        factor = result.medians[name] / ours
        memory = f"{result.peak_bytes[name] / 2**20:.1f} MiB" if name in result.peak_bytes else ""
        figures = (result.medians[name], min(times), max(times))
        table.add_row(name, *(f"{seconds:.3f} s" for seconds in figures), f"{factor:.2f}", memory)
    return table


def _machine() -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": 1,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
