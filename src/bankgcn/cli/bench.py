"""``bankgcn bench``: the speed of training on this machine, beside plain PyG, in one run."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import asdict, replace
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from bankgcn.cli.output import JsonFile, above_display, is_standard_output, named, terminal_text, write_json
from bankgcn.cli.progress import Progress, percent
from bankgcn.cli.settings import Folders, names_in
from bankgcn.data.catalog import USUAL_FOLDERS, DataFolders
from bankgcn.extras import require
from bankgcn.nn.convs import PLAIN_CONVS
from bankgcn.settings import pick

if TYPE_CHECKING:
    from bankgcn.bench import CaseResult, Protocol


def bench(
    cases: Annotated[
        str | None,
        typer.Option(help="Datasets, separated by commas (default: all five; NCI1 and ENZYMES with --quick)."),
    ] = None,
    models: Annotated[
        str | None, typer.Option(help=f"Models, separated by commas (default: {','.join(PLAIN_CONVS)}).")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A quick look of one or two minutes.")] = False,
    repetitions: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of timed turns; a turn lasts an epoch or a second (default: 5; shorter with --quick)."
        ),
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of steps in an epoch (default: all; 6 with --quick).")
    ] = None,
    json_file: JsonFile = None,
    folders: Folders = USUAL_FOLDERS,
) -> None:
    """Time a training epoch of each model on one thread: ours, plain PyG, and the model's matrix products alone.

    The contenders take turns in one run, so other work on the machine slows all of them: compare ratios of medians.
    Generated graphs of the same size replace datasets that are not on this machine.
    """
    require("torch_geometric", "bankgcn bench")
    import torch

    protocol = _protocol(cases, models, quick, {"repetitions": repetitions, "max_steps": max_steps})
    torch.set_num_threads(1)
    console = Console(highlight=False, stderr=is_standard_output(json_file))
    results: dict[str, Any] = {"cases": [], "machine": _machine(), "protocol": asdict(protocol)}
    console.print(terminal_text(introduction(protocol), lines=True))
    # No other thread runs while something is timed.
    with Progress("bench", protocol.estimate(), count=percent, skip_first=True, refreshes=0) as progress:
        for name in protocol.cases:
            results["cases"].append(_bench_case(console, progress, name, protocol, folders))
    if json_file is not None:
        write_json(json_file, results, allow_nan=True)
        console.print(terminal_text(f"all figures: {named(json_file)}"), soft_wrap=True)


def _protocol(cases: str | None, models: str | None, quick: bool, numbers: dict[str, int | None]) -> Protocol:
    """The full or the quick protocol, with what is typed."""
    from bankgcn.bench import FULL, QUICK, case_named

    protocol = QUICK if quick else FULL
    typed: dict[str, Any] = {name: number for name, number in numbers.items() if number is not None}
    if (case_names := names_in(cases, "cases")) is not None:
        typed["cases"] = tuple(dict.fromkeys(case_named(name).dataset for name in case_names))
    if (model_names := names_in(models, "models")) is not None:
        for name in model_names:
            pick(dict.fromkeys(PLAIN_CONVS), name, "model")
        typed["models"] = tuple(dict.fromkeys(model_names))
    return replace(protocol, **typed)


def _bench_case(
    console: Console, progress: Progress, name: str, protocol: Protocol, folders: DataFolders
) -> dict[str, Any]:
    from bankgcn.bench import batching_seconds, case_named, measure_case

    case = case_named(name)

    def show(turn: str) -> None:
        progress.step(f"{name}: {turn}", protocol.estimate_turn(case))

    started = time.perf_counter()
    graphs = case.load(folders)
    loading = time.perf_counter() - started
    graphs = protocol.graphs_of_epoch(graphs, case.batch_size)
    result = measure_case(name, graphs, case.batch_size, protocol, show)
    batching = batching_seconds(graphs, case.batch_size)
    medians = {contender: median(times) for contender, times in batching.items()}
    with above_display():
        console.print(terminal_text(case_title(result, protocol)))
        console.print(case_table(result))
        for note in result.notes:
            console.print(terminal_text(f"note: {note}"), soft_wrap=True)
        times = ", ".join(f"{contender} {1000 * seconds:.1f} ms" for contender, seconds in medians.items())
        console.print(terminal_text(f"loading {loading:.3f} s; batches of an epoch: {times}\n", lines=True))
    return result.to_dict() | {"load_s": loading, "batching_s": medians}


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


LEGEND = """\
ours, PyG: median time of one epoch, on one thread
ratio: time of PyG / time of ours
times its products: time of ours / time of the model's matrix products alone"""


def introduction(protocol: Protocol) -> str:
    """What the figures mean, and what a quick look leaves out."""
    if not protocol.quick:
        return f"{LEGEND}\n"
    quick = (
        f"A quick look (steps in an epoch: at most {protocol.max_steps}; timed turns: {protocol.repetitions}).\n"
        "The figures are rough. Run the command without --quick to quote them."
    )
    return f"{quick}\n{LEGEND}\n"


def case_title(result: CaseResult, protocol: Protocol) -> str:
    """Name of the case, and what was timed."""
    steps = "1 training step" if result.steps == 1 else f"{result.steps} training steps"
    what = "one training epoch" if protocol.max_steps is None else f"an epoch of {steps}"
    return f"{result.name}: {what}{', a quick look' if protocol.quick else ''}"


def case_table(result: CaseResult) -> Table:
    """Ours beside PyG, one row for each model."""
    table = Table(box=None, pad_edge=False)
    table.add_column("model")
    for column in ("ours", "PyG", "ratio", "times its\nproducts"):
        table.add_column(column, justify="right")
    for model in result.models:
        row = result.figures(model)
        table.add_row(
            model, _time(row["ours_s"]), _time(row["pyg_s"]), f"{row['ratio']:.2f}", f"{row['gemm_ratio']:.2f}"
        )
    return table


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"
