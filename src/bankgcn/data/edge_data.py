"""What the edges of graphs carry besides weights: it is named, because no network uses it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bankgcn.data.graphs import GraphSet

SHOWN = 8  # names in a note
BONDS = ("their order", "their stereochemistry")
"""What the bonds of molecules carry."""

_NOT_USED = ", which no network uses: graphs that differ in nothing else get the same prediction"


class UnusedEdgeData(UserWarning):
    """The edges of the graphs carry data that no network uses."""


def edge_note(carried: Iterable[str], edges: str = "edges") -> tuple[str, ...]:
    """A note that names what edges carry; none if they carry nothing.

    Args:
        carried: The names.
        edges: What the note calls the edges.

    Example:
        >>> edge_note(["'length'"])[0][:36]
        "the edges carry 'length', which no n"
    """
    names = list(dict.fromkeys(carried))
    if not names:
        return ()
    more = [f"{len(names) - SHOWN:,} more"] if len(names) > SHOWN else []
    *others, last = names[:SHOWN] + more
    listed = f"{', '.join(others)} and {last}" if others else last
    return (f"the {edges} carry {listed}{_NOT_USED}",)


def is_edge_note(note: str) -> bool:
    """Whether a note of a set is one of :func:`edge_note`."""
    return note.endswith(_NOT_USED)


def warn_of_edge_data(graphs: GraphSet, stacklevel: int) -> None:
    """Warn a Python program if the edges of its graphs carry data that no network uses."""
    for note in filter(is_edge_note, graphs.notes):
        warnings.warn(note, UnusedEdgeData, stacklevel=stacklevel + 1)
