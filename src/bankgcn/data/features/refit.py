"""Fit features to the training graphs of a split, and give other graphs the same features.

Three kinds of features are fitted: ``"named"`` (the words that have a column), ``"tu"`` (labels and ranges) and
``"structure"`` (the largest degree). The other kinds do not depend on the graphs. A scale of numbers is fitted
apart; see :mod:`bankgcn.data.features.scaling`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.errors import GraphError
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.features.scaling import SCALE, scale_kind, with_scale, without_scale
from bankgcn.data.features.signals import UNSEEN, CategoryBlock, signal_arrays, structural_signals
from bankgcn.data.features.spec import FeatureSpec, check_same_features, describe_features, layout
from bankgcn.data.features.tu_signals import TUSignals
from bankgcn.data.graphs import GraphSet, Indices

_UNKNOWN = -2
_ONLY_COLUMNS = (
    "how these signals were made is not recorded: only the number of columns was compared with the training graphs"
)
_MAKERS = {"tu": TUSignals, "named": NodeSchema}  # both classes have the same methods


def refit(graphs: GraphSet, train: Indices) -> GraphSet:
    """The same graphs with features that are fitted to the training graphs alone.

    Each value in the training graphs has a one-hot column; a node with any other value has 0 in all columns. Scaled
    attributes of other graphs may lie outside [0, 1], and degrees above the largest degree in the training graphs count
    as the largest. Notes count these nodes.

    Args:
        graphs: The graphs. They are returned unchanged if the kind of their features is not fitted, or unknown.
        train: The training graphs.

    Example:
        >>> from bankgcn.data.features.signals import structural_signals
        >>> star_and_edge = GraphSet.from_edges([4, 2], [[0, 1, 0, 2, 0, 3, 4, 5], [1, 0, 2, 0, 3, 0, 5, 4]])
        >>> refit(structural_signals(star_and_edge), [1]).label_widths
        (2,)
    """
    graphs = with_scale(graphs, None)
    if graphs.feature_spec.get("kind") not in ("structure", *_MAKERS) or _lacks_categories(graphs):
        return graphs
    part = graphs[train]
    spec = _fitted(part) if len(part.degree) else graphs.feature_spec
    return graphs if spec == graphs.feature_spec else _with_features(graphs, spec, graphs.name or "the set")


def conform(graphs: GraphSet, expected: FeatureSpec, name: str) -> GraphSet:
    """The same graphs with the features that a model expects.

    Args:
        graphs: The graphs.
        expected: :func:`~bankgcn.data.features.spec.describe_features` of the training graphs.
        name: Name of the graphs in error messages.

    Raises:
        ValueError: The features are of another kind, or a node has a value that is unknown to the model.
    """
    if SCALE in expected or SCALE in graphs.feature_spec:
        if describe_features(graphs) == expected:
            return graphs
        plain = conform(with_scale(graphs, None), without_scale(expected), name)
        return with_scale(plain, expected.get(SCALE))
    if describe_features(graphs) != expected and _can_conform(graphs, expected):
        graphs = _with_features(graphs, expected, name)
    check_same_features(graphs, expected, name)
    if "kind" in expected and "kind" not in graphs.feature_spec and _ONLY_COLUMNS not in graphs.notes:
        return replace(graphs, notes=(*graphs.notes, _ONLY_COLUMNS))
    return graphs


def widened(expected: FeatureSpec) -> FeatureSpec:
    """The description with a column for each known value, and without a scale, as it is before :func:`refit`."""
    if expected.get("kind") not in _MAKERS:
        return without_scale(expected)
    spec = _maker(expected).widened.spec
    return {**spec, **layout(spec)}


def same_before_fit(one: FeatureSpec, other: FeatureSpec) -> bool:
    """Whether two descriptions are equal apart from what :func:`refit` fits, as for two splits of one set."""
    learned = {"structure": ("max_degree", "label_widths"), "tu": ("low", "high")}.get(one.get("kind", ""), ())
    kept = [{key: value for key, value in widened(each).items() if key not in learned} for each in (one, other)]
    same_scale = scale_kind(one) == scale_kind(other) and bool(one.get("low")) == bool(other.get("low"))
    return kept[0] == kept[1] and same_scale


def _maker(spec: FeatureSpec) -> Any:
    maker: Any = _MAKERS[spec["kind"]]
    return maker.from_spec(spec)


def _lacks_categories(graphs: GraphSet) -> bool:
    """Whether one-hot columns are stored as attributes: then the value of a node with 0 in all columns is lost."""
    return graphs.labels is None and bool(layout(graphs.feature_spec).get("label_widths"))


def _fitted(part: GraphSet) -> FeatureSpec:
    """The feature spec, fitted to these graphs."""
    if part.feature_spec["kind"] == "structure":
        return {"kind": "structure", "max_degree": int(part.degree.max())}
    labels = None if part.labels is None else part.labels.astype(np.int64)
    return _maker(part.feature_spec).refitted(part.attributes, labels).spec


def _can_conform(graphs: GraphSet, expected: FeatureSpec) -> bool:
    """Whether the expected columns can be computed from the features of these graphs."""
    kind = expected.get("kind")
    if kind not in _MAKERS or graphs.feature_spec.get("kind") != kind:
        return kind == "structure"
    return not _lacks_categories(graphs) and _maker(expected).accepts(_maker(graphs.feature_spec))


def _with_features(graphs: GraphSet, expected: FeatureSpec, name: str) -> GraphSet:
    """The graphs with the expected columns."""
    if expected["kind"] == "structure":
        return structural_signals(graphs, expected["max_degree"])
    own, wanted = _maker(graphs.feature_spec), _maker(expected)
    attributes, notes = wanted.rescaled(graphs.attributes, own)
    labels = None if graphs.labels is None else _places(graphs, own.blocks, wanted.blocks, name)
    arrays = signal_arrays(attributes, labels, wanted.label_widths)
    return graphs.with_signals(**{**arrays, "notes": (*notes, *arrays.get("notes", ()))}, feature_spec=wanted.spec)


def _places(
    graphs: GraphSet, own: Sequence[CategoryBlock], wanted: Sequence[CategoryBlock], name: str
) -> NDArray[np.int64]:
    """The labels of the nodes as column numbers in the expected one-hot blocks."""
    assert graphs.labels is not None
    places = np.empty(graphs.labels.shape, np.int64)
    for column, (before, after) in enumerate(zip(own, wanted, strict=True)):
        place = {value: number for number, value in enumerate(after.values)} | dict.fromkeys(after.unseen, UNSEEN)
        table = np.array([place.get(value, _UNKNOWN) for value in before.values], np.int64)
        places[:, column] = table[graphs.labels[:, column]]
        for node in np.flatnonzero(places[:, column] == _UNKNOWN)[:1]:
            graph = int(np.searchsorted(graphs.node_ptr, node, side="right")) - 1
            value = before.values[int(graphs.labels[node, column])]
            raise GraphError(
                f"{name}: {after.name} of node {node - graphs.node_ptr[graph]} of graph {graph} is {value!r}, but no "
                "training graph of the model has this value"
            )
    return places
