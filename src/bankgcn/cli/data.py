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
from bankgcn.cli.output import terminal_text
from bankgcn.cli.progress import Progress, load_graphs, megabytes
from bankgcn.cli.settings import FROM_STANDARD_INPUT, READING, Folders, IgnoreTargets, source_argument, with_settings
from bankgcn.data.catalog import CATALOG, USUAL_FOLDERS, DataFolders, Dataset, Statistics
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.training.spec import RUN_SETTINGS

if TYPE_CHECKING:  # PyTorch is loaded when a command is run
    from bankgcn.data.graphs import GraphSet
    from bankgcn.data.sources import Source

app = typer.Typer(help="Datasets: list, describe, fetch.", no_args_is_help=True, add_completion=False)

SPLITS = {"stratified": "stratified 8:1:1, drawn by seed", "official": "official"}
TITLES = {"nodes": "mean nodes", "edges": "mean edges"}


@app.command("list")
def list_datasets(folders: Folders = USUAL_FOLDERS) -> None:
    """List the datasets of the catalogue, and whether they are on this machine."""
    table = RichTable("dataset", "here", "content", box=None, pad_edge=False)
    for entry in CATALOG.values():
        table.add_row(terminal_text(entry.name), _presence(entry, folders), terminal_text(entry.summary))
    console = Console(highlight=False)
    console.print(table)
    console.print(terminal_text(f"searched: {', '.join(map(str, folders.searched))}"), soft_wrap=True)


@app.command()
@with_settings({name: RUN_SETTINGS[name] for name in ("task", *READING, "standardize") if name != "ignore_weights"})
def describe(
    source: Annotated[
        str,
        typer.Argument(
            help=f"Name of a dataset, or path of a file or folder. {FROM_STANDARD_INPUT}",
            metavar="NAME",
            callback=source_argument,
        ),
    ],
    folders: Folders = USUAL_FOLDERS,
    ignore_targets: IgnoreTargets = False,
    task: str | None = None,
    **flags: Any,
) -> None:
    """Read a dataset and print its statistics, beside those of the paper."""
    from bankgcn.data.sources import find_source

    graph_source = find_source(source, folders)
    typed = {name: value for name, value in flags.items() if value is not None}
    expected = Expected(task=task, has_target=not ignore_targets, edges="any")
    graphs = load_graphs(graph_source, ReadOptions(**typed), expected)
    console = Console(highlight=False)
    entry = graph_source.entry
    title = f"{entry.name}: {entry.summary}" if entry else graphs.name or graph_source.name
    console.print(terminal_text(title, style="bold"), soft_wrap=True)
    for note in graphs.notes:
        console.print(terminal_text(f"note: {with_flags(note)}", style="yellow"), soft_wrap=True)
    console.print(_statistics(Statistics.of(graphs), entry.published if entry else None))
    for name, value in _facts(graph_source, graphs).items():
        console.print(terminal_text(f"{name:<12} {value}", lines=name == "cite"), soft_wrap=True)


@app.command("fetch")
def fetch_by_name(
    name: Annotated[str, typer.Argument(help="Name of the dataset.")], folders: Folders = USUAL_FOLDERS
) -> None:
    """Download a dataset from its official address and verify it; into --data-root or the user's cache folder."""
    from bankgcn.data.sources import fetch_dataset

    with Progress(name, count=megabytes) as progress:
        path = fetch_dataset(name, folders, progress.update)
    Console().print(terminal_text(f"{name} is at {path}"), soft_wrap=True)


def _presence(entry: Dataset, folders: DataFolders) -> str:
    if not entry.places:
        return "built in"
    if folders.locate(entry) is not None:
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


def _facts(source: Source, graphs: GraphSet) -> dict[str, str]:
    """Further facts, by their names."""
    from bankgcn.data.edge_data import describe_edges, without_edge_features

    facts = {"class names": ", ".join(graphs.classes)} if graphs.classes else {}
    if source.entry is not None:
        facts |= {"features": str(source.entry.features), "split": SPLITS[source.entry.split]}
    else:
        labels = sum(graphs.label_widths)
        facts |= {"features": f"{graphs.num_attributes} numbers and {labels} one-hot columns per node"}
    if carried := describe_edges(graphs):
        facts["edges"] = carried
    facts["found"] = str(source.path) if source.path else "comes with the package"
    if source.path:
        facts["read as"] = source.kind
    if source.entry is not None and source.entry.sha256 and source.path and source.path.is_file():
        facts["checksum"] = _checksum(source.path, source.entry.sha256)
    from bankgcn.data.duplicates import Duplicates

    plain = without_edge_features(graphs)
    nothing = "none: all graphs differ"
    facts["duplicates"] = Duplicates.of(plain).summary() or nothing
    counted = Duplicates.of(graphs, edges=True).summary() or nothing
    if counted != facts["duplicates"]:
        facts["duplicates with edge features"] = counted
    facts["fingerprint"] = plain.fingerprint
    if plain is not graphs:
        facts["fingerprint with edge features"] = graphs.fingerprint
    if source.entry is not None and source.entry.citation:
        facts["cite"] = source.entry.citation.replace("\n", "\n" + " " * 13)
    return facts


def _checksum(path: Path, expected: str) -> str:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return "matches the official file" if digest == expected else "DIFFERS from the official file"
