"""Reading graphs, with a progress bar where it takes long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bankgcn.cli.counting import counting
from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import Source


def load_graphs(source: Source, options: Mapping[str, Any]) -> GraphSet:
    """Read the graphs of a source; on a terminal, a bar shows the progress of readers that report it.

    Args:
        source: Where the graphs are.
        options: Passed to :meth:`Source.load`.
    """
    with counting(f"reading {source.name}") as show:
        return source.load(progress=show, **options)
