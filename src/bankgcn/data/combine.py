"""Sets of graphs made from others: several as one, or one without the weights of its edges.

Test graphs that come from a file of their own get the classes of the first set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data import GraphError
from bankgcn.data.batch import pointers
from bankgcn.data.edges import normalized_shift
from bankgcn.data.features.encodings import with_encodings
from bankgcn.data.features.graph_features import all_followed
from bankgcn.data.graphs import GraphSet
from bankgcn.data.target_values import match_targets, target_names


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
    beside = all_followed(sets)
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
        **_joined_edge_features(sets),
        attributes=_optional(sets, lambda each: each.attributes),
        labels=_optional(sets, lambda each: each.labels),
        encodings=_optional(sets, lambda each: each.encodings),
        y=_optional(sets, lambda each: each.y),
        names=tuple(name for each in sets for name in each.names or ()) if named else None,
        ids=tuple(one for each in sets for one in each.ids or ()) if identified else None,
        notes=tuple(notes),
        graph_features=beside.values,
        graph_spec=beside.spec,
    )


def _check_same(first: GraphSet, other: GraphSet, number: int) -> None:
    for what, take in _SAME.items():
        if take(first) != take(other):
            raise GraphError(f"set {number} has the {what} {take(other)}, but set 0 has {take(first)}")


_SAME: dict[str, Callable[[GraphSet], Any]] = {
    "number of attributes": lambda each: each.num_attributes,
    "widths of labels": lambda each: each.label_widths,
    "features": lambda each: dict(each.feature_spec),
    "encodings": lambda each: dict(each.encoding_spec),
    "classes": lambda each: each.classes,
    "targets": lambda each: each.targets,
}


def _joined_edge_features(sets: Sequence[GraphSet]) -> dict[str, Any]:
    """The features of the edges of all sets; none if one of them, with edges, has none.

    Raises:
        GraphError: Two sets have features of edges that differ.
    """
    first, *others = [each for each in sets if len(each.neighbor)] or sets[:1]
    nothing: dict[str, Any] = {"edge_labels": None, "edge_label_widths": (), "edge_attributes": None, "edge_spec": {}}
    if not all(each.num_edge_features for each in (first, *others)):
        return nothing
    for other in others:
        if dict(other.edge_spec) != dict(first.edge_spec):
            raise GraphError(
                f"the edges of {other.name or 'a set'} have the features {dict(other.edge_spec)}, but those of "
                f"{first.name or 'another set'} have {dict(first.edge_spec)}"
            )
    widths = {len(each.edge_label_widths) for each in (first, *others)}
    if len(widths) > 1:  # one of them stores its one-hot columns as attributes
        stored = [each.edge_signals() for each in sets]
        return {**nothing, "edge_attributes": _same_width(stored), "edge_spec": first.edge_spec}
    full = [each for each in sets if len(each.neighbor)]
    attributes = [each.edge_attributes for each in full if each.edge_attributes is not None]
    labels = [each.edge_labels for each in full if each.edge_labels is not None]
    columns = zip(*(each.edge_label_widths for each in (first, *others)), strict=True)
    return {
        "edge_labels": np.concatenate(labels) if labels else first.edge_labels,
        "edge_label_widths": tuple(map(max, columns)),
        "edge_attributes": _same_width(attributes) if attributes else first.edge_attributes,
        "edge_spec": first.edge_spec,
    }


def _same_width(tables: Sequence[NDArray]) -> NDArray:
    """The rows of all tables with rows."""
    filled = [table for table in tables if len(table)] or tables[:1]
    widths = sorted({table.shape[1] for table in filled})
    if len(widths) > 1:
        raise GraphError(f"the edges of one set have {widths[0]} features, those of another {widths[-1]}")
    return np.concatenate(filled)


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


def concatenate(first: GraphSet, second: GraphSet) -> GraphSet:
    """The graphs of both sets, those of the second after those of the first.

    Args:
        first: The first set; name, feature spec, numbers of classes and order of targets are its own.
        second: The second set, with the same node features. Edge labels are kept only if both have them.

    Raises:
        GraphError: Targets or features do not fit together.
    """
    if first.num_features != second.num_features:
        raise GraphError(
            f"{second.name} has {second.num_features} features a node, but {first.name} has {first.num_features}"
        )
    offset = len(first) + len(first.skipped)
    aligned = replace(
        second,
        y=_targets_as(first, second),
        classes=first.classes,
        targets=first.targets,
        feature_spec=first.feature_spec,
    )
    if first.label_widths != second.label_widths:  # one of them stores its one-hot columns as attributes
        first, aligned = (
            replace(graphs, attributes=with_encodings(graphs, ()).signals(), labels=None, label_widths=())
            for graphs in (first, aligned)
        )
    skipped = (*first.skipped, *((row + offset, why) for row, why in second.skipped))
    return replace(join([first, aligned]), skipped=skipped)


def _targets_as(first: GraphSet, second: GraphSet) -> NDArray:
    """Targets of the second set, with the first one's numbers of classes, or its order of columns."""
    if first.y is None or second.y is None:
        raise GraphError(f"{first.name if first.y is None else second.name} has no targets")
    if bool(first.classes) != bool(second.classes) or first.y.shape[1:] != second.y.shape[1:]:
        raise GraphError(f"the targets of {second.name} are of another kind than those of {first.name}")
    if not first.classes:
        try:
            columns = match_targets(second.y, second.targets, target_names(first.y, first.targets))
        except GraphError as error:
            raise GraphError(f"{second.name}: {error}") from error
        return columns.reshape(second.y.shape)
    number = {name: place for place, name in enumerate(first.classes)}
    present = [second.classes[place] for place in np.unique(second.y)]
    unknown = [name for name in present if name not in number]
    if unknown:
        raise GraphError(
            f"{second.name} has the classes {', '.join(unknown)}, which no graph of {first.name} has "
            f"({', '.join(first.classes)}): a model cannot predict a class that it has never seen"
        )
    numbers = np.array([number.get(name, -1) for name in second.classes], np.int64)
    return numbers[second.y]


def without_weights(graphs: GraphSet) -> GraphSet:
    """The same graphs with weight 1 for every edge, and the shift that follows from it.

    Args:
        graphs: The graphs; a set without weights is returned unchanged.
    """
    if graphs.edge_weight is None:
        return graphs
    row, col = graphs.batch().edge_index.numpy()
    shift = normalized_shift(row, col, np.ones_like(graphs.edge_weight), len(graphs.degree))
    graphs = with_encodings(graphs, ())  # in which the weights count
    return replace(graphs, edge_weight=None, shift=shift, notes=(*graphs.notes, "the weights of the edges are ignored"))
