"""Reading graphs, with a progress bar where it takes long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import Source


def load_graphs(source: Source, options: Mapping[str, Any]) -> GraphSet:
    """Read the graphs of a source; on a terminal, a bar shows the progress of readers that report it.

    Args:
        source: Where the graphs are.
        options: Passed to :meth:`Source.load`.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"reading {source.name}", total=None, visible=False)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        return source.load(progress=show, **options)
