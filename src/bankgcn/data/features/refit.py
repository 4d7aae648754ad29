"""Signals fitted to the training graphs of a split, and other graphs described as those were.

Three specs hold what is learned from graphs: the words of ``"named"`` nodes, labels and ranges of ``"tu"`` sets, and
the largest degree of ``"structure"``. The other specs learn nothing from the graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.errors import GraphError
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.features.signals import UNSEEN, CategoryBlock, signal_arrays, structural_signals
from bankgcn.data.features.spec import FeatureSpec, check_same_features, describe_features, layout
from bankgcn.data.features.tu_signals import TUSignals
from bankgcn.data.graphs import GraphSet, Indices

_UNKNOWN = -2
_ONLY_COLUMNS = (
    "how these signals were made is not recorded: only the number of columns was compared with the training graphs"
)
_MAKERS = {"tu": TUSignals, "named": NodeSchema}  # what makes the signals of each kind; both have the same methods


def refit(graphs: GraphSet, train: Indices) -> GraphSet:
    """The same graphs, with signals that are learned from the training graphs alone.

    One-hot columns stand for the values that the training graphs have. A node of another graph with another value has 0
    in all of them. Attributes that are scaled to [0, 1] may lie outside this range in other graphs, and higher degrees
    count as the largest one of the training graphs. Notes count these nodes.

    Args:
        graphs: The graphs. Where their spec learns nothing from graphs, or is not known, they are returned as they
            are.
        train: The training graphs.

    Example:
        >>> from bankgcn.data.features.signals import structural_signals
        >>> star_and_edge = GraphSet.from_edges([4, 2], [[0, 1, 0, 2, 0, 3, 4, 5], [1, 0, 2, 0, 3, 0, 5, 4]])
        >>> refit(structural_signals(star_and_edge), [1]).label_widths
        (2,)
    """
    if graphs.feature_spec.get("kind") not in ("structure", *_MAKERS) or _lacks_categories(graphs):
        return graphs
    part = graphs[train]
    spec = _fitted(part) if len(part.degree) else graphs.feature_spec
    return graphs if spec == graphs.feature_spec else _described(graphs, spec, graphs.name or "the set")


def conform(graphs: GraphSet, expected: FeatureSpec, name: str) -> GraphSet:
    """The same graphs, with signals made as those that are described, for a model that was trained on those.

    Args:
        graphs: The graphs.
        expected: The :func:`~bankgcn.data.features.spec.describe_features` of the training graphs.
        name: What a message calls the graphs.

    Raises:
        ValueError: The signals are of another kind, or have a value that is not known from training.
    """
    if describe_features(graphs) != expected and _can_be_described(graphs, expected):
        graphs = _described(graphs, expected, name)
    check_same_features(graphs, expected, name)
    if "kind" in expected and "kind" not in graphs.feature_spec and _ONLY_COLUMNS not in graphs.notes:
        return replace(graphs, notes=(*graphs.notes, _ONLY_COLUMNS))
    return graphs


def widened(expected: FeatureSpec) -> FeatureSpec:
    """A description of graphs before :func:`refit`: with a column for each value that is known."""
    if expected.get("kind") not in _MAKERS:
        return expected
    spec = _maker(expected).widened.spec
    return {**spec, **layout(spec)}


def same_before_fit(one: FeatureSpec, other: FeatureSpec) -> bool:
    """Whether two descriptions differ at most in what :func:`refit` learns, as those of two splits of one set do."""
    learned = {"structure": ("max_degree", "label_widths"), "tu": ("low", "high")}.get(one.get("kind", ""), ())
    kept = [{key: value for key, value in widened(each).items() if key not in learned} for each in (one, other)]
    return kept[0] == kept[1] and bool(one.get("low")) == bool(other.get("low"))


def _maker(spec: FeatureSpec) -> Any:
    maker: Any = _MAKERS[spec["kind"]]
    return maker.from_spec(spec)


def _lacks_categories(graphs: GraphSet) -> bool:
    """Whether one-hot columns are stored as numbers: then nobody knows the values of nodes that have 0 in all."""
    return graphs.labels is None and bool(layout(graphs.feature_spec).get("label_widths"))


def _fitted(part: GraphSet) -> FeatureSpec:
    """The spec of these graphs, fitted to them."""
    if part.feature_spec["kind"] == "structure":
        return {"kind": "structure", "max_degree": int(part.degree.max())}
    labels = None if part.labels is None else part.labels.astype(np.int64)
    return _maker(part.feature_spec).refitted(part.attributes, labels).spec


def _can_be_described(graphs: GraphSet, expected: FeatureSpec) -> bool:
    """Whether the columns of that spec can be made of what these graphs have."""
    kind = expected.get("kind")
    if kind not in _MAKERS or graphs.feature_spec.get("kind") != kind:
        return kind == "structure"
    return not _lacks_categories(graphs) and _maker(expected).accepts(_maker(graphs.feature_spec))


def _described(graphs: GraphSet, expected: FeatureSpec, name: str) -> GraphSet:
    """The graphs with the columns of that spec."""
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
    """The labels of the nodes as places in other blocks."""
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
                f"{name}: {after.name} of node {node - graphs.node_ptr[graph]} of graph {graph} is {value!r}, which no "
                "graph that the model was trained with has"
            )
    return places
