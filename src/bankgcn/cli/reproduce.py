"""``bankgcn reproduce``, ``table`` and ``figure``: the paper's experiments, and what came out of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console
from rich.text import Text

from bankgcn.choices import pick
from bankgcn.cli.errors import FAILED, INTERRUPTED
from bankgcn.cli.output import OR_STANDARD_OUTPUT, is_standard_output
from bankgcn.cli.paper_options import (
    DEFAULT_STORE,
    Datasets,
    Epochs,
    Gammas,
    Models,
    Part,
    Runs,
    Select,
    StoreFolder,
    WeightDecays,
    names_in,
)
from bankgcn.cli.source_options import DataRoot
from bankgcn.cli.sweep_grid import SweepGrid
from bankgcn.data.sources import find_dataset
from bankgcn.experiments import RunRecord
from bankgcn.experiments.engines import make_engine
from bankgcn.experiments.paper.datasets import PAPER_DATASETS, describe, is_here
from bankgcn.experiments.paper.layout import Figure, Table, stand_ins
from bankgcn.experiments.selection import LABELS, How
from bankgcn.experiments.store import Store
from bankgcn.experiments.sweep import sweep
from bankgcn.files.atomic import atomic_write
from bankgcn.report.datasets import dataset_sheet
from bankgcn.report.figures import IMAGES, draw, omegas
from bankgcn.report.results import occupied
from bankgcn.report.sheet import WRITERS
from bankgcn.report.tables import render_table


def run_experiments(
    what: Annotated[str, typer.Argument(help="table1, table2, table3, table4, or figure3.", metavar="WHAT")],
    datasets: Datasets = None,
    models: Models = None,
    runs: Runs = None,
    epochs: Epochs = None,
    weight_decays: WeightDecays = None,
    gammas: Gammas = None,
    select: Select = "validation",
    engine: Annotated[str, typer.Option(help="What runs them: 'local' processes, 'ray', or 'serial'.")] = "local",
    workers: Annotated[int | None, typer.Option(help="Runs at a time; as many as cores if not given.", min=1)] = None,
    address: Annotated[str | None, typer.Option(help="Of a Ray cluster, with --engine ray.")] = None,
    store: StoreFolder = DEFAULT_STORE,
    data_root: DataRoot = None,
) -> None:
    """Run the experiments of a table or figure of the paper, and print it.

    Runs whose records are in the store are not run again: after a stop or a kill, the same command goes on.
    """
    rule = _rule(select)
    part = Part(datasets=datasets, models=models, runs=runs, epochs=epochs, weight_decays=weight_decays, gammas=gammas)
    part, left_out = part.among(what, lambda name: is_here(name, data_root))
    experiment = part.of(what)
    configs = experiment.configs()
    for dataset in dict.fromkeys(config.dataset for config in configs):
        find_dataset(dataset, data_root)  # or say at once how to get it
    console = Console(stderr=True, highlight=False)
    if left_out:
        _say(console, f"left out, because they are not here: {', '.join(left_out)}; see 'bankgcn data list'")
    runner = make_engine(engine, workers=workers, data_root=data_root, address=address)
    try:
        with SweepGrid(experiment, configs, console) as grid:
            grid.say(f"{what}: {len(configs):,} runs, whose records are kept in {store}")
            outcome = sweep(configs, Store(store), runner, grid.on_event)
            grid.say(grid.summary())
    except KeyboardInterrupt:
        _say(console, f"interrupted: what is done is kept in {store}, and the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(_render(experiment, {record.config.key: record for record in outcome.records}, rule, "text"), nl=False)
    if outcome.failed:
        _say(console, f"error: {len(outcome.failed):,} runs failed; the same command tries them again")
        raise typer.Exit(FAILED)


def print_table(
    what: Annotated[str, typer.Argument(help="table0, table1, ..., table4, or figure3.", metavar="TABLE")],
    datasets: Datasets = None,
    models: Models = None,
    runs: Runs = None,
    epochs: Epochs = None,
    weight_decays: WeightDecays = None,
    gammas: Gammas = None,
    select: Select = "validation",
    store: StoreFolder = DEFAULT_STORE,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(WRITERS)}.")] = "text",
    out: Annotated[Path, typer.Option(help=f"File to write it to; {OR_STANDARD_OUTPUT}")] = Path("-"),
    data_root: DataRoot = None,
) -> None:
    """Print a table of the paper from the records that there are; nothing is run.

    Of rows and columns that are not named, those with at least one record are shown. table0 describes the datasets,
    and is read from these.
    """
    rule, write = _rule(select), pick(WRITERS, form, "format")
    part = Part(datasets=datasets, models=models, runs=runs, epochs=epochs, weight_decays=weight_decays, gammas=gammas)
    if what == "table0":
        text = write(dataset_sheet(describe(_described(part, data_root), data_root)))
    else:
        experiment, records = _stored(what, part, store)
        text = _render(experiment, records, rule, form)
    if is_standard_output(out):
        typer.echo(text, nl=False)
    else:
        _write(out, text.encode())


def draw_figure(
    what: Annotated[str, typer.Argument(help="figure3.", metavar="FIGURE")],
    out: Annotated[Path, typer.Option(help=f"Image to write: {', '.join(IMAGES)}, by its ending.")],
    datasets: Datasets = None,
    epochs: Epochs = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Draw a figure of the paper from the records that there are; nothing is run."""
    pick({"figure3": None}, what, "figure")
    form = out.suffix.lower().removeprefix(".")
    if form not in IMAGES:
        raise ValueError(f"{out}: expected the name of an image that ends in .{', .'.join(IMAGES)}")
    experiment, records = _stored(what, Part(datasets=datasets, epochs=epochs), store)
    assert isinstance(experiment, Figure)
    _write(out, draw(experiment, records, form))


