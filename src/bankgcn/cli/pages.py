"""The pages of ``bankgcn report``: what they show is read here, and drawn by :mod:`bankgcn.report.page`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from bankgcn.cli.examined import examine_run, output_number
from bankgcn.cli.progress import Progress
from bankgcn.cli.stored import read_records
from bankgcn.report.page.page import Page
from bankgcn.report.page.run_page import run_page
from bankgcn.report.page.store_page import store_page


def page_of_run(
    run: Path,
    source: str | None,
    part: str | None,
    data_root: Path | None,
    shown: int,
    label: str | None,
    flags: dict[str, Any],
) -> Page:
    """The page of a run, or of several in a folder; the arguments are those of the command."""
    evidence = examine_run(run, source, part, data_root, flags)
    number = output_number(evidence.ensemble.task, label)
    with Progress("explaining graphs") as progress:
        return run_page(evidence, shown, f"bankgcn report {shlex.quote(str(run))}", progress.update, number)


def page_of_store(store: Path) -> Page:
    """The page of a store or a packed folder."""
    records = read_records(store)
    return store_page(records.values(), f"bankgcn report --store {shlex.quote(str(store))}")
