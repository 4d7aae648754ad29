"""``bankgcn paper``: run the paper's experiments, print their tables, draw its figures, and pack their records."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer

from bankgcn.cli.designs import (
    DEFAULT_STORE,
    Format,
    Layout,
    Notes,
    Out,
    Select,
    StoreFolder,
    TableSelection,
    check_store,
    read_records,
    stored_comparison,
    stored_part,
    takes_selection,
)
from bankgcn.cli.output import check_not_input, print_text, say, say_block
from bankgcn.cli.settings import READING, Address, Folders, names_in
from bankgcn.cli.sweep import EngineName, Workers, check_failed, run_missing
from bankgcn.data.catalog import USUAL_FOLDERS, DataFolders, find_in_catalog
from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import COMPARISON, Design, Figure
from bankgcn.experiments.engines import make_engine
from bankgcn.experiments.paper import PAPER_DATASETS, describe, stand_ins
from bankgcn.experiments.search import RULES, SelectionRule, check_rule, expected_configs
from bankgcn.experiments.store import pack
from bankgcn.extras import require
from bankgcn.files.checked import atomic_write
from bankgcn.report.comparison import render_comparison
from bankgcn.report.curves import CURVES, draw_curve
from bankgcn.report.plots import IMAGES, draw_dots, draw_filters, draw_ranks, omegas
from bankgcn.report.results import Results, collect
from bankgcn.report.sheet import WRITERS, write_sheet
from bankgcn.report.tables import LAYOUTS, dataset_sheet, render_table
from bankgcn.settings import pick

FIGURES = "figures"
"""The folder of the pictures of a run, in its folder."""
PICTURES: dict[str, tuple[str, Callable[[Results, str], bytes]]] = {
    "table1": ("table1", draw_dots),
    "table4": ("table4", draw_dots),
    "ranks": ("table1", draw_ranks),
    **{name: (curve.table, partial(draw_curve, curve)) for name, curve in CURVES.items()},
}
"""The pictures of tables by name: the table, and what draws it."""


@takes_selection()
def run_experiments(
    what: Annotated[str, typer.Argument(help="table1, table2, table3, table4, or figure3.", metavar="WHAT")],
    *,
    selection: TableSelection,
    select: Select = "validation",
    notes: Notes = False,
    layout: Layout = "full",
    engine: EngineName = "local",
    workers: Workers = None,
    address: Address = None,
    store: StoreFolder = DEFAULT_STORE,
    known_folder: Annotated[
        Path | None,
        typer.Option(
            "--known",
            help="Packed folder or another store: runs with a record there are not repeated. It is only read.",
            metavar="DIR",
        ),
    ] = None,
    folders: Folders = USUAL_FOLDERS,
) -> None:
    """Run the experiments of a table or figure of the paper, and print the results.

    Runs with a record in the store are not repeated: after an interruption, the same command resumes.
    With --search-runs, the other runs of the winners follow when all hyper-parameters are chosen.
    """
    from bankgcn.data.sources import find_dataset
    from bankgcn.nn.network import check_available

    rule = _rule(select)
    pick(LAYOUTS, layout, "layout")
    selection, left_out = selection.available(what, lambda name: folders.has(find_in_catalog(name)))
    experiment = selection.build(what)
    check_rule(experiment, rule)
    configs = expected_configs(experiment)
    if engine == "ray":
        require("ray", "--engine ray")
    for conv in dict.fromkeys(config.model.conv for config in configs):
        check_available(conv)
    for dataset in dict.fromkeys(config.dataset for config in configs):
        find_dataset(dataset, folders)  # raises, with the command that downloads it
    if left_out:
        say(f"left out, because they are not here: {', '.join(left_out)}; see 'bankgcn data list'", stderr=True)
    check_store(store)
    known_records = read_records(known_folder) if known_folder is not None else {}
    runner = make_engine(engine, workers=workers, data_root=folders.given, address=address, checkpoints=store)
    outcome = run_missing(experiment, store, runner, known_records)
    records = {record.config.key: record for record in outcome.records}
    say_block(_render(experiment, records, rule, "text", notes, layout))
    check_failed(outcome)


@takes_selection()
def print_table(
    what: Annotated[str, typer.Argument(help="table0, table1, ..., table4, figure3, or comparison.", metavar="TABLE")],
    *,
    selection: TableSelection,
    select: Select = "validation",
    notes: Notes = False,
    layout: Layout = "full",
    store: StoreFolder = DEFAULT_STORE,
    form: Format = "text",
    out: Out = Path("-"),
    folders: Folders = USUAL_FOLDERS,
) -> None:
    """Print a table of the paper, or a comparison, from the records in the store; nothing is run.

    Without --models and --datasets, the table has the rows and columns with at least one record. table0 describes the
    datasets; it reads them instead of records. comparison is the table of 'bankgcn compare'.
    """
    rule = _rule(select)
    pick(WRITERS, form, "format")
    pick(LAYOUTS, layout, "layout")
    check_not_input(out, store=store)
    if what == "table0":
        text = write_sheet(dataset_sheet(describe(_datasets(selection, folders), folders)), form, notes)
    elif what == COMPARISON:
        if selection != TableSelection() or rule != "validation" or layout != "full":
            raise ValueError("comparison has its options in the store: here it takes --store, --format, --notes, --out")
        text = render_comparison(*stored_comparison(store), form, notes)
    else:
        experiment, records = stored_part(what, selection, store)
        text = _render(experiment, records, rule, form, notes, layout)
    print_text(text, out)


def _render(
    experiment: Design | Figure, records: dict[str, RunRecord], rule: SelectionRule, form: str, notes: bool, layout: str
) -> str:
    if isinstance(experiment, Figure):
        return write_sheet(omegas(experiment, records), form, notes)
    return render_table(experiment, records, rule, form, notes, layout)


def _datasets(selection: TableSelection, folders: DataFolders) -> list[str]:
    """The datasets of table0."""
    if selection != TableSelection(datasets=selection.datasets):
        raise ValueError("table0 describes datasets: of these options, it has --datasets alone")
    if selection.datasets is not None:
        return names_in(selection.datasets, "datasets") or []
    return stand_ins(PAPER_DATASETS, lambda name: folders.has(find_in_catalog(name)))


def _rule(select: str) -> SelectionRule:
    rule = cast(SelectionRule, select)
    pick(RULES, rule, "selection")
    return rule


@takes_selection()
def draw_figure(
    what: Annotated[
        str,
        typer.Argument(
            help="Folder of a run; or figure3; or of a table: table1 or table4 (all models), ranks (over datasets of "
            "table1), K or s (table2), gamma (table3).",
            metavar="RUN|FIGURE",
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            help=f"Image file, in the format of its suffix: {', '.join(IMAGES)}. Of a run, also a folder for all its "
            "pictures in all formats; by default 'figures' in the folder of the run.",
            show_default=False,
        ),
    ] = None,
    picture: Annotated[
        str, typer.Option(help="Of a run, the picture for an image file, such as loss, roc or energy.")
    ] = "filters",
    selection: TableSelection,
    store: StoreFolder = DEFAULT_STORE,
    folders: Folders = USUAL_FOLDERS,
) -> None:
    """Draw the pictures of a run, a picture of one of the paper's tables, or its Figure 3; nothing is trained."""
    if Path(what).is_dir():
        require("matplotlib", "bankgcn paper figure")
        _draw_run(Path(what), out, picture, folders)
        return
    pick({"figure3": None, **PICTURES}, what, "figure")
    if out is None:
        raise ValueError(f"name the image file: bankgcn paper figure {what} --out {what}.svg")
    form = out.suffix.lower().removeprefix(".")
    if form not in IMAGES:
        raise ValueError(f"{out}: expected the name of an image that ends in .{', .'.join(IMAGES)}")
    check_not_input(out, store=store)
    require("matplotlib", "bankgcn paper figure")
    table, paint = PICTURES.get(what, ("figure3", None))
    experiment, records = stored_part(table, selection, store)
    if isinstance(experiment, Figure):
        image = draw_filters(experiment, records, form)
    else:
        assert paint is not None
        image = paint(collect(experiment, records), form)
    with atomic_write(out) as file:
        file.write(image)
    say(f"written to {out}")


