"""``bankgcn data``: list, describe and download datasets."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as RichTable

from bankgcn.cli.errors import with_flags
from bankgcn.cli.options import DataRoot, IgnoreTargets, with_settings
from bankgcn.cli.output import terminal_text
from bankgcn.cli.progress import Progress, megabytes
from bankgcn.cli.reading import FROM_STANDARD_INPUT, source_argument
from bankgcn.cli.settings import READING
from bankgcn.data.cache import data_roots
from bankgcn.data.catalog import CATALOG, Dataset, Statistics
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.training.spec import RUN_SETTINGS

if TYPE_CHECKING:  # PyTorch is loaded when a command is run
    from bankgcn.data.graphs import GraphSet
    from bankgcn.data.sources import Source

app = typer.Typer(help="Datasets: list, describe, fetch.", no_args_is_help=True, add_completion=False)

SPLITS = {"stratified": "stratified 8:1:1, drawn by seed", "official": "official"}
TITLES = {"nodes": "mean nodes", "edges": "mean edges"}


@app.command("list")
def list_datasets(data_root: DataRoot = None) -> None:
    """List the datasets of the catalogue, and whether they are on this machine."""
    table = RichTable("dataset", "here", "content", box=None, pad_edge=False)
    for entry in CATALOG.values():
        table.add_row(terminal_text(entry.name), _presence(entry, data_root), terminal_text(entry.summary))
    console = Console(highlight=False)
    console.print(table)
    console.print(terminal_text(f"searched: {', '.join(map(str, data_roots(data_root)))}"), soft_wrap=True)


@app.command()
@with_settings({"task": RUN_SETTINGS["task"], **{name: READING[name] for name in READING if name != "ignore_weights"}})
def describe(
    source: Annotated[
        str,
        typer.Argument(
            help=f"Name of a dataset, or path of a file or folder. {FROM_STANDARD_INPUT}",
            metavar="NAME",
            callback=source_argument,
        ),
    ],
    data_root: DataRoot = None,
    ignore_targets: IgnoreTargets = False,
    task: str | None = None,
    **flags: Any,
) -> None:
    """Read a dataset and print its statistics, beside those of the paper."""
    from bankgcn.cli.reading import load_graphs
    from bankgcn.data.sources import find_source

    found = find_source(source, data_root)
    typed = {name: value for name, value in flags.items() if value is not None}
    expected = Expected(task=task, has_target=not ignore_targets)
    graphs = load_graphs(found, ReadOptions(**typed), expected)
    console = Console(highlight=False)
    entry = found.entry
    title = f"{entry.name}: {entry.summary}" if entry else graphs.name or found.name
    console.print(terminal_text(title, style="bold"), soft_wrap=True)
    for note in graphs.notes:
        console.print(terminal_text(f"note: {with_flags(note)}", style="yellow"), soft_wrap=True)
    console.print(_statistics(Statistics.of(graphs), entry.published if entry else None))
    for name, value in _facts(found, graphs).items():
        console.print(terminal_text(f"{name:<12} {value}", lines=name == "cite"), soft_wrap=True)


@app.command("fetch")
def fetch_by_name(
    name: Annotated[str, typer.Argument(help="Name of the dataset.")],
    data_root: DataRoot = None,
) -> None:
    """Download a dataset from its official address and verify it; into --data-root or the user's cache folder."""
    from bankgcn.data.sources import fetch_dataset

    with Progress(name, count=megabytes) as progress:
        path = fetch_dataset(name, data_root, progress.update)
    Console().print(terminal_text(f"{name} is at {path}"), soft_wrap=True)


def _presence(entry: Dataset, data_root: Path | None) -> str:
    from bankgcn.data.sources import locate

    if not entry.places:
        return "built in"
    if locate(entry, data_root) is not None:
        return "yes"
    return "to fetch" if entry.url else "no"


def _statistics(ours: Statistics, published: Statistics | None) -> RichTable:
    table = RichTable(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("here", justify="right")
    if published is None:
        for field in fields(ours):
            table.add_row(TITLES.get(field.name, field.name), _figure(getattr(ours, field.name)))
        return table
    table.add_column("paper", justify="right")
    table.add_column("")
    differing = ours.differing(published)
    for field in fields(ours):
        figures = (_figure(getattr(statistics, field.name)) for statistics in (ours, published))
        flag = terminal_text("differs", style="bold red") if field.name in differing else ""
        table.add_row(TITLES.get(field.name, field.name), *figures, flag)
    return table


def _figure(value: float) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def _facts(found: Source, graphs: GraphSet) -> dict[str, str]:
    """Further facts, by their names."""
    facts = {"class names": ", ".join(graphs.classes)} if graphs.classes else {}
    if found.entry is not None:
        facts |= {"features": str(found.entry.features), "split": SPLITS[found.entry.split]}
    else:
        labels = sum(graphs.label_widths)
        facts |= {"features": f"{graphs.num_attributes} numbers and {labels} one-hot columns per node"}
    if found.entry is not None and (carried := _edge_data(found, graphs)):
        facts["edges"] = carried[0]
    facts["found"] = str(found.path) if found.path else "comes with the package"
    if found.path:
        facts["read as"] = found.kind
    if found.entry is not None and found.entry.sha256 and found.path and found.path.is_file():
        facts["checksum"] = _checksum(found.path, found.entry.sha256)
    from bankgcn.data.duplicates import Duplicates

    facts["duplicates"] = Duplicates.of(graphs).summary() or "none: all graphs differ"
    facts["fingerprint"] = graphs.fingerprint
    if found.entry is not None and found.entry.citation:
        facts["cite"] = found.entry.citation.replace("\n", "\n" + " " * 13)
    return facts


def _edge_data(found: Source, graphs: GraphSet) -> tuple[str, ...]:
    """What the edges of a dataset of the catalogue carry; those of other sets have a note."""
    from bankgcn.data.edges import BONDS, edge_note

    if found.holds_molecules:
        return edge_note(BONDS, "bonds")
    return edge_note(() if graphs.edge_labels is None else ["labels"])


def _checksum(path: Path, expected: str) -> str:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    return "matches the official file" if found == expected else "DIFFERS from the official file"