COMMANDS: dict[str, Callable[..., None]] = {
    "reproduce": run_experiments,
    "table": print_table,
    "figure": draw_figure,
}


def _stored(what: str, part: Part, folder: Path) -> tuple[Table | Figure, dict[str, RunRecord]]:
    """What was asked for, as far as there are records of it."""
    part.of(what)  # before anything else, say what is wrong with the question itself
    if not folder.is_dir():
        raise ValueError(f"{folder}: there are no records; 'bankgcn reproduce {what} --store {folder}' makes them")
    store = Store(folder)
    records = {record.config.key: record for record in store.records()}
    for message in store.skipped:
        _say(Console(stderr=True, highlight=False), message)
    known = {record.config.dataset for record in records.values()}
    experiment = part.among(what, known.__contains__, others=known)[0].of(what)
    if not any(config.key in records for config in experiment.configs()):
        raise ValueError(
            f"{folder}: none of its {len(records):,} records is of {what} with these options; --epochs, "
            "--weight-decays and --gammas must be those of 'bankgcn reproduce'"
        )
    if isinstance(experiment, Table):
        there = occupied(experiment, records)
        experiment = replace(
            experiment,
            rows=there.rows if part.models is None else experiment.rows,
            columns=there.columns if part.datasets is None else experiment.columns,
        )
    return experiment, records


def _render(experiment: Table | Figure, records: dict[str, RunRecord], rule: How, form: str) -> str:
    if isinstance(experiment, Figure):
        return WRITERS[form](omegas(experiment, records))
    return render_table(experiment, records, rule, form)


def _described(part: Part, data_root: Path | None) -> list[str]:
    if part != Part(datasets=part.datasets):
        raise ValueError("table0 describes datasets: of these options, it has --datasets alone")
    if part.datasets is not None:
        return names_in(part.datasets, "datasets") or []
    return stand_ins(PAPER_DATASETS, lambda name: is_here(name, data_root))


def _rule(select: str) -> How:
    pick(LABELS, select, "selection")
    return cast(How, select)


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path) as file:
        file.write(content)
    typer.echo(f"written to {path}")


def _say(console: Console, message: str) -> None:
    console.print(Text(message), soft_wrap=True)
