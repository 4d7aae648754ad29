"""Reading graphs, with a progress bar where it takes long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bankgcn.cli.progress import Progress
from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import Source


def load_graphs(source: Source, options: Mapping[str, Any]) -> GraphSet:
    """Read the graphs of a source, with the progress of readers that report it.

    Args:
        source: Where the graphs are.
        options: Passed to :meth:`Source.load`.
    """
    with Progress(f"reading {source.name}") as progress:
        return source.load(progress=progress.update, **options)
