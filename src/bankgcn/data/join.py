"""Several sets of graphs as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.batch import pointers
from bankgcn.data.errors import GraphError
from bankgcn.data.graphs import GraphSet


def join(sets: Sequence[GraphSet]) -> GraphSet:
    """The graphs of several sets, one set after another: the inverse of indexing.

    Raises:
        GraphError: There are no sets, or they differ in node features or targets.

    Example:
        >>> two = GraphSet.from_edges([1, 1], np.zeros((2, 0), int), labels=[0, 1], y=["a", "b"])
        >>> join([two[1], two[0]]).y
        array([1, 0])
    """
    if not sets:
        raise GraphError("there are no sets to join")
    first = sets[0]
    if len(sets) == 1:
        return first
    for number, other in enumerate(sets):
        _check_same(first, other, number)
    notes = dict.fromkeys(note for each in sets for note in each.notes)
    named = all(each.names is not None for each in sets)
    identified = all(each.ids is not None for each in sets)
    return replace(
        first,
        node_ptr=pointers(np.concatenate([each.num_nodes for each in sets])),
        edge_ptr=pointers(np.concatenate([each.num_directed_edges for each in sets])),
        degree=np.concatenate([each.degree for each in sets]),
        neighbor=np.concatenate([each.neighbor for each in sets]),
        shift=np.concatenate([each.shift for each in sets]),
        edge_weight=_optional(sets, lambda each: each.edge_weight, lambda each: np.ones_like(each.shift)),
        edge_labels=_optional(sets, lambda each: each.edge_labels),
        attributes=_optional(sets, lambda each: each.attributes),
        labels=_optional(sets, lambda each: each.labels),
        y=_optional(sets, lambda each: each.y),
        names=tuple(name for each in sets for name in each.names or ()) if named else None,
        ids=tuple(one for each in sets for one in each.ids or ()) if identified else None,
        notes=tuple(notes),
    )


def _check_same(first: GraphSet, other: GraphSet, number: int) -> None:
    for what, take in _SAME.items():
        if take(first) != take(other):
            raise GraphError(f"set {number} has the {what} {take(other)}, but set 0 has {take(first)}")


_SAME: dict[str, Callable[[GraphSet], Any]] = {
    "number of attributes": lambda each: each.num_attributes,
    "widths of labels": lambda each: each.label_widths,
    "features": lambda each: dict(each.feature_spec),
    "classes": lambda each: each.classes,
    "targets": lambda each: each.targets,
}


def _optional(
    sets: Sequence[GraphSet],
    take: Callable[[GraphSet], NDArray | None],
    default: Callable[[GraphSet], NDArray] | None = None,
) -> Any:
    """A field of all sets; ``None`` if no set has it, or if one lacks it and there is no default."""
    values = [take(each) for each in sets]
    present = [value for value in values if value is not None]
    if not present or (len(present) < len(sets) and default is None):
        return None
    if default is None or len(present) == len(sets):
        return np.concatenate(present)
    return np.concatenate([default(each) if value is None else value for each, value in zip(sets, values, strict=True)])
