"""Scale the numbers of nodes: fitted to the training graphs, kept in the feature spec, applied to other graphs.

The entry ``scale`` of a feature spec has the ``kind``, and for each column of numbers the ``center``, which becomes 0,
and the ``width``, which becomes 1. One-hot columns are not scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.choices import pick
from bankgcn.data.errors import GraphError
from bankgcn.data.features.spec import FeatureSpec, layout
from bankgcn.data.graphs import GraphSet, Indices
from bankgcn.messages import Message, Option

Floats = NDArray[np.float64]

SCALE = "scale"
SCALABLE = ("named", "tu", "")  # others have numbers with a fixed meaning; "": numbers of graphs in Python
SCALES: Mapping[str, Callable[[Floats], tuple[Floats, Floats]]] = {
    "standard": lambda rows: (rows.mean(axis=0), rows.std(axis=0)),
    "range": lambda rows: (rows.min(axis=0), np.ptp(rows, axis=0)),
}
"""The value of each column that becomes 0, and the distance from it that becomes 1, by the name of the scale."""


def scale_numbers(graphs: GraphSet, train: Indices, kind: str) -> GraphSet:
    """The same graphs with numbers of the nodes scaled by those of the training graphs; constant columns become 0.

    Args:
        graphs: The graphs, with features that are fitted to the training graphs.
        train: The training graphs.
        kind: ``"standard"``: the mean becomes 0, the standard deviation 1. ``"range"``: the smallest number becomes 0,
            the largest 1.

    Raises:
        GraphError: The nodes have no numbers, or such that have a fixed meaning, as atoms do.

    Example:
        >>> graphs = GraphSet.from_edges([2, 1], np.zeros((2, 0), int), attributes=[1.0, 3.0, 9.0])
        >>> scale_numbers(graphs, [0], "range").attributes[:, 0]
        array([0., 1., 4.], dtype=float32)
    """
    fit = pick(SCALES, kind, "scale")
    columns = _num_columns(graphs)
    if graphs.attributes is None or not columns or graphs.feature_spec.get("kind", "") not in SCALABLE:
        wrong = "{scale} is for numbers of nodes, which {name} does not have"
        raise GraphError(Message(wrong, scale=Option("scale", kind), name=graphs.name or "the set"))
    rows = graphs[train].attributes
    assert rows is not None
    numbers = rows[:, :columns].astype(np.float64)
    center, width = fit(numbers) if len(numbers) else (np.zeros(columns), np.ones(columns))
    return with_scale(
        graphs, {"kind": kind, "center": center.tolist(), "width": np.where(width > 0, width, 1.0).tolist()}
    )


def with_scale(graphs: GraphSet, scale: Mapping[str, Any] | None) -> GraphSet:
    """The graphs with this scale instead of their own; ``None`` is the scale of the numbers as they were read."""
    own = graphs.feature_spec.get(SCALE)
    if own == scale or graphs.attributes is None:
        return graphs
    numbers, others = np.split(graphs.attributes, [_num_columns(graphs)], axis=1)
    numbers = numbers.astype(np.float64)
    if own is not None:
        numbers = numbers * own["width"] + own["center"]
    if scale is not None:
        numbers = (numbers - np.asarray(scale["center"])) / np.asarray(scale["width"])
    spec = without_scale(graphs.feature_spec)
    return replace(
        graphs,
        attributes=np.concatenate([numbers.astype(np.float32), others], axis=1),
        feature_spec=spec if scale is None else {**spec, SCALE: dict(scale)},
    )


def without_scale(spec: FeatureSpec) -> dict[str, Any]:
    """The feature spec of numbers as they were read."""
    return {key: value for key, value in spec.items() if key != SCALE}


def scale_kind(spec: FeatureSpec) -> str | None:
    """The name of the scale of a feature spec."""
    return spec.get(SCALE, {}).get("kind")


def _num_columns(graphs: GraphSet) -> int:
    """Number of columns with numbers; one-hot columns may be stored behind them."""
    return layout(graphs.feature_spec).get("attributes", graphs.num_attributes)
