"""What edges carry besides their weights: how it is named, left out, and checked to be the same in both directions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bankgcn.data import GraphError
from bankgcn.data.catalog import catalog_name
from bankgcn.data.features.spec import edge_columns
from bankgcn.messages import Message, advise

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


def unread_notes(reasons: Mapping[str, str]) -> tuple[str, ...]:
    """A note on each key of edges that is left out, and why."""
    notes = [f"the edges carry {key!r}, which is left out: {reasons[key]}" for key in sorted(reasons)[:SHOWN]]
    more = len(reasons) - SHOWN
    return (*notes, f"the edges carry {more:,} more keys that are left out") if more > 0 else tuple(notes)


def unused_edge_notes(graphs: GraphSet) -> tuple[str, ...]:
    """What to say if nothing uses what the edges of these graphs carry; nothing of a dataset of the catalogue.

    Readers that were not asked for the data of edges have put it into the notes of the set. Else it follows from the
    features that the set holds.
    """
    noted = tuple(filter(is_edge_note, graphs.notes))
    if noted or not graphs.num_edge_features or catalog_name(graphs.name) is not None:
        return noted
    spec = graphs.edge_spec
    match spec.get("kind"):
        case "bonds":
            return edge_note(BONDS, "bonds")
        case "named":
            return edge_note(repr(key) for key in sorted([*spec["numbers"], *spec["words"]]))
    parts = {"labels": graphs.edge_labels, "attributes": graphs.edge_attributes}
    return edge_note(name for name, array in parts.items() if array is not None)


def warn_of_edge_data(graphs: GraphSet, stacklevel: int) -> None:
    """Warn a Python program if the edges of its graphs carry data, which no network uses."""
    for note in unused_edge_notes(graphs):
        warnings.warn(note, UnusedEdgeData, stacklevel=stacklevel + 1)


def describe_edges(graphs: GraphSet) -> str:
    """What the edges carry, in one line; empty if they carry nothing but weights."""
    if not graphs.num_edge_features:
        return ""
    names = edge_columns(graphs)
    listed = names[:SHOWN] + ([f"{len(names) - SHOWN:,} more"] if len(names) > SHOWN else [])
    numbers = len([name for name in names if "=" not in name])
    counts = f"{numbers} numbers and {len(names) - numbers} one-hot columns per edge"
    return f"{counts}: {', '.join(listed)}"


def without_edge_features(graphs: GraphSet) -> GraphSet:
    """The same graphs as they are read for a network that does not use the features of edges.

    Labels of edges in the TU format stay: they have always been part of such a set, and of its fingerprint. So do
    labels and attributes of unknown origin, which a program gave to :meth:`GraphSet.from_edges`.
    """
    kind = graphs.edge_spec.get("kind")
    if kind is None or not graphs.num_edge_features:
        return graphs
    if kind != "tu":
        return replace(graphs, edge_labels=None, edge_label_widths=(), edge_attributes=None, edge_spec={})
    if graphs.edge_attributes is None:
        return graphs
    spec = {**graphs.edge_spec, "columns": 0} if graphs.edge_labels is not None else {}
    return replace(graphs, edge_attributes=None, edge_spec=spec)


def with_mean_edge_features(graphs: GraphSet) -> GraphSet:
    """The same graphs, with the mean of both directions as the features of every edge.

    If the labels of an edge differ, its one-hot columns become 0.5, which a label cannot express. Then all one-hot
    columns are stored as attributes, as in :func:`bankgcn.data.features.signals.signal_arrays`.
    """
    if graphs.unequal_edge is None:
        return graphs
    features = graphs.edge_signals()
    reverse = _reverses(graphs)[2]
    count = int((features != features[reverse]).any(axis=1).sum())
    note = f"symmetrised: {count:,} edges got the mean of their features and those of their reverse"
    return replace(
        graphs,
        edge_labels=None,
        edge_label_widths=(),
        edge_attributes=(features + features[reverse]) / np.float32(2),
        notes=(*graphs.notes, note),
    )


def _reverses(graphs: GraphSet) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both ends of each directed edge, numbered over the whole set, and the place of its reverse."""
    row = np.repeat(np.arange(len(graphs.degree)), graphs.degree)
    col = np.repeat(graphs.node_ptr[:-1], graphs.num_directed_edges) + graphs.neighbor
    return row, col, np.argsort(col, kind="stable")  # edges are sorted by row and column: these by column and row


class UnequalEdge(NamedTuple):
    """An edge whose two directions have different features."""

    graph: int
    nodes: tuple[int, int]  # numbered within the graph
    values: tuple[str, str]  # what differs, from the first node to the second, and back

    def __str__(self) -> str:
        (i, j), (there, back) = self.nodes, self.values
        return f"edge ({i}, {j}) of graph {self.graph} has {there}, but its reverse ({j}, {i}) has {back}"


def first_unequal_edge(graphs: GraphSet) -> UnequalEdge | None:
    """The first edge whose features differ from those of its reverse; ``None`` if there is none."""
    if not graphs.num_edge_features:
        return None
    row, col, reverse = _reverses(graphs)
    differs = np.zeros(len(row), np.bool_)
    for features in (graphs.edge_labels, graphs.edge_attributes):
        if features is not None:
            differs |= (features != features[reverse]).any(axis=1)
    if not differs.any():
        return None
    edge = int(differs.argmax())
    graph = int(np.searchsorted(graphs.edge_ptr, edge, side="right")) - 1
    i, j = (int(end[edge] - graphs.node_ptr[graph]) for end in (row, col))
    there, back = graphs.edge_signals(np.array([edge, reverse[edge]]))
    return UnequalEdge(graph, (i, j), (_shown(graphs, there, there != back), _shown(graphs, back, there != back)))


def check_equal_directions(graphs: GraphSet) -> None:
    """Raise an error if an edge has other features than its reverse: its matrix would not be symmetric."""
    edge = graphs.unequal_edge
    if edge is not None:
        advice = [advise("symmetrise", True, "gives both directions the mean")]
        raise GraphError(Message("{edge}", edge=str(edge), advice=advice))


def _shown(graphs: GraphSet, row: np.ndarray, differs: np.ndarray) -> str:
    """The features that differ: numbers by their names, and the category of a one-hot block."""
    names = edge_columns(graphs)
    numbers = [f"{names[place]}={row[place]:g}" for place in np.flatnonzero(differs) if not _is_category(names[place])]
    words = [names[place] for place in np.flatnonzero(differs) if _is_category(names[place]) and row[place]]
    shown = [*numbers, *words]
    more = [f"{len(shown) - SHOWN} more"] if len(shown) > SHOWN else []
    return ", ".join(shown[:SHOWN] + more) or "none of its categories"


def _is_category(name: str) -> bool:
    return "=" in name
