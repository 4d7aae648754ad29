"""How node features were made. Graphs that are given to a model need the features of its training graphs.

A ``FeatureSpec`` is JSON: its ``kind``, and what was fitted to graphs, such as the range of the labels. A
:class:`GraphSet` stores it, and the file of a trained model stores the one of its training graphs.

Three kinds of features are fitted to the training graphs of a split: ``"named"`` (the words that have a column),
``"tu"`` (labels and ranges) and ``"structure"`` (the largest degree). The other kinds do not depend on the graphs.

A scale of numbers is fitted apart. The entry ``scale`` of a feature spec has the ``kind``, and for each column of
numbers the ``center``, which becomes 0, and the ``width``, which becomes 1. One-hot columns are not scaled.

Features of edges have a feature spec of their own, ``edge_spec`` of a :class:`GraphSet`. What is fitted to the training
graphs is fitted to edges as to nodes: a set of graphs whose nodes are the edges stands for them. If a network uses the
features of edges, the description of its training graphs has their description as its entry ``edges``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data import GraphError
from bankgcn.data.features.atoms import ATOM_FEATURES, BOND_FEATURE_WIDTHS, BOND_FEATURES, with_atoms
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.features.signals import (
    MAX_LABEL_RANGE,
    UNSEEN,
    CategoryBlock,
    TUSignals,
    signal_arrays,
    structural_signals,
)
from bankgcn.data.graphs import GraphSet, Indices
from bankgcn.data.options import EDGES
from bankgcn.data.standardize import STANDARDIZE, is_standardized
from bankgcn.messages import Message, Option
from bankgcn.settings import pick

FeatureSpec = Mapping[str, Any]

_PHRASES: dict[str, Callable[[FeatureSpec], str]] = {
    "tu": lambda spec: f"the node labels and attributes of a TU set, {_columns(spec)}",
    "structure": lambda spec: f"clustering coefficients and degrees up to {spec['max_degree']}",
    "atoms": lambda spec: (
        f"the nine features of {'standardised ' if is_standardized(spec) else ''}atoms ({spec['features']})"
    ),
    "named": lambda spec: f"nodes with {', '.join([*spec['numbers'], *spec['words']])}, {_columns(spec)}",
    "superpixels": lambda _: "colour and position of superpixels, cut and joined as in the CIFAR-10 benchmark",
    "images": lambda spec: (
        f"colour and position of superpixels, at most {spec['segments']} an image (compactness "
        f"{spec['compactness']:g}), each joined to the {spec['neighbors']} nearest"
    ),
    "pixels": lambda _: "intensities of pixels",
    "generated": lambda _: "generated signals",
}
_EDGE_PHRASES: dict[str, Callable[[FeatureSpec], str]] = {
    "tu": lambda spec: f"the edge labels and attributes of a TU set, {_columns(spec, 'edge')}",
    "named": lambda spec: f"edges with {', '.join([*spec['numbers'], *spec['words']])}, {_columns(spec, 'edge')}",
    "bonds": lambda _: f"bonds with {', '.join(feature.name for feature in BOND_FEATURES)}",
}


def describe_features(graphs: GraphSet, edges: bool = False) -> dict[str, Any]:
    """The feature spec of the graphs with the number of columns: what other graphs must have for the same model.

    Args:
        graphs: The graphs.
        edges: Whether the features of edges count, because a network uses them.
    """
    stored = {"attributes": graphs.num_attributes, "label_widths": list(graphs.label_widths)}
    of_nodes = {**graphs.feature_spec, **stored, **layout(graphs.feature_spec)}
    return {**of_nodes, EDGES: describe_features(edges_as_nodes(graphs))} if edges else of_nodes


def edges_as_nodes(graphs: GraphSet) -> GraphSet:
    """Graphs without edges, whose nodes are the directed edges of these graphs and have their features."""
    none = np.zeros(0, np.uint8)
    return GraphSet(
        node_ptr=graphs.edge_ptr,
        edge_ptr=np.zeros_like(graphs.edge_ptr),
        degree=np.zeros(len(graphs.neighbor), np.uint8),
        neighbor=none,
        shift=none.astype(np.float32),
        attributes=graphs.edge_attributes,
        labels=graphs.edge_labels,
        label_widths=graphs.edge_label_widths,
        feature_spec=graphs.edge_spec,
        name=graphs.name,
    )


def _with_edges_of(graphs: GraphSet, edges: GraphSet) -> GraphSet:
    """The graphs with these features of edges; the inverse of :func:`edges_as_nodes`."""
    return replace(
        graphs,
        edge_attributes=edges.attributes,
        edge_labels=edges.labels,
        edge_label_widths=edges.label_widths,
        edge_spec=edges.feature_spec,
        notes=(*graphs.notes, *edges.notes),
    )


def layout(spec: FeatureSpec) -> dict[str, Any]:
    """Number of attributes, and width of each one-hot block, for the kinds of features that fix them.

    A set may store its one-hot columns as attributes, see :func:`bankgcn.data.features.signals.signal_arrays`. The
    columns are the same, so the description does not change.
    """
    if spec.get("kind") == "tu":
        return {"attributes": spec["columns"], "label_widths": spec["label_widths"]}
    if spec.get("kind") == "named":
        widths = [len(words) for words in spec["words"].values()]
        return {"attributes": sum(spec["numbers"].values()), "label_widths": widths}
    if spec.get("kind") == "bonds":
        return {"attributes": 0, "label_widths": list(BOND_FEATURE_WIDTHS)}
    return {}


def check_same_features(graphs: GraphSet, expected: FeatureSpec, name: str, what: str = "node") -> None:
    """Raise an error unless the graphs have the expected features.

    If the kind of either is unknown, as for graphs built in Python, only the numbers of columns are compared.

    Args:
        graphs: The graphs.
        expected: :func:`describe_features` of the training graphs.
        name: Name of the graphs in the message.
        what: What the message calls a node, which may stand for an edge.
    """
    own = describe_features(graphs)
    known = "kind" in own and "kind" in expected
    if own != expected and (known or any(own[key] != expected[key] for key in ("attributes", "label_widths"))):
        raise ValueError(
            f"the model was trained on {_phrase(expected, what)}, but {name} has {_phrase(own, what)}: "
            f"new graphs must have the same {what} features as the training graphs"
        )


def _phrase(spec: FeatureSpec, what: str) -> str:
    """The features in the words of an error message."""
    phrase = (_EDGE_PHRASES if what == "edge" else _PHRASES).get(spec.get("kind", ""))
    return phrase(spec) if phrase else _columns(spec, what)


def _columns(spec: FeatureSpec, what: str = "node") -> str:
    return f"{spec['attributes']} numbers and {sum(spec['label_widths'])} one-hot columns {_A[what]}"


_A = {"node": "a node", "edge": "an edge"}

Floats = NDArray[np.float64]

SCALE = "scale"
SCALABLE = ("named", "tu", "")  # others have numbers with a fixed meaning; "": numbers of graphs in Python
SCALES: Mapping[str, Callable[[Floats], tuple[Floats, Floats]]] = {
    "standard": lambda rows: (rows.mean(axis=0), rows.std(axis=0)),
    "range": lambda rows: (rows.min(axis=0), np.ptp(rows, axis=0)),
}
"""The value of each column that becomes 0, and the distance from it that becomes 1, by the name of the scale."""


def scale_numbers(graphs: GraphSet, train: Indices, kind: str, edges: bool = False) -> GraphSet:
    """The same graphs with numbers of the nodes scaled by those of the training graphs; constant columns become 0.

    Args:
        graphs: The graphs, with features that are fitted to the training graphs.
        train: The training graphs.
        kind: ``"standard"``: the mean becomes 0, the standard deviation 1. ``"range"``: the smallest number becomes 0,
            the largest 1.
        edges: Whether numbers of edges are scaled, too, because a network uses them.

    Raises:
        GraphError: Nothing has numbers, or only such that have a fixed meaning, as those of atoms have.

    Example:
        >>> graphs = GraphSet.from_edges([2, 1], np.zeros((2, 0), int), attributes=[1.0, 3.0, 9.0])
        >>> scale_numbers(graphs, [0], "range").attributes[:, 0]
        array([0., 1., 4.], dtype=float32)
    """
    of_edges = edges_as_nodes(graphs) if edges else None
    scalable = of_edges is not None and _has_scalable(of_edges)
    if not (scalable or _has_scalable(graphs)):
        wrong = "{scale} is for numbers of {nodes}, which {name} does not have"
        nodes = "nodes or edges" if edges else "nodes"
        raise GraphError(Message(wrong, scale=Option("scale", kind), nodes=nodes, name=graphs.name or "the set"))
    scaled = _scaled(graphs, train, kind) if _has_scalable(graphs) else graphs
    return _with_edges_of(scaled, _scaled(of_edges, train, kind)) if scalable and of_edges is not None else scaled


def _has_scalable(graphs: GraphSet) -> bool:
    """Whether the nodes have numbers without a fixed meaning."""
    numbers = graphs.attributes is not None and _num_columns(graphs) > 0
    return numbers and graphs.feature_spec.get("kind", "") in SCALABLE


def _scaled(graphs: GraphSet, train: Indices, kind: str) -> GraphSet:
    fit, columns = pick(SCALES, kind, "scale"), _num_columns(graphs)
    rows = graphs[train].attributes
    assert rows is not None
    numbers = rows[:, :columns].astype(np.float64)
    center, width = fit(numbers) if len(numbers) else (np.zeros(columns), np.ones(columns))
    return with_scale(
        graphs, {"kind": kind, "center": center.tolist(), "width": np.where(width > 0, width, 1.0).tolist()}
    )


def with_scale(graphs: GraphSet, scale: Mapping[str, Any] | None) -> GraphSet:
    """The graphs with this scale instead of their own; ``None`` is the scale of the numbers as they were read."""
    present = graphs.feature_spec.get(SCALE)
    if present == scale or graphs.attributes is None:
        return graphs
    numbers, others = np.split(graphs.attributes, [_num_columns(graphs)], axis=1)
    numbers = numbers.astype(np.float64)
    if present is not None:
        numbers = numbers * present["width"] + present["center"]
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


_UNKNOWN = -2
_ONLY_COLUMNS = (
    "how these signals were made is not recorded: only the number of columns was compared with the training graphs"
)
_MAKERS = {"tu": TUSignals, "named": NodeSchema}  # both classes have the same methods


def refit(graphs: GraphSet, train: Indices, edges: bool = False) -> GraphSet:
    """The same graphs with features that are fitted to the training graphs alone.

    Each value in the training graphs has a one-hot column; a node with any other value has 0 in all columns. Scaled
    attributes of other graphs may lie outside [0, 1], and degrees above the largest degree in the training graphs count
    as the largest. Notes count these nodes.

    Args:
        graphs: The graphs. They are returned unchanged if the kind of their features is not fitted, or unknown.
        train: The training graphs.
        edges: Whether the features of edges are fitted, too, because a network uses them.

    Example:
        >>> from bankgcn.data.features.signals import structural_signals
        >>> star_and_edge = GraphSet.from_edges([4, 2], [[0, 1, 0, 2, 0, 3, 4, 5], [1, 0, 2, 0, 3, 0, 5, 4]])
        >>> refit(structural_signals(star_and_edge), [1]).label_widths
        (2,)
    """
    fitted = _refitted(graphs, train, "node")
    return _with_edges_of(fitted, _refitted(edges_as_nodes(graphs), train, "edge")) if edges else fitted


def _refitted(graphs: GraphSet, train: Indices, what: str) -> GraphSet:
    graphs = with_scale(graphs, None)
    if graphs.feature_spec.get("kind") not in ("structure", *_MAKERS) or lacks_categories(graphs):
        return graphs
    part = graphs[train]
    spec = _fitted(part) if len(part.degree) else graphs.feature_spec
    return graphs if spec == graphs.feature_spec else _with_features(graphs, spec, graphs.name or "the set", what)


def conform(graphs: GraphSet, expected: FeatureSpec, name: str) -> GraphSet:
    """The same graphs with the features that a model expects.

    Args:
        graphs: The graphs.
        expected: :func:`describe_features` of the training graphs. Features of edges stay as they are, unless it
            describes them.
        name: Name of the graphs in error messages.

    Raises:
        ValueError: The features are of another kind, or a node or an edge has a value that is unknown to the model.
    """
    if EDGES not in expected:
        return _conformed(graphs, expected, name, "node")
    of_nodes, of_edges = without_edges(expected), expected[EDGES]
    graphs = _conformed(graphs, of_nodes, name, "node")
    own = edges_as_nodes(graphs)
    if not len(own.degree):  # graphs without edges carry anything
        return _with_edges_of(graphs, _without_rows(own, of_edges))
    if describe_features(own) == of_edges:
        return graphs
    if not own.num_features:
        wants = f"the model uses the features of edges ({_phrase(of_edges, 'edge')})"
        raise GraphError(f"{wants}, but the edges of {name} have none")
    return _with_edges_of(graphs, _conformed(own, of_edges, name, "edge"))


def without_edges(expected: FeatureSpec) -> dict[str, Any]:
    """The description of the nodes alone."""
    return {key: value for key, value in expected.items() if key != EDGES}


def _without_rows(graphs: GraphSet, expected: FeatureSpec) -> GraphSet:
    """Graphs without nodes that have the expected columns."""
    spec = {key: value for key, value in expected.items() if key not in ("attributes", "label_widths")}
    spec |= {key: expected[key] for key in ("label_widths",) if spec.get("kind") == "tu"}
    attributes = np.zeros((0, expected["attributes"]), np.float32) if expected["attributes"] else None
    widths = tuple(expected["label_widths"])
    labels = np.zeros((0, len(widths)), np.uint8) if widths else None
    return replace(graphs, attributes=attributes, labels=labels, label_widths=widths, feature_spec=spec)


def _conformed(graphs: GraphSet, expected: FeatureSpec, name: str, what: str) -> GraphSet:
    if SCALE in expected or SCALE in graphs.feature_spec:
        if describe_features(graphs) == expected:
            return graphs
        plain = _conformed(with_scale(graphs, None), without_scale(expected), name, what)
        return with_scale(plain, expected.get(SCALE))
    if expected.get("kind") == "atoms":
        graphs = with_atoms(graphs, expected["features"])
    if describe_features(graphs) != expected and _can_conform(graphs, expected):
        graphs = _with_features(graphs, expected, name, what)
    check_same_features(graphs, expected, name, what)
    if "kind" in expected and "kind" not in graphs.feature_spec and _ONLY_COLUMNS not in graphs.notes:
        return replace(graphs, notes=(*graphs.notes, _ONLY_COLUMNS))
    return graphs


def widened(expected: FeatureSpec) -> FeatureSpec:
    """The description with a column for each known value, and without a scale, as it is before :func:`refit`."""
    if EDGES in expected:
        return {**widened(without_edges(expected)), EDGES: widened(expected[EDGES])}
    if expected.get("kind") not in _MAKERS:
        return without_scale(expected)
    spec = _maker(expected).widened.spec
    return {**spec, **layout(spec)}


def same_before_fit(one: FeatureSpec, other: FeatureSpec) -> bool:
    """Whether two descriptions are equal apart from what :func:`refit` fits, as for two splits of one set."""
    if EDGES in one or EDGES in other:
        both = EDGES in one and EDGES in other and same_before_fit(one[EDGES], other[EDGES])
        return both and same_before_fit(without_edges(one), without_edges(other))
    learned = {"structure": ("max_degree", "label_widths"), "tu": ("low", "high")}.get(one.get("kind", ""), ())
    kept = [{key: value for key, value in widened(each).items() if key not in learned} for each in (one, other)]
    same_scale = scale_kind(one) == scale_kind(other) and bool(one.get("low")) == bool(other.get("low"))
    return kept[0] == kept[1] and same_scale


def _maker(spec: FeatureSpec) -> Any:
    maker: Any = _MAKERS[spec["kind"]]
    return maker.from_spec(spec)


def lacks_categories(graphs: GraphSet) -> bool:
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
    return not lacks_categories(graphs) and _maker(expected).accepts(_maker(graphs.feature_spec))


def _with_features(graphs: GraphSet, expected: FeatureSpec, name: str, what: str) -> GraphSet:
    """The graphs with the expected columns."""
    if expected["kind"] == "structure":
        return structural_signals(graphs, expected["max_degree"])
    own, wanted = _maker(graphs.feature_spec), _maker(expected)
    attributes, notes = wanted.rescaled(graphs.attributes, own)
    labels = None if graphs.labels is None else _places(graphs, own.blocks, wanted.blocks, name, what)
    arrays = signal_arrays(attributes, labels, wanted.label_widths, f"{what}s")
    return graphs.with_signals(**{**arrays, "notes": (*notes, *arrays.get("notes", ()))}, feature_spec=wanted.spec)


def _places(
    graphs: GraphSet, own: Sequence[CategoryBlock], wanted: Sequence[CategoryBlock], name: str, what: str
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
                f"{name}: {after.name} of {what} {node - graphs.node_ptr[graph]} of graph {graph} is {value!r}, but "
                "no training graph of the model has this value"
            )
    return places


def column_names(spec: FeatureSpec, width: int) -> list[str]:
    """The names; a one-hot column is called ``name=value``.

    Args:
        spec: How the features were made; see :mod:`bankgcn.data.features.spec`.
        width: Number of columns. Columns of unknown meaning are numbered.

    Example:
        >>> column_names({"kind": "named", "numbers": {"charge": 1}, "words": {"element": ["C", "N"]}}, 3)
        ['charge', 'element=C', 'element=N']
        >>> column_names({}, 2)
        ['feature 0', 'feature 1']
    """
    namer = _NAMERS.get(spec.get("kind", ""))
    names = [] if namer is None else namer(spec, width)
    return names if len(names) == width else _numbered("feature", width)


def edge_columns(graphs: GraphSet) -> list[str]:
    """The names of the columns that the features of the edges of these graphs have."""
    return column_names(graphs.edge_spec, graphs.num_edge_features)


def _bonds(spec: FeatureSpec, width: int) -> list[str]:
    return [f"{feature.name}={value}" for feature in BOND_FEATURES for value in feature.values]


def _tu(spec: FeatureSpec, width: int) -> list[str]:
    return [*_numbered("attribute", spec["columns"]), *_blocks(TUSignals.from_spec(spec).blocks)]


def _named(spec: FeatureSpec, width: int) -> list[str]:
    numbers = ([key] if count == 1 else _numbered(key, count) for key, count in spec["numbers"].items())
    return [*(name for names in numbers for name in names), *_blocks(NodeSchema.from_spec(spec).blocks)]


def _structure(spec: FeatureSpec, width: int) -> list[str]:
    top = spec["max_degree"]
    return ["clustering coefficient", *(f"degree={degree}" for degree in range(top)), f"degree>={top}"]


def _atoms(spec: FeatureSpec, width: int) -> list[str]:
    if spec["features"] == "raw":
        return [f"{feature.name} (index)" for feature in ATOM_FEATURES]
    values = ((feature.name, (*feature.values, "other")[: feature.width]) for feature in ATOM_FEATURES)
    return [f"{name}={value}" for name, of_feature in values for value in of_feature]


def _image(spec: FeatureSpec, width: int) -> list[str]:
    places = ["row", "column"] if spec.get("coordinates", True) else []
    channels = width - len(places)
    return [*({1: ["intensity"], 3: ["red", "green", "blue"]}.get(channels) or _numbered("channel", channels)), *places]


def _blocks(blocks: Iterable[tuple[str, Iterable[object], Iterable[object]]]) -> list[str]:
    return [f"{name}={value}" for name, values, _ in blocks for value in values]


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name} {number}" for number in range(count)]


_NAMERS: dict[str, Callable[[FeatureSpec, int], list[str]]] = {
    "tu": _tu,
    "named": _named,
    "structure": _structure,
    "atoms": _atoms,
    "superpixels": _image,
    "images": _image,
    "pixels": _image,
    "bonds": _bonds,
}


ATOM_KINDS = ("raw", "onehot")


def check_spec(spec: Any, num_features: int, num_edge_features: int | None = None) -> None:
    """Raise unless a value of a file is :func:`describe_features` of such graphs.

    Args:
        spec: The value.
        num_features: Width of the signals that the network takes.
        num_edge_features: Width of the features of edges that it takes, if it takes any.

    Raises:
        ValueError: The message names the entry and its value.
    """
    _check_described(spec, num_features, "node", _CHECKS)
    if (EDGES in spec) != (num_edge_features is not None):
        takes = "takes none" if num_edge_features is None else "takes some"
        raise ValueError(f"{EDGES} of the signals is {spec.get(EDGES)!r}, but of features of edges the network {takes}")
    if num_edge_features is not None:
        _check_described(spec[EDGES], num_edge_features, "edge", _EDGE_CHECKS)


def _check_described(
    spec: Any, num_features: int, what: str, checks: Mapping[str, Callable[[FeatureSpec], None]]
) -> None:
    if not isinstance(spec, Mapping):
        raise ValueError(f"signals is {spec!r}, expected the description of {what} features")
    kind = spec.get("kind", "")
    if not isinstance(kind, str):
        raise ValueError(f"kind of the signals is {kind!r}, expected a word")
    _whole(spec, "attributes")
    _wholes(spec, "label_widths")
    if what == "edge" and kind and kind not in checks:
        raise ValueError(f"kind of the signals of edges is {kind!r}, expected {', '.join(checks)}")
    if kind in checks:
        checks[kind](spec)
    for name, value in layout(spec).items():
        if spec[name] != value:
            raise ValueError(f"{name} of the signals is {spec[name]!r}, but their columns are {value!r}")
    width = spec["attributes"] + sum(spec["label_widths"])
    if width != num_features:
        raise ValueError(f"the signals have {width:,} columns, but the network takes {num_features:,}")


def _check_tu(spec: FeatureSpec) -> None:
    columns = _whole(spec, "columns")
    for name in ("low", "high"):
        values = _list(spec, name)
        if not all(is_finite_number(value) for value in values) or len(values) not in (0, columns):
            raise ValueError(f"{name} of the signals is {values!r}, expected {columns} finite numbers, or none")
    if len(spec["low"]) != len(spec["high"]) or any(a > b for a, b in zip(spec["low"], spec["high"], strict=True)):
        raise ValueError(f"the signals lie between {spec['low']!r} and {spec['high']!r}: the first must be smaller")
    widths, first = _wholes(spec, "label_widths"), _wholes(spec, "label_low", least=None)
    unseen = spec.get("unseen") or [[]] * len(first)
    if not isinstance(unseen, list) or not len(first) == len(widths) == len(unseen):
        raise ValueError(f"labels of the signals: {first!r}, {widths!r} and {unseen!r} differ in their number")
    for low, width, others in zip(first, widths, unseen, strict=True):
        if not isinstance(others, list) or not all(_is_whole(label) for label in others):
            raise ValueError(f"unseen of the signals has {others!r}, expected whole numbers")
        ends = [low, low + width - 1, *others]
        if width < 1 or max(ends) - min(ends) >= MAX_LABEL_RANGE:
            raise ValueError(f"labels of the signals from {min(ends)} to {max(ends)} cannot be one-hot columns")


def _check_named(spec: FeatureSpec) -> None:
    numbers, words, unseen = (_mapping(spec, name) for name in ("numbers", "words", "unseen"))
    for key, width in numbers.items():
        if not _is_whole(width) or width < 0:
            raise ValueError(f"numbers of the signals has {width!r} for {key!r}, expected a whole number")
    for key, known in [*words.items(), *unseen.items()]:
        if not isinstance(known, list) or not all(isinstance(word, str) for word in known):
            raise ValueError(f"words of the signals has {known!r} for {key!r}, expected words")
    for key, more in unseen.items():
        if key not in words:
            raise ValueError(f"unseen of the signals has {key!r}, which has no columns")
        words = {**words, key: [*words[key], *more]}
    for key, known in words.items():
        if len(set(known)) != len(known):
            raise ValueError(f"words of the signals has a word twice for {key!r}: {known!r}")


def _check_structure(spec: FeatureSpec) -> None:
    expected = {"attributes": 1, "label_widths": [_whole(spec, "max_degree") + 1]}
    for name, value in expected.items():
        if spec[name] != value:
            raise ValueError(f"{name} of the signals is {spec[name]!r}, expected {value!r}")


def _check_atoms(spec: FeatureSpec) -> None:
    if spec.get("features") not in ATOM_KINDS:
        raise ValueError(f"features of the signals is {spec.get('features')!r}, expected {' or '.join(ATOM_KINDS)}")
    if spec.get(STANDARDIZE, True) is not True:
        raise ValueError(f"{STANDARDIZE} of the signals is {spec[STANDARDIZE]!r}, expected true, or no such entry")


def _check_images(spec: FeatureSpec) -> None:
    _whole(spec, "segments", least=1)
    _whole(spec, "neighbors")
    if not is_finite_number(spec.get("compactness")) or spec["compactness"] <= 0:
        raise ValueError(f"compactness of the signals is {spec.get('compactness')!r}, expected a positive number")


_CHECKS: dict[str, Callable[[FeatureSpec], None]] = {
    "tu": _check_tu,
    "named": _check_named,
    "structure": _check_structure,
    "atoms": _check_atoms,
    "images": _check_images,
}


def _check_bonds(spec: FeatureSpec) -> None:
    expected = {"attributes": 0, "label_widths": list(BOND_FEATURE_WIDTHS)}
    for name, value in expected.items():
        if spec[name] != value:
            raise ValueError(f"{name} of the signals of bonds is {spec[name]!r}, expected {value!r}")


_EDGE_CHECKS: dict[str, Callable[[FeatureSpec], None]] = {
    "tu": _check_tu,
    "named": _check_named,
    "bonds": _check_bonds,
}


def is_finite_number(value: Any) -> bool:
    """Whether a value of JSON is a number that a calculation can use."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond all floats
        return False


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62


def _whole(spec: FeatureSpec, name: str, least: int = 0) -> int:
    value: Any = spec.get(name)
    if not _is_whole(value) or value < least:
        raise ValueError(f"{name} of the signals is {value!r}, expected a whole number, at least {least}")
    return value


def _wholes(spec: FeatureSpec, name: str, least: int | None = 0) -> list[int]:
    values = _list(spec, name)
    if not all(_is_whole(value) and (least is None or value >= least) for value in values):
        raise ValueError(f"{name} of the signals is {values!r}, expected whole numbers")
    return values


def _list(spec: FeatureSpec, name: str) -> list[Any]:
    if not isinstance(spec.get(name), list):
        raise ValueError(f"{name} of the signals is {spec.get(name)!r}, expected a list")
    return spec[name]


def _mapping(spec: FeatureSpec, name: str) -> Mapping[str, Any]:
    value = spec.get(name, {} if name == "unseen" else None)
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} of the signals is {value!r}, expected names with values")
    return value
