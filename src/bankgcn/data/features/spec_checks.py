"""Is a stored feature spec one that this package writes? Checked when a model is loaded, before a graph is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from bankgcn.data.features.signals import MAX_LABEL_RANGE
from bankgcn.data.features.spec import FeatureSpec, layout

ATOM_KINDS = ("raw", "onehot")


def check_spec(spec: Any, num_features: int) -> None:
    """Raise unless a value of a file is :func:`~bankgcn.data.features.spec.describe_features` of such graphs.

    Args:
        spec: The value.
        num_features: Width of the signals that the network takes.

    Raises:
        ValueError: The message names the entry and its value.
    """
    if not isinstance(spec, Mapping):
        raise ValueError(f"signals is {spec!r}, expected the description of node features")
    kind = spec.get("kind", "")
    if not isinstance(kind, str):
        raise ValueError(f"kind of the signals is {kind!r}, expected a word")
    _whole(spec, "attributes")
    _wholes(spec, "label_widths")
    if kind in _CHECKS:
        _CHECKS[kind](spec)
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
        known = [low, low + width - 1, *others]
        if width < 1 or max(known) - min(known) >= MAX_LABEL_RANGE:
            raise ValueError(f"labels of the signals from {min(known)} to {max(known)} cannot be one-hot columns")


def _check_named(spec: FeatureSpec) -> None:
    numbers, words, unseen = (_named(spec, name) for name in ("numbers", "words", "unseen"))
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


def _named(spec: FeatureSpec, name: str) -> Mapping[str, Any]:
    value = spec.get(name, {} if name == "unseen" else None)
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} of the signals is {value!r}, expected names with values")
    return value
