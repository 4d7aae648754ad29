"""Two sets of graphs as one, for test graphs that come from a file of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.errors import GraphError
from bankgcn.data.graphs import GraphSet


def concatenate(first: GraphSet, second: GraphSet) -> GraphSet:
    """The graphs of both sets, those of the second after those of the first.

    Args:
        first: The first set; name, feature spec and numbers of classes are its own.
        second: The second set, with the same node features. Edge labels are kept only if both have them.

    Raises:
        GraphError: Targets or features do not fit together.
    """
    if first.num_features != second.num_features:
        raise GraphError(
            f"{second.name} has {second.num_features} features a node, but {first.name} has {first.num_features}"
        )
    offset = len(first) + len(first.skipped)
    return replace(
        first,
        **_joined_signals(first, second),
        node_ptr=_joined_pointers(first.node_ptr, second.node_ptr),
        edge_ptr=_joined_pointers(first.edge_ptr, second.edge_ptr),
        degree=np.concatenate([first.degree, second.degree]),
        neighbor=np.concatenate([first.neighbor, second.neighbor]),
        shift=np.concatenate([first.shift, second.shift]),
        edge_weight=_joined_weights(first, second),
        edge_labels=_both(first.edge_labels, second.edge_labels),
        y=_joined_targets(first, second),
        names=None if first.names is None or second.names is None else first.names + second.names,
        notes=tuple(dict.fromkeys((*first.notes, *second.notes))),
        skipped=(*first.skipped, *((row + offset, why) for row, why in second.skipped)),
    )


def _joined_signals(first: GraphSet, second: GraphSet) -> dict[str, Any]:
    """Attributes and labels of both; a set may store its one-hot columns as attributes, then the other does so, too."""
    if first.label_widths == second.label_widths:
        labels = _both(first.labels, second.labels)
        return {"attributes": _both(first.attributes, second.attributes), "labels": labels}
    return {"attributes": _both(first.signals(), second.signals()), "labels": None, "label_widths": ()}


def _joined_targets(first: GraphSet, second: GraphSet) -> NDArray | None:
    if first.y is None or second.y is None:
        raise GraphError(f"{first.name if first.y is None else second.name} has no targets")
    if bool(first.classes) != bool(second.classes) or first.y.shape[1:] != second.y.shape[1:]:
        raise GraphError(f"the targets of {second.name} are of another kind than those of {first.name}")
    if not first.classes:
        return np.concatenate([first.y, second.y])
    number = {name: place for place, name in enumerate(first.classes)}
    present = [second.classes[place] for place in np.unique(second.y)]
    unknown = [name for name in present if name not in number]
    if unknown:
        raise GraphError(
            f"{second.name} has the classes {', '.join(unknown)}, which no graph of {first.name} has "
            f"({', '.join(first.classes)}): a model cannot predict a class that it has never seen"
        )
    numbers = np.array([number.get(name, -1) for name in second.classes], np.int64)
    return np.concatenate([first.y, numbers[second.y]])


def _joined_weights(first: GraphSet, second: GraphSet) -> NDArray | None:
    """Weights of both; 1 where one of them has none."""
    if first.edge_weight is None and second.edge_weight is None:
        return None
    each = [graphs.edge_weight for graphs in (first, second)]
    ones = [np.ones(len(graphs.neighbor), np.float32) for graphs in (first, second)]
    return np.concatenate([one if weight is None else weight for weight, one in zip(each, ones, strict=True)])


def _joined_pointers(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([first, first[-1] + second[1:]])


def _both(first: NDArray | None, second: NDArray | None) -> NDArray | None:
    return None if first is None or second is None else np.concatenate([first, second])
