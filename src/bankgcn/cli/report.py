"""``bankgcn report``: one self-contained HTML page of a run, or of a store of runs."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from bankgcn.cli.output import check_ending, check_not_input, say
from bankgcn.cli.settings import (
    APPLYING,
    FROM_STANDARD_INPUT,
    OF_RUNS,
    Folders,
    LabelOption,
    Part,
    Threads,
    source_argument,
    with_settings,
)
from bankgcn.data.catalog import USUAL_FOLDERS, DataFolders
from bankgcn.files.checked import atomic_write
from bankgcn.report.page.page import Page, check_available, write_html

PAGE = "report.html"
SHOWN = 60  # graphs on a page


@with_settings(APPLYING)
def report(
    run: Annotated[Path | None, typer.Argument(metavar="RUN", help=OF_RUNS, show_default=False)] = None,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE",
            help=f"Graphs to show; by default the test graphs of the run. {FROM_STANDARD_INPUT}",
            show_default=False,
            callback=source_argument,
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="Instead of RUN: a store or packed folder of records; models by datasets, from records alone."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help=f"HTML file to write; by default {PAGE} in the folder of the run or store.", show_default=False
        ),
    ] = None,
    part: Part = None,
    graphs: Annotated[
        int, typer.Option(min=0, help="Number of single graphs on the page, the worst mistakes first.")
    ] = SHOWN,
    label: LabelOption = None,
    folders: Folders = USUAL_FOLDERS,
    threads: Threads = 1,
    **flags: Any,
) -> None:
    """Write a page that shows how good a model is, its filters and single graphs: one HTML file that works offline.

    Examples: bankgcn report runs/mine; bankgcn report --store results --out results.html
    """
    if out is not None:
        check_ending(out, ".html", ".htm")
    if (run is None) == (store is None):
        raise ValueError("name one folder: bankgcn report RUN, or bankgcn report --store DIR")
    check_available()
    import torch

    from bankgcn.training.ensemble import Ensemble

    torch.set_num_threads(threads)
    if out is not None and out.exists():
        sources = Ensemble.load(run).sources if run is not None else ()
        check_not_input(out, run=run, sources=(source, *sources), store=store, folders=folders)
    started = time.perf_counter()
    if store is not None:
        out, page = out or store / PAGE, _page_of_store(store)
    else:
        assert run is not None
        out, page = out or run / PAGE, _page_of_run(run, source, part, folders, graphs, label, flags)
    content = write_html(page)
    with atomic_write(out) as file:
        file.write(content)
    seconds = time.perf_counter() - started
    say(f"the page is in {out} ({len(content) / 1e6:.1f} MB, {seconds:.0f} s); open it in a browser")


def _page_of_run(
    run: Path,
    source: str | None,
    part: str | None,
    folders: DataFolders,
    shown: int,
    label: str | None,
    flags: dict[str, Any],
) -> Page:
    """The page of a run, or of several in a folder; the arguments are those of the command."""
    from bankgcn.cli.model_input import output_number
    from bankgcn.cli.open_input import examine_run
    from bankgcn.cli.progress import Progress
    from bankgcn.report.page.run_page import run_page

    evidence = examine_run(run, source, part, folders, flags)
    number = output_number(evidence.ensemble.task, label)
    with Progress("explaining graphs") as progress:
        return run_page(evidence, shown, f"bankgcn report {shlex.quote(str(run))}", progress.update, number)


def _page_of_store(store: Path) -> Page:
    """The page of a store or a packed folder."""
    from bankgcn.cli.designs import read_records
    from bankgcn.report.page.store_page import store_page

    records = read_records(store)
    return store_page(records.values(), f"bankgcn report --store {shlex.quote(str(store))}")
