"""Which values the training graphs have, and which values of new graphs no training graph has.

For features that are fitted to the training graphs, such as words, the description of a model says it. The lists of
values of atoms and bonds are the same for all models: what occurs is collected here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.features.atoms import ATOM_FEATURES, BOND_FEATURES
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.features.signals import CategoryBlock, TUSignals
from bankgcn.data.features.spec import edges_as_nodes, lacks_categories, layout
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import EDGES

Seen = Mapping[str, Sequence[Sequence[int]]]
"""Codes of each feature of ``"atoms"`` and ``"bonds"`` that occur."""

NOTED = 5  # values that a note names


def seen_values(graphs: GraphSet) -> dict[str, list[list[int]]]:
    """The codes of atoms and bonds that occur in the training graphs; nothing for other graphs."""
    return {
        kind: [np.unique(column).tolist() for column in codes.T]
        for kind, codes in ((kind, _codes(rows, kind)) for kind, rows in _rows(graphs))
        if codes is not None
    }


def unseen_notes(graphs: GraphSet, conformed: GraphSet, seen: Seen) -> list[list[str]]:
    """For each graph, the values of its nodes and edges that no training graph has, in words.

    Args:
        graphs: The graphs as they were read.
        conformed: The same with the features that the model takes.
        seen: :func:`seen_values` of the training graphs.
    """
    notes: list[dict[str, None]] = [{} for _ in range(len(graphs))]
    read = dict(_rows(graphs))
    for kind, rows in _rows(conformed):
        for places, words in _unseen(kind, rows, read.get(kind, rows), seen):
            owners = np.searchsorted(rows.node_ptr, places, side="right") - 1
            for graph, word in dict.fromkeys(zip(owners.tolist(), words, strict=True)):
                notes[graph][word] = None
    return [list(words) for words in notes]


def joined_notes(words: Sequence[str]) -> str | None:
    """The values in one cell; ``None`` if there is none.

    Example:
        >>> print(joined_notes(["element Si", "charge of an atom -2"]))
        element Si; charge of an atom -2
    """
    more = f"; and {len(words) - NOTED} more" if len(words) > NOTED else ""
    return "; ".join(words[:NOTED]) + more if words else None


def _rows(graphs: GraphSet) -> Iterator[tuple[str, GraphSet]]:
    """The nodes, and the edges as nodes if they have features, each with the kind of their features."""
    yield graphs.feature_spec.get("kind", ""), graphs
    if graphs.num_edge_features:
        edges = edges_as_nodes(graphs)
        yield f"{EDGES} {edges.feature_spec.get('kind', '')}", edges


def _codes(rows: GraphSet, kind: str) -> NDArray[np.int64] | None:
    """The index of each value in its published list, shape ``(rows, features)``; ``None`` if there are no lists."""
    if kind not in _LISTS:
        return None
    stored = rows.attributes if rows.labels is None else rows.labels
    return None if stored is None else stored[:, : len(_LISTS[kind])].astype(np.int64)


def _unseen(kind: str, rows: GraphSet, read: GraphSet, seen: Seen) -> Iterator[tuple[NDArray[np.int64], Sequence[str]]]:
    """Places of nodes with a value that no training graph has, and this value in words."""
    codes = _codes(rows, kind)
    if codes is not None and kind in seen:
        for column, name, present in zip(codes.T, _LISTS[kind], seen[kind], strict=True):
            places = np.flatnonzero(~np.isin(column, present))
            yield places, [name(int(code)) for code in column[places]]
    elif kind == "structure":
        top = rows.feature_spec["max_degree"]
        places = np.flatnonzero(rows.degree > top)
        yield places, [f"degree {int(degree)} (at most {top} in training)" for degree in rows.degree[places]]
    elif (maker := _MAKERS.get(kind.removeprefix(f"{EDGES} "))) and lacks_categories(rows):
        yield from _all_zero(rows, read, maker, "an edge" if kind.startswith(EDGES) else "a node")


def _all_zero(
    rows: GraphSet, read: GraphSet, maker: Callable[[Mapping[str, Any]], Any], what: str
) -> Iterator[tuple[NDArray[np.int64], Sequence[str]]]:
    """Nodes whose one-hot columns, which are stored as attributes, are all 0."""
    assert rows.attributes is not None
    blocks: Sequence[CategoryBlock] = maker(rows.feature_spec).blocks
    known = None if read.labels is None else [block.values for block in maker(read.feature_spec).blocks]
    end = layout(rows.feature_spec)["attributes"]
    for number, block in enumerate(blocks):
        start, end = end, end + len(block.values)
        places = np.flatnonzero(~rows.attributes[:, start:end].any(axis=1))
        if known is None or read.labels is None:
            yield places, [f"a new {block.name} of {what}"] * len(places)
        else:
            values = [known[number][int(label)] for label in read.labels[places, number]]
            yield places, [f"{block.name} {value} of {what}" for value in values]


def _element(code: int) -> str:
    from rdkit.Chem import GetPeriodicTable

    number = code + 1
    return f"element {GetPeriodicTable().GetElementSymbol(number)}" if number <= 118 else "an unknown element"


def _value(name: str, values: Sequence[object], what: str) -> Callable[[int], str]:
    return lambda code: f"{name} {values[code] if code < len(values) else 'other'} of {what}"


_LISTS: Mapping[str, Sequence[Callable[[int], str]]] = {
    "atoms": [_element, *(_value(feature.name, feature.values, "an atom") for feature in ATOM_FEATURES[1:])],
    f"{EDGES} bonds": [_value(feature.name, feature.values, "a bond") for feature in BOND_FEATURES],
}
"""How to name a code of each feature."""
_MAKERS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {"tu": TUSignals.from_spec, "named": NodeSchema.from_spec}
