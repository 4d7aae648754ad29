"""A name for each column of the node features, in the order in which a network takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bankgcn.data.features.atoms import ATOM_FEATURES
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.features.spec import FeatureSpec
from bankgcn.data.features.tu_signals import TUSignals


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
}
