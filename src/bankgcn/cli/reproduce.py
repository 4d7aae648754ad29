"""``bankgcn reproduce`` and ``table``: run the paper's experiments, and print their results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console

from bankgcn.choices import pick
from bankgcn.cli.errors import FAILED, INTERRUPTED
from bankgcn.cli.messages import say
from bankgcn.cli.options import DataRoot
from bankgcn.cli.output import OR_STANDARD_OUTPUT, is_standard_output
from bankgcn.cli.paper_options import (
    DEFAULT_STORE,
    Datasets,
    Epochs,
    Gammas,
    Layout,
    Models,
    Normalize,
    Notes,
    Runs,
    SearchRuns,
    Select,
    SettingName,
    StoreFolder,
    TableSelection,
    WeightDecays,
    names_in,
)
from bankgcn.cli.stored import check_store, read_records, stored_part
from bankgcn.cli.sweep_grid import SweepGrid
from bankgcn.experiments import RunRecord
from bankgcn.experiments.engines import make_engine
from bankgcn.experiments.paper.datasets import PAPER_DATASETS, describe, is_here
from bankgcn.experiments.paper.layout import Figure, Table, stand_ins
from bankgcn.experiments.paper.search import check_rule, expected_configs, run_experiment
from bankgcn.experiments.selection import RULES, SelectionRule
from bankgcn.experiments.store import Store
from bankgcn.experiments.sweep import SweepResult
from bankgcn.extras import require
from bankgcn.files.atomic import atomic_write
from bankgcn.report.datasets import dataset_sheet
from bankgcn.report.figures import omegas
from bankgcn.report.sheet import WRITERS, write_sheet
from bankgcn.report.tables import LAYOUTS, render_table


def run_experiments(
    what: Annotated[str, typer.Argument(help="table1, table2, table3, table4, or figure3.", metavar="WHAT")],
    datasets: Datasets = None,
    models: Models = None,
    runs: Runs = None,
    search_runs: SearchRuns = None,
    epochs: Epochs = None,
    weight_decays: WeightDecays = None,
    gammas: Gammas = None,
    normalize: Normalize = None,
    setting: SettingName = None,
    select: Select = "validation",
    notes: Notes = False,
    layout: Layout = "full",
    engine: Annotated[
        str, typer.Option(help="Where to run: 'local' processes, a 'ray' cluster, or 'serial' in this process.")
    ] = "local",
    workers: Annotated[int | None, typer.Option(help="Number of parallel runs; all cores by default.", min=1)] = None,
    address: Annotated[str | None, typer.Option(help="Address of the Ray cluster, for --engine ray.")] = None,
    store: StoreFolder = DEFAULT_STORE,
    known_folder: Annotated[
        Path | None,
        typer.Option(
            "--known",
            help="Packed folder or another store: runs with a record there are not repeated. It is only read.",
            metavar="DIR",
        ),
    ] = None,
    data_root: DataRoot = None,
) -> None:
    """Run the experiments of a table or figure of the paper, and print the results.

    Runs with a record in the store are not repeated: after an interruption, the same command resumes.
    With --search-runs, the other runs of the winners follow when all hyper-parameters are chosen.
    """
    from bankgcn.data.sources import find_dataset
    from bankgcn.nn.network import check_available

    rule = _rule(select)
    pick(LAYOUTS, layout, "layout")
    selection, left_out = TableSelection(
        datasets=datasets,
        models=models,
        runs=runs,
        search_runs=search_runs,
        epochs=epochs,
        weight_decays=weight_decays,
        gammas=gammas,
        normalize=normalize,
        setting=setting,
    ).available(what, lambda name: is_here(name, data_root))
    experiment = selection.build(what)
    check_rule(experiment, rule)
    configs = expected_configs(experiment)
    if engine == "ray":
        require("ray", "--engine ray")
    for conv in dict.fromkeys(config.model.conv for config in configs):
        check_available(conv)
    for dataset in dict.fromkeys(config.dataset for config in configs):
        find_dataset(dataset, data_root)  # raises, with the command that downloads it
    if left_out:
        say(f"left out, because they are not here: {', '.join(left_out)}; see 'bankgcn data list'", stderr=True)
    check_store(store)
    known = read_records(known_folder) if known_folder is not None else {}
    runner = make_engine(engine, workers=workers, data_root=data_root, address=address)
    console = Console(stderr=True, highlight=False)
    try:
        with SweepGrid(experiment, configs, console) as grid:
            grid.say(f"{what}: {len(configs):,} runs; their records are in {store}")
            outcome = run_experiment(experiment, Store(store), runner, grid.on_event, known)
            grid.say(grid.summary())
    except KeyboardInterrupt:
        say(f"interrupted: finished runs are in {store}; the same command resumes", stderr=True)
        raise typer.Exit(INTERRUPTED) from None
    _print_outcome(experiment, outcome, rule, notes, layout)


def print_table(
    what: Annotated[str, typer.Argument(help="table0, table1, ..., table4, or figure3.", metavar="TABLE")],
    datasets: Datasets = None,
    models: Models = None,
    runs: Runs = None,
    search_runs: SearchRuns = None,
    epochs: Epochs = None,
    weight_decays: WeightDecays = None,
    gammas: Gammas = None,
    normalize: Normalize = None,
    setting: SettingName = None,
    select: Select = "validation",
    notes: Notes = False,
    layout: Layout = "full",
    store: StoreFolder = DEFAULT_STORE,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(WRITERS)}.")] = "text",
    out: Annotated[Path, typer.Option(help=f"Output file; {OR_STANDARD_OUTPUT}")] = Path("-"),
    data_root: DataRoot = None,
) -> None:
    """Print a table of the paper from the records in the store; nothing is run.

    Without --models and --datasets, the table has the rows and columns with at least one record. table0 describes the
    datasets; it reads them instead of records.
    """
    rule = _rule(select)
    pick(WRITERS, form, "format")
    pick(LAYOUTS, layout, "layout")
    selection = TableSelection(
        datasets=datasets,
        models=models,
        runs=runs,
        search_runs=search_runs,
        epochs=epochs,
        weight_decays=weight_decays,
        gammas=gammas,
        normalize=normalize,
        setting=setting,
    )
    if what == "table0":
        text = write_sheet(dataset_sheet(describe(_datasets(selection, data_root), data_root)), form, notes)
    else:
        experiment, records = stored_part(what, selection, store)
        text = _render(experiment, records, rule, form, notes, layout)
    if is_standard_output(out):
        typer.echo(text, nl=False)
    else:
        _write(out, text.encode())


def _print_outcome(
    experiment: Table | Figure, outcome: SweepResult, rule: SelectionRule, notes: bool, layout: str
) -> None:
    records = {record.config.key: record for record in outcome.records}
    typer.echo(_render(experiment, records, rule, "text", notes, layout), nl=False)
    if outcome.failed:
        say(f"error: {len(outcome.failed):,} runs failed; the same command tries them again", stderr=True)
        raise typer.Exit(FAILED)


def _render(
    experiment: Table | Figure, records: dict[str, RunRecord], rule: SelectionRule, form: str, notes: bool, layout: str
) -> str:
    if isinstance(experiment, Figure):
        return write_sheet(omegas(experiment, records), form, notes)
    return render_table(experiment, records, rule, form, notes, layout)


def _datasets(selection: TableSelection, data_root: Path | None) -> list[str]:
    """The datasets of table0."""
    if selection != TableSelection(datasets=selection.datasets):
        raise ValueError("table0 describes datasets: of these options, it has --datasets alone")
    if selection.datasets is not None:
        return names_in(selection.datasets, "datasets") or []
    return stand_ins(PAPER_DATASETS, lambda name: is_here(name, data_root))


def _rule(select: str) -> SelectionRule:
    rule = cast(SelectionRule, select)
    pick(RULES, rule, "selection")
    return rule


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path) as file:
        file.write(content)
    typer.echo(f"written to {path}")
