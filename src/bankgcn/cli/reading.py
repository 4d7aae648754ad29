"""Reading graphs with a bar where it takes long."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import Source
from bankgcn.data.weights import without_weights


def load_graphs(source: Source, ignore_weights: bool = False, **options: Any) -> GraphSet:
    """The graphs of a source; on a terminal, a bar tells how far a reader is that can tell.

    Args:
        source: Where the graphs are.
        ignore_weights: Whether every edge counts as 1.
        **options: Passed to :meth:`Source.load`.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"reading {source.name}", total=None, visible=False)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        graphs = source.load(progress=show, **options)
    return without_weights(graphs) if ignore_weights else graphs
