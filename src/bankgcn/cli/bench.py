"""``bankgcn bench``: the speed of training on this machine, beside plain PyG, in one run."""

from __future__ import annotations

import json
import os
import platform
import time
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from bankgcn.choices import pick
from bankgcn.cli.bench_table import case_table, case_title, introduction, thread_lines
from bankgcn.cli.options import DataRoot
from bankgcn.cli.output import OR_STANDARD_OUTPUT, above_display, is_standard_output, named, open_output, terminal_text
from bankgcn.cli.paper_options import names_in
from bankgcn.cli.progress import Progress, percent
from bankgcn.extras import require
from bankgcn.nn.convs import CONVS

if TYPE_CHECKING:  # the command needs PyG, and says so before these are loaded
    from bankgcn.bench import Protocol


def bench(
    cases: Annotated[
        str | None,
        typer.Option(help="Datasets, separated by commas (default: all five; NCI1 and ENZYMES with --quick)."),
    ] = None,
    models: Annotated[
        str | None, typer.Option(help=f"Models, separated by commas (default: {','.join(CONVS)}).")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A quick look of one or two minutes, without memory and growth.")
    ] = False,
    threads: Annotated[
        int | None,
        typer.Option(min=2, help="Compare our training on this number of threads with one (bank, gcn; or --models)."),
    ] = None,
    repetitions: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of timed turns; a turn lasts an epoch or a second (default: 5; shorter with --quick)."
        ),
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of steps in an epoch (default: all; 6 with --quick).")
    ] = None,
    max_edges: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Largest graph of the growth measurements, in directed edges, at least 300000; 0 skips them "
            "(default: 10000000).",
        ),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help=f"Output file for all figures; {OR_STANDARD_OUTPUT}")
    ] = None,
    data_root: DataRoot = None,
) -> None:
    """Time a training epoch of each model on one thread: ours, plain PyG, and the model's matrix products alone.

    The contenders take turns in one run, so other work on the machine slows all of them: compare ratios of medians.
    Generated graphs of the same size replace datasets that are not on this machine.
    """
    require("torch_geometric", "bankgcn bench")
    import torch

    from bankgcn.bench import growth

    numbers = {"threads": threads, "repetitions": repetitions, "max_steps": max_steps, "max_edges": max_edges}
    protocol = _protocol(cases, models, quick, numbers)
    torch.set_num_threads(1)
    console = Console(highlight=False, stderr=is_standard_output(json_file))
    results: dict[str, Any] = {"cases": [], "growth": {}, "machine": _machine(), "protocol": asdict(protocol)}
    console.print(terminal_text(introduction(protocol), lines=True))
    # No other thread runs while something is timed.
    with Progress("bench", protocol.estimate(), count=percent, skip_first=True, refreshes=0) as progress:
        for name in protocol.cases:
            results["cases"].append(_bench_case(console, progress, name, protocol, data_root))
        if protocol.max_edges:
            progress.step("growth", protocol.estimate_growth())
            results["growth"] = growth(max_edges=protocol.max_edges)
    if results["growth"]:
        exponents = ", ".join(f"{name} {fit['exponent']:.2f}" for name, fit in results["growth"].items())
        console.print(terminal_text(f"exponents of the time of a filter: {exponents}"))
    if json_file is not None:
        with open_output(json_file) as file:
            file.write(json.dumps(results, indent=1).encode() + b"\n")
        console.print(terminal_text(f"all figures: {named(json_file)}"), soft_wrap=True)


def _protocol(cases: str | None, models: str | None, quick: bool, numbers: dict[str, int | None]) -> Protocol:
    """The full or the quick protocol, with what is typed."""
    from bankgcn.bench import FULL, QUICK, case_named
    from bankgcn.bench.growth import MIN_EDGES

    protocol = QUICK if quick else FULL
    if 0 < (numbers["max_edges"] or 0) < MIN_EDGES:
        raise ValueError(
            f"--max-edges {numbers['max_edges']}: expected 0, which skips growth, or at least {MIN_EDGES}: "
            "the growth with edges needs two sizes of graphs"
        )
    typed: dict[str, Any] = {name: number for name, number in numbers.items() if number is not None}
    if (case_names := names_in(cases, "cases")) is not None:
        typed["cases"] = tuple(dict.fromkeys(case_named(name).dataset for name in case_names))
    if (model_names := names_in(models, "models")) is not None:
        for name in model_names:
            pick(CONVS, name, "model")
        typed["models"] = typed["thread_models"] = tuple(dict.fromkeys(model_names))
    return replace(protocol, **typed)


def _bench_case(
    console: Console, progress: Progress, name: str, protocol: Protocol, data_root: Path | None
) -> dict[str, Any]:
    from bankgcn.bench import batching_seconds, case_named, measure_case, measure_threads

    case = case_named(name)

    def show(turn: str) -> None:
        progress.step(f"{name}: {turn}", protocol.estimate_turn(case))

    started = time.perf_counter()
    graphs = case.load(data_root)
    loading = time.perf_counter() - started
    graphs = protocol.graphs_of_epoch(graphs, case.batch_size)
    result = measure_case(name, graphs, case.batch_size, protocol, show)
    threads = measure_threads(graphs, case.batch_size, protocol, show)
    batching = batching_seconds(graphs, case.batch_size)
    medians = {contender: median(times) for contender, times in batching.items()}
    with above_display():
        console.print(terminal_text(case_title(result, protocol)))
        console.print(case_table(result, protocol))
        for line in thread_lines(threads):
            console.print(terminal_text(line), soft_wrap=True)
        for note in result.notes:
            console.print(terminal_text(f"note: {note}"), soft_wrap=True)
        times = ", ".join(f"{contender} {1000 * seconds:.1f} ms" for contender, seconds in medians.items())
        console.print(terminal_text(f"loading {loading:.3f} s; batches of an epoch: {times}\n", lines=True))
    values = result.to_dict() | {"load_s": loading, "batching_s": medians}
    return values if threads is None else values | {"threads": threads}


def _machine() -> dict[str, Any]:
    import torch

    return {
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": 1,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
