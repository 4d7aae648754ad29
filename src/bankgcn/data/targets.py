"""From what a file says of each graph to targets: class numbers, or real numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bankgcn.choices import pick
from bankgcn.data.errors import GraphError

Scalar = int | float | str | bool | None
TargetKind = Literal["auto", "class", "number"]

MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null"})


class TargetError(GraphError):
    """A target that cannot be what it should be.

    Args:
        message: What is wrong.
        graph: Number of the graph that it belongs to.
    """

    def __init__(self, message: str, graph: int):
        super().__init__(message)
        self.graph = graph


def scalar(text: str) -> int | float | str | None:
    """What a cell of a table says: a whole number, a real number, a word, or nothing.

    Example:
        >>> [scalar(text) for text in ("1", "1.5", "active", " NA ")]
        [1, 1.5, 'active', None]
    """
    text = text.strip()
    if text.lower() in MISSING_WORDS:
        return None
    if "_" in text:  # Python reads 1_0 as 10, but in a table it is a word
        return text
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def encode_targets(
    values: Sequence[Scalar], kind: TargetKind = "auto", classes: Sequence[str] | None = None
) -> tuple[NDArray, tuple[str, ...] | None]:
    """Targets of graphs, and the names of their classes.

    Args:
        values: One a graph; ``None`` and NaN are refused.
        kind: ``"class"``: every distinct value is a class, numbers in their order before words in theirs.
            ``"number"``: real numbers, as regression wants them. ``"auto"``: numbers if all values are numbers and
            some are not whole; else classes.
        classes: Names of the classes in order of their numbers, if they are fixed: those that a model knows.

    Returns:
        Class numbers (int64) and the names of the classes, or real numbers (float32) and ``None``.

    Example:
        >>> encode_targets(["no", "yes", "no"])
        (array([0, 1, 0]), ('no', 'yes'))
        >>> encode_targets([10, -1, 10.0])
        (array([1, 0, 1]), ('-1', '10'))
        >>> encode_targets([0.5, 2])
        (array([0.5, 2. ], dtype=float32), None)
    """
    pick(dict.fromkeys(("auto", "class", "number")), kind, "kind of target")
    if kind == "number" or (kind == "auto" and classes is None and _are_real(values)):
        return np.array([_number(value, graph) for graph, value in enumerate(values)], dtype=np.float32), None
    names = [_name(value, graph) for graph, value in enumerate(values)]
    known = tuple(sorted(set(names), key=_by_number_then_word) if classes is None else classes)
    place = {name: number for number, name in enumerate(known)}
    for graph, name in enumerate(names):
        if name not in place:
            raise TargetError(f"class {name!r} is none of {', '.join(known)}", graph)
    return np.array([place[name] for name in names], dtype=np.int64), known


def _are_real(values: Sequence[Scalar]) -> bool:
    """Whether all are numbers and some are not whole."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return len(numbers) == len(values) and not all(isinstance(number, int) or number.is_integer() for number in numbers)


def _number(value: Scalar, graph: int) -> float:
    if value is None or isinstance(value, str):
        raise TargetError(f"target {value!r} is not a number", graph)
    if not abs(value) <= float(np.finfo(np.float32).max):  # NaN compares as false
        raise TargetError(f"target {value} is not a finite number of single precision", graph)
    return float(value)


def _name(value: Scalar, graph: int) -> str:
    """Name of a class: ``1``, ``1.0`` and ``"1"`` are the same one."""
    if value is None or value != value:
        raise TargetError("there is no target", graph)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _by_number_then_word(name: str) -> tuple[bool, float, str]:
    number = scalar(name)
    if isinstance(number, int | float) and abs(number) < math.inf:
        return False, number, name
    return True, 0, name
