"""Reading graphs, with a progress bar where it takes long."""

from __future__ import annotations

from bankgcn.cli.counting import counting
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.sources import Source


def load_graphs(source: Source, options: ReadOptions, expected: Expected) -> GraphSet:
    """:meth:`Source.load`; on a terminal, a bar shows the progress of readers that report it."""
    with counting(f"reading {source.name}") as show:
        return source.load(options, expected, progress=show)
