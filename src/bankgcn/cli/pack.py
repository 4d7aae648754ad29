"""``bankgcn paper pack``: the records of a table or figure in a few small files, for a repository."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bankgcn.cli.output import say
from bankgcn.cli.paper_options import DEFAULT_STORE, StoreFolder, TableSelection, takes_selection
from bankgcn.cli.stored import stored_part
from bankgcn.experiments.store import pack


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
