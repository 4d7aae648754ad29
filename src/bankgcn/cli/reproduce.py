"""``bankgcn paper reproduce`` and ``table``: run the paper's experiments, and print their results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from bankgcn.cli.comparison_settings import stored_comparison
from bankgcn.cli.options import DataRoot
from bankgcn.cli.output import check_not_input, print_text, say, say_block
from bankgcn.cli.paper_options import (
    DEFAULT_STORE,
    Format,
    Layout,
    Notes,
    Out,
    Select,
    StoreFolder,
    TableSelection,
    names_in,
    takes_selection,
)
from bankgcn.cli.stored import check_store, read_records, stored_part
from bankgcn.cli.sweep import Address, EngineName, Workers, check_failed, run_missing
from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import COMPARISON, Design, Figure
from bankgcn.experiments.engines import make_engine
from bankgcn.experiments.paper.tables import PAPER_DATASETS, describe, is_here, stand_ins
from bankgcn.experiments.search import RULES, SelectionRule, check_rule, expected_configs
from bankgcn.extras import require
from bankgcn.report.comparison import render_comparison
from bankgcn.report.plots import omegas
from bankgcn.report.sheet import WRITERS, write_sheet
from bankgcn.report.tables import LAYOUTS, dataset_sheet, render_table
from bankgcn.settings import pick


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
    selection, left_out = selection.available(what, lambda name: is_here(name, data_root))
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
    runner = make_engine(engine, workers=workers, data_root=data_root, address=address, checkpoints=store)
    outcome = run_missing(experiment, store, runner, known)
    records = {record.config.key: record for record in outcome.records}
    say_block(_render(experiment, records, rule, "text", notes, layout))
    check_failed(outcome)


@takes_selection()
def print_table(
    what: Annotated[
        str,
        typer.Argument(help="table0, table1, ..., table4, figure3, or comparison.", metavar="TABLE"),
    ],
    *,
    selection: TableSelection,
    select: Select = "validation",
    notes: Notes = False,
    layout: Layout = "full",
    store: StoreFolder = DEFAULT_STORE,
    form: Format = "text",
    out: Out = Path("-"),
    data_root: DataRoot = None,
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
        text = write_sheet(dataset_sheet(describe(_datasets(selection, data_root), data_root)), form, notes)
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
