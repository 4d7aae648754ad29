"""Two sets of graphs as one, for test graphs that come from a file of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.errors import GraphError
from bankgcn.data.graphs import GraphSet
from bankgcn.data.join import join
from bankgcn.data.target_values import match_targets, target_names


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
            replace(graphs, attributes=graphs.signals(), labels=None, label_widths=()) for graphs in (first, aligned)
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