def _draw_run(run: Path, out: Path | None, picture: str, folders: DataFolders) -> None:
    """Write one picture of a run to an image file, or all of them to a folder in all formats.

    Args:
        run: Folder of the run.
        out: Image file, or folder; by default ``figures`` in the folder of the run.
        picture: The picture for an image file.
        folders: Where to look for datasets.
    """
    from bankgcn.cli.open_input import examine_run  # loads PyTorch
    from bankgcn.report.page.page import paint_figure
    from bankgcn.report.page.run_page import run_figures
    from bankgcn.training.ensemble import Ensemble

    out = out or run / FIGURES
    form = out.suffix.lower().removeprefix(".")
    if form and form not in IMAGES:
        raise ValueError(f"{out}: expected a folder, or the name of an image that ends in .{', .'.join(IMAGES)}")
    if form and out.exists():
        check_not_input(out, run=run, sources=Ensemble.load(run).sources, folders=folders)
    evidence = examine_run(run, None, None, folders, dict.fromkeys(READING))
    figures = {figure.name: figure for part in run_figures(evidence).values() for figure in part}
    chosen = [pick(figures, picture, f"picture of {run}")] if form else list(figures.values())
    files = {
        out if form else out / f"{figure.name}.{kind}": paint_figure(figure, kind)
        for figure in chosen
        for kind in ([form] if form else IMAGES)
    }
    for path, content in files.items():
        with atomic_write(path) as file:
            file.write(content)
    say(f"written to {out}" + ("" if form else f": {', '.join(figures)}, each as {', '.join(IMAGES)}"))


@takes_selection("search_runs")
def pack_records(
    what: Annotated[str, typer.Argument(help="table1, table2, table3, table4, or figure3.", metavar="WHAT")],
    *,
    selection: TableSelection,
    store: StoreFolder = DEFAULT_STORE,
    out: Annotated[Path, typer.Option(help="Packed folder to write or update.", metavar="DIR")] = Path("results"),
) -> None:
    """Write the records of a table or figure to one file for each dataset, such as results/table1/NCI1.jsonl.

    'bankgcn paper table', 'figure' and 'verify' read the packed folder as they read a store.
    Records that the files hold already stay, unless the store has a record of the same run.
    """
    experiment, records = stored_part(what, selection, store)
    chosen = [records[config.key] for config in experiment.configs() if config.key in records]
    for file in pack(chosen, out / experiment.name):
        changes = f"{file.added:,} new, {file.replaced:,} replaced"
        say(f"{file.path}: {file.records:,} records ({changes}), {file.path.stat().st_size / 1000:,.0f} kB")
