"""From named data of nodes or edges, as in NetworkX and JSON, to columns of signals: always the same columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data import GraphError
from bankgcn.data.features.signals import UNSEEN, CategoryBlock, signal_arrays
from bankgcn.data.target_values import shown_number

NodeData = Mapping[str, Any]

BRIEF = 40  # characters of a value in a message
_LARGEST = float(np.finfo(np.float32).max)


class NodeError(GraphError):
    """Data of a node or an edge that do not fit the schema.

    Args:
        message: What is wrong.
        node: Place of the node or edge in the list.
    """

    def __init__(self, message: str, node: int):
        super().__init__(message)
        self.node = node


class MissingEntry(NodeError):
    """A node that lacks an entry."""


@dataclass(frozen=True)
class NodeSchema:
    """Which keys of the nodes are numbers, and which are words that stand for categories.

    The schema alone fixes the columns: graphs that are read with the schema of the training graphs have the same
    columns, whatever the order of their keys and words.

    Args:
        attributes: Keys with numbers, or lists of numbers, and how many numbers each has.
        categories: Keys with words, and the words of each; every word has a column.
        unseen: Known words of these keys that no training graph has. They have no column: a node with such a word has
            0 in all columns of the key.
        what: What messages call a node, which may be an edge.

    Example:
        >>> schema = NodeSchema.infer([{"element": "C", "charge": 0.5}, {"element": "N", "charge": 0.0}])
        >>> schema
        NodeSchema(attributes={'charge': 1}, categories={'element': ('C', 'N')}, unseen={}, what='node')
        >>> schema.labels([{"charge": 1, "element": "N"}])
        array([[1]])
    """

    attributes: Mapping[str, int]
    categories: Mapping[str, tuple[str, ...]]
    unseen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    what: str = "node"

    @classmethod
    def infer(cls, nodes: Iterable[NodeData], what: str = "node") -> NodeSchema:
        """The schema of these nodes, keys and words in alphabetical order."""
        nodes = list(nodes)
        attributes: dict[str, int] = {}
        categories: dict[str, tuple[str, ...]] = {}
        for key in sorted({key for node in nodes for key in node}):
            values = [node[key] for node in nodes if key in node]
            if all(isinstance(value, str) for value in values):
                categories[key] = tuple(sorted(set(values)))
            else:
                attributes[key] = len(as_numbers(values[0]))
        return cls(attributes, categories, what=what)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], what: str = "node") -> NodeSchema:
        """The schema of a feature spec; the inverse of :attr:`spec`."""
        words = {key: tuple(words) for key, words in spec["words"].items()}
        unseen = {key: tuple(words) for key, words in spec.get("unseen", {}).items()}
        return cls(dict(spec["numbers"]), words, unseen, what)

    @property
    def spec(self) -> dict[str, Any]:
        """The schema as a feature spec; see :mod:`bankgcn.data.features.spec`."""
        spec = {"kind": "named", "numbers": dict(self.attributes), "words": _lists(self.categories)}
        return {**spec, "unseen": _lists(self.unseen)} if self.unseen else spec

    def refitted(self, attributes: NDArray[np.float32] | None, labels: NDArray[np.int64] | None) -> NodeSchema:
        """The schema with a column for each word of the training graphs, given their signals; others are unseen."""
        if labels is None:
            return self
        words, unseen = {}, {}
        for (key, column, others), present in zip(self.blocks, labels.T, strict=True):
            words[key] = tuple(column[place] for place in np.unique(present))
            unseen[key] = tuple(sorted({*column, *others} - {*words[key]}))
        return NodeSchema(self.attributes, words, {key: each for key, each in unseen.items() if each})

    @property
    def widened(self) -> NodeSchema:
        """The schema with a column for each known word."""
        return NodeSchema(self.attributes, {key: tuple(sorted({*words, *more})) for key, words, more in self.blocks})

    @property
    def blocks(self) -> tuple[CategoryBlock, ...]:
        """The one-hot block of each key that has words."""
        return tuple(CategoryBlock(key, words, self.unseen.get(key, ())) for key, words in self.categories.items())

    def accepts(self, other: NodeSchema) -> bool:
        """Whether signals of the other schema can be converted to this one: all keys are the same."""
        same_numbers = list(self.attributes.items()) == list(other.attributes.items())
        return same_numbers and list(self.categories) == list(other.categories)

    def rescaled(
        self, attributes: NDArray[np.float32] | None, other: NodeSchema
    ) -> tuple[NDArray[np.float32] | None, tuple[str, ...]]:
        """The attributes unchanged, and no note: a schema does not scale attributes."""
        return attributes, ()

    @property
    def label_widths(self) -> tuple[int, ...]:
        """Number of words of each key that has words."""
        return tuple(len(words) for words in self.categories.values())

    def matrix(self, nodes: Sequence[NodeData]) -> NDArray[np.float32] | None:
        """The numbers of each node, shape ``(len(nodes), d)``; ``None`` where no key has numbers."""
        if not self.attributes:
            return None
        columns = [_column(nodes, key, width, self.what) for key, width in self.attributes.items()]
        return np.concatenate(columns, axis=1)

    def labels(self, nodes: Sequence[NodeData]) -> NDArray[np.int64] | None:
        """The number of each node's words, shape ``(len(nodes), c)``; ``None`` where no key has words.

        A word that no training graph has is -1.
        """
        if not self.categories:
            return None
        columns = [_category(nodes, key, words, self) for key, words in self.categories.items()]
        return np.stack(columns, axis=1)

    def edge_signals(
        self,
        attributes: NDArray[np.float32] | None,
        labels: NDArray[np.int64] | None,
        copies: NDArray[np.int64] | slice,
    ) -> dict[str, Any]:
        """Keyword arguments of ``GraphSet.from_edges`` for data of edges, of which some rows occur twice.

        Args:
            attributes: The result of :meth:`matrix`.
            labels: The result of :meth:`labels`.
            copies: The row of each edge.
        """
        if not (self.attributes or self.categories):
            return {}
        rows = signal_arrays(
            None if attributes is None else attributes[copies],
            None if labels is None else labels[copies],
            self.label_widths,
            f"{self.what}s",
        )
        return {
            "edge_attributes": rows["attributes"],
            "edge_labels": rows.get("labels"),
            "edge_label_widths": rows.get("label_widths"),
            "edge_spec": self.spec,
            "notes": rows.get("notes", ()),
        }

    def signals(self, attributes: NDArray[np.float32] | None, labels: NDArray[np.int64] | None) -> dict[str, Any]:
        """Keyword arguments of ``GraphSet.from_edges`` for the results of :meth:`matrix` and :meth:`labels`."""
        spec = self.spec if self.attributes or self.categories else None
        return {**signal_arrays(attributes, labels, self.label_widths), "feature_spec": spec}


def _lists(words: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {key: list(each) for key, each in words.items()}


def _column(nodes: Sequence[NodeData], key: str, width: int, what: str) -> NDArray[np.float32]:
    rows = np.empty((len(nodes), width), np.float32)
    expected = "a number" if width == 1 else f"a list of {width} numbers"
    for number, node in enumerate(nodes):
        value = _value(node, key, number, what)
        try:
            values = as_numbers(value, f"{key!r} of {what} {number}", expected)
        except GraphError as error:
            raise NodeError(str(error), number) from error
        if len(values) != width:
            message = f"{key!r} of {what} {number} has {len(values)} numbers, expected {width}: {node[key]!r}"
            raise NodeError(message, number)
        try:
            with np.errstate(over="raise"):
                rows[number] = values
        except (OverflowError, FloatingPointError) as error:
            shown = shown_number(max(values, key=abs))
            message = f"{key!r} of {what} {number} is {shown}, too large: expected a number up to {_LARGEST:.1e}"
            raise NodeError(message, number) from error
    return rows


def _category(nodes: Sequence[NodeData], key: str, words: Sequence[str], schema: NodeSchema) -> NDArray[np.int64]:
    unseen, what = schema.unseen.get(key, ()), schema.what
    numbers = {word: number for number, word in enumerate(words)} | dict.fromkeys(unseen, UNSEEN)
    column = np.empty(len(nodes), np.int64)
    for number, node in enumerate(nodes):
        word = _value(node, key, number, what)
        if not isinstance(word, str) or word not in numbers:
            message = f"{key!r} of {what} {number} is {word!r}, expected one of {', '.join(numbers)}"
            raise NodeError(message, number)
        column[number] = numbers[word]
    return column


def _value(node: NodeData, key: str, number: int, what: str) -> Any:
    if key not in node:
        raise MissingEntry(f"{what} {number} has no {key!r}, but every {what} needs it", number)
    return node[key]


def as_numbers(
    value: Any, what: str = "a node's value", expected: str = "a number, a list of numbers or a word"
) -> Sequence[float]:
    """The numbers of a node's value: a number, a list or an array of them.

    Raises:
        GraphError: It is something else; the message begins with ``what`` and ends with what is ``expected``.
    """
    values = [value] if isinstance(value, Real | np.bool_) else value
    if isinstance(values, np.ndarray):
        values = values.reshape(-1).tolist()
    if not isinstance(values, list | tuple) or not all(isinstance(each, Real | np.bool_) for each in values):
        raise GraphError(f"{what} is {value!r}, expected {expected}")
    return values


def unreadable_keys(items: Iterable[NodeData], what: str = "edge") -> dict[str, str]:
    """The keys that a schema of these data could not hold, each with the reason.

    A key needs a value everywhere: words, or numbers or lists of numbers of one length.
    """
    kinds: dict[str, object] = {}
    reasons: dict[str, str] = {}
    counts: dict[str, int] = {}
    total = 0
    for item in items:
        total += 1
        for key, value in item.items():
            counts[key] = counts.get(key, 0) + 1
            kind = _kind(value)
            if kind is None:
                reasons.setdefault(key, f"{_brief(value)} is neither a word nor a finite number nor a list of numbers")
            elif kinds.setdefault(key, kind) != kind:
                reasons.setdefault(key, f"{_brief(value)} is of another kind than those before")
    for key, count in counts.items():
        if count < total:
            reasons.setdefault(key, f"{total - count:,} of {total:,} {what}s have none")
    return reasons


def _kind(value: Any) -> object:
    """What every value of a key must share: being a word, or the count of numbers; ``None`` if it is neither."""
    if isinstance(value, str):
        return "word"
    try:
        numbers = as_numbers(value)
    except GraphError:
        return None
    try:
        return len(numbers) if all(abs(float(number)) <= _LARGEST for number in numbers) else None
    except OverflowError:
        return None


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= BRIEF else f"{text[:BRIEF]}..."
