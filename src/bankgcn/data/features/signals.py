"""Node signals: one-hot labels, scaled attributes, degrees and clustering coefficients.

Those of a TU set are fitted to one set and applied to others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.batch import pointers, spans
from bankgcn.data.catalog import TUFeatures
from bankgcn.data.graphs import GraphSet
from bankgcn.files.checked import FileError

GRAPHS_AT_ONCE = 256
PATHS_AT_ONCE = 1 << 20
UNSEEN = -1  # the label of a node whose category no training graph has


class CategoryBlock(NamedTuple):
    """The one-hot columns of one category of the nodes, such as their element.

    Args:
        name: Name of the category in error messages.
        values: The value of each column.
        unseen: Known values that no training graph has: all columns of a node with such a value are 0.
    """

    name: str
    values: Sequence[str] | Sequence[int]
    unseen: Sequence[str] | Sequence[int]


def signal_arrays(
    attributes: NDArray[np.float32] | None,
    labels: NDArray[np.int64] | None,
    label_widths: Sequence[int],
    what: str = "nodes",
) -> dict[str, Any]:
    """Keyword arguments of ``GraphSet.from_edges`` for signals in which some labels may be ``UNSEEN``.

    An ``UNSEEN`` label has 0 in all its columns, which a label of a set cannot express. If there is one, all one-hot
    columns are stored as attributes, after the others. The network gets the same columns; they take more memory.

    Args:
        attributes: Numbers of each node, shape ``(N, d)``.
        labels: Categories of each node, shape ``(N, c)``.
        label_widths: Number of categories of each column of labels.
        what: What the note calls the nodes, which may stand for edges.

    Example:
        >>> signal_arrays(None, np.array([[1], [UNSEEN]]), (2,))["attributes"]
        array([[0., 1.],
               [0., 0.]], dtype=float32)
    """
    unseen = 0 if labels is None else int((labels == UNSEEN).any(axis=1).sum())
    if labels is None or not unseen:
        return {"attributes": attributes, "labels": labels, "label_widths": None if labels is None else label_widths}
    blocks = [labels[:, [column]] == np.arange(width) for column, width in enumerate(label_widths)]
    numbers = [] if attributes is None else [attributes]
    note = f"{unseen:,} {what} have a category that no training graph has: its one-hot columns are all 0"
    return {"attributes": np.concatenate([*numbers, *blocks], axis=1).astype(np.float32), "notes": (note,)}


def labels_from_range(values: NDArray[np.integer]) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Labels counted from the smallest value of each column, and the width of each column.

    Values that never occur have a column, too: the 82 labels of DD lie in 1..89, so the width is 89.

    Args:
        values: Integers, shape ``(N,)`` or ``(N, c)``.

    Example:
        >>> labels_from_range(np.array([3, 5, 3]))
        (array([[0],
               [2],
               [0]]), (3,))
    """
    columns = (values[:, None] if values.ndim == 1 else values).astype(np.int64)
    if not len(columns):
        return columns, (1,) * columns.shape[1]
    labels = columns - columns.min(axis=0)
    return labels, tuple((labels.max(axis=0) + 1).tolist())


def scale_to_unit_range(
    attributes: NDArray, low: NDArray | None = None, high: NDArray | None = None
) -> NDArray[np.float32]:
    """Each column scaled to [0, 1]; a constant column becomes 0.

    Args:
        attributes: Numbers, shape ``(N, d)``.
        low: The value of each column that becomes 0, shape ``(d,)``; by default its minimum.
        high: The value that becomes 1; by default its maximum.

    Example:
        >>> scale_to_unit_range(np.array([[1.0, 7.0], [3.0, 7.0], [2.0, 7.0]]))
        array([[0. , 0. ],
               [1. , 0. ],
               [0.5, 0. ]], dtype=float32)
    """
    low = attributes.min(axis=0, initial=np.inf) if low is None else low
    high = attributes.max(axis=0, initial=-np.inf) if high is None else high
    return ((attributes - low) / unit_span(low, high)).astype(np.float32)


def unit_span(low: NDArray, high: NDArray) -> NDArray:
    """The divisor of each column in :func:`scale_to_unit_range`: its range, or 1 if it is constant."""
    return np.where(high > low, high - low, 1)


def structural_signals(graphs: GraphSet, max_degree: int | None = None) -> GraphSet:
    """The same graphs, each node with its clustering coefficient and its degree as one-hot columns.

    For graphs without features of their own (the paper's footnote 1).

    Args:
        graphs: The graphs; their own signals are dropped. Existing structural signals are kept, with the new
            ``max_degree``.
        max_degree: Larger degrees count as this one, which bounds the width of the signals. By default the largest.
    """
    if max_degree is not None and max_degree < 0:
        raise ValueError(f"max_degree={max_degree}: expected 0 or more")
    top = int(graphs.degree.max(initial=0)) if max_degree is None else max_degree
    coefficients = None
    if graphs.feature_spec.get("kind") == "structure":
        coefficients, outdated = graphs.attributes, _structure_notes(graphs, graphs.feature_spec["max_degree"])
        graphs = replace(graphs, notes=tuple(note for note in graphs.notes if note not in outdated))
    return graphs.with_signals(
        attributes=clustering_coefficient(graphs) if coefficients is None else coefficients,
        labels=np.minimum(graphs.degree, top),
        label_widths=top + 1,
        feature_spec={"kind": "structure", "max_degree": top},
        notes=_structure_notes(graphs, top),
    )


def _structure_notes(graphs: GraphSet, top: int) -> list[str]:
    notes = [f"signals are the clustering coefficient and the degree, one-hot from 0 to {top}"]
    above = int((graphs.degree > top).sum())
    if above:
        notes.append(f"{above:,} nodes have more than {top} neighbours and count as having {top}")
    return notes


def with_features(graphs: GraphSet) -> GraphSet:
    """The same graphs; if their nodes have no features but encodings, with :func:`structural_signals`."""
    return graphs if graphs.num_features > graphs.num_encodings else structural_signals(graphs)


def clustering_coefficient(graphs: GraphSet) -> NDArray[np.float32]:
    """Clustering coefficient of each node: the share of the pairs of its neighbours that are adjacent, shape ``(N,)``.

    0 for a node with fewer than two neighbours. Edge weights are ignored.
    """
    triangles = [_triangles(batch.edge_index.numpy(), batch.num_nodes) for batch in graphs.batches(GRAPHS_AT_ONCE)]
    degree = graphs.degree.astype(np.float64)
    pairs = degree * (degree - 1) / 2
    return (np.concatenate([np.zeros(0), *triangles]) / np.maximum(pairs, 1)).astype(np.float32)


def _triangles(edge_index: NDArray[np.int64], num_nodes: int) -> NDArray[np.int64]:
    """Number of triangles at each node, given both directions of every edge.

    Each edge is directed towards the node of higher degree. Then each triangle is found once, from its node of lowest
    degree, and few edges leave even a hub, so there are few paths of length two to test.
    """
    row, col = edge_index
    rank = np.empty(num_nodes, np.int64)
    rank[np.argsort(np.bincount(row, minlength=num_nodes), kind="stable")] = np.arange(num_nodes)
    upward = rank[row] < rank[col]
    keys = np.sort(rank[row][upward] * num_nodes + rank[col][upward])
    low, middle = np.divmod(keys, max(num_nodes, 1))
    leaving = np.bincount(low, minlength=num_nodes)
    found = np.zeros(num_nodes, np.int64)
    for edges, ends in _paths(middle, leaving):
        first, last = low[edges], middle[ends]
        place = np.searchsorted(keys, first * num_nodes + last)
        closed = keys[np.minimum(place, len(keys) - 1)] == first * num_nodes + last
        for corner in (first, middle[edges], last):
            found += np.bincount(corner[closed], minlength=num_nodes)
    return found[rank]


def _paths(
    middle: NDArray[np.int64], leaving: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """All paths of two edges, as the numbers of both edges, in pieces of bounded size."""
    start = pointers(leaving)
    counts = leaving[middle]
    piece = np.cumsum(counts) // PATHS_AT_ONCE
    for edges in np.split(np.arange(len(middle)), np.flatnonzero(np.diff(piece)) + 1):
        if len(edges):
            seconds = spans(start[middle[edges]], counts[edges], pointers(counts[edges]))
            yield edges.repeat(counts[edges]), seconds


Integers = NDArray[np.int64]
Floats = NDArray[np.float32]

MAX_LABEL_RANGE = 10_000  # a wider one-hot block is probably an error in the file, and would fill the memory


@dataclass(frozen=True, kw_only=True)
class TUSignals:
    """How the numbers in the files become signals.

    New graphs may lack the smallest or largest label, or have attributes in another range. Their signals use the labels
    and ranges of the training graphs, so that each column keeps its meaning.

    Args:
        columns: Number of attributes of a node.
        low: The value of each attribute that becomes 0; empty if attributes are not scaled.
        high: The value of each attribute that becomes 1.
        label_low: The first label of each one-hot block.
        label_widths: Number of labels of each block.
        unseen: For each column of labels, the labels in the range of the whole set that no training graph has. A node
            with such a label has 0 in all columns of the block. Empty if the signals are fitted to the whole set: then
            every label in the range has a column.
    """

    columns: int = 0
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    label_low: tuple[int, ...] = ()
    label_widths: tuple[int, ...] = ()
    unseen: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def fitted(cls, features: TUFeatures, attributes: Floats | None, labels: Integers | None, where: Path) -> TUSignals:
        """Signals fitted to a set, whose labels are in the file ``where``."""
        scaled = attributes if features.attributes == "unit_range" else None
        if labels is not None:
            check_range(labels, where)
        return cls(
            columns=0 if attributes is None else attributes.shape[1],
            low=() if scaled is None else _numbers(scaled.min(axis=0)),
            high=() if scaled is None else _numbers(scaled.max(axis=0)),
            label_low=() if labels is None else _numbers(labels.min(axis=0)),
            label_widths=() if labels is None else _numbers(np.ptp(labels, axis=0) + 1),
        )

    def refitted(self, attributes: Floats | None, labels: Integers | None) -> TUSignals:
        """Signals fitted to the training graphs alone, given their present signals."""
        raw = self.unscaled(attributes) if attributes is not None and self.low else None
        present = [] if labels is None else [np.unique(column) for column in (labels + np.asarray(self.label_low)).T]
        return replace(
            self,
            low=() if raw is None else _numbers(raw.min(axis=0)),
            high=() if raw is None else _numbers(raw.max(axis=0)),
            label_low=tuple(int(values[0]) for values in present),
            label_widths=tuple(int(values[-1] - values[0]) + 1 for values in present),
            unseen=tuple(_numbers(np.setdiff1d(self.known(c), values)) for c, values in enumerate(present)),
        )

    @property
    def widened(self) -> TUSignals:
        """The same with a column for each known label."""
        labels_of = [self.known(column) for column in range(len(self.label_low))]
        low, widths = tuple(labels.start for labels in labels_of), tuple(len(labels) for labels in labels_of)
        return replace(self, label_low=low, label_widths=widths, unseen=())

    @property
    def blocks(self) -> tuple[CategoryBlock, ...]:
        """The one-hot block of each column of labels."""
        unseen = self.unseen or ((),) * len(self.label_low)
        ranges = (range(low, low + width) for low, width in zip(self.label_low, self.label_widths, strict=True))
        return tuple(CategoryBlock("label", *block) for block in zip(ranges, unseen, strict=True))

    def known(self, column: int) -> range:
        """The known labels of a column: those in the range of its one-hot block, and the unseen ones."""
        _, labels, unseen = self.blocks[column]
        return range(min([*labels, *unseen]), max([*labels, *unseen]) + 1)

    def accepts(self, other: TUSignals) -> bool:
        """Whether signals of the other can be converted to these."""
        same_columns = self.columns == other.columns and bool(self.low) == bool(other.low)
        return same_columns and len(self.label_low) == len(other.label_low)

    def rescaled(self, attributes: Floats | None, other: TUSignals) -> tuple[Floats | None, tuple[str, ...]]:
        """Attributes converted from the other's scale to this one, and a note if some are outside [0, 1]."""
        if attributes is None or (self.low, self.high) == (other.low, other.high):
            return attributes, ()
        low, high = np.asarray(self.low, np.float32), np.asarray(self.high, np.float32)
        scaled = scale_to_unit_range(other.unscaled(attributes), low, high)
        return scaled, self.outside(scaled)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> TUSignals:
        """The signals of a feature spec; the inverse of :attr:`spec`."""
        names = ("low", "high", "label_low", "label_widths")
        unseen = tuple(tuple(labels) for labels in spec.get("unseen", ()))
        return cls(columns=spec["columns"], unseen=unseen, **{name: tuple(spec[name]) for name in names})

    @property
    def spec(self) -> dict[str, Any]:
        """The signals as a feature spec; see :mod:`bankgcn.data.features.spec`."""
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        unseen = [list(labels) for labels in plain.pop("unseen")]
        return {"kind": "tu", **plain, "unseen": unseen} if any(unseen) else {"kind": "tu", **plain}

    @property
    def features(self) -> TUFeatures:
        """The features that these signals need from the files."""
        attributes: Literal["raw", "unit_range", "none"] = "unit_range" if self.low else "raw"
        return TUFeatures(attributes=attributes if self.columns else "none", labels=bool(self.label_low))

    def scaled(self, attributes: Floats, where: Path) -> Floats:
        """The attributes of the file ``where``, scaled."""
        if attributes.shape[1] != self.columns:
            raise FileError(
                f"has {attributes.shape[1]} attributes a node, but the model was trained on {self.columns}", where, 1
            )
        if not self.low:
            return attributes
        return scale_to_unit_range(attributes, np.asarray(self.low, np.float32), np.asarray(self.high, np.float32))

    def unscaled(self, attributes: Floats) -> Floats:
        """The numbers in the files, up to rounding; the inverse of :meth:`scaled`."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        return (attributes * unit_span(low, high) + low).astype(np.float32)

    def outside(self, attributes: Floats | None) -> tuple[str, ...]:
        """A note on scaled attributes that lie outside [0, 1]."""
        if attributes is None or not self.low:
            return ()
        nodes = int(((attributes < 0) | (attributes > 1)).any(axis=1).sum())
        return (f"{nodes:,} nodes have attributes outside the range of the training graphs",) if nodes else ()

    def places(self, labels: Integers, where: Path) -> Integers:
        """Column of each label of the file ``where`` in its one-hot block, or ``UNSEEN``.

        Raises:
            FileError: A label is unknown.
        """
        if labels.shape[1] != len(self.label_low):
            raise FileError(
                f"has {labels.shape[1]} labels a node, but the model was trained on {len(self.label_low)}", where, 1
            )
        low, high = np.array([(known[0], known[-1]) for known in map(self.known, range(len(self.label_low)))]).T
        unknown = ((labels < low) | (labels > high)).any(axis=1)
        for node in np.flatnonzero(unknown)[:1]:
            column = int(np.flatnonzero((labels[node] < low) | (labels[node] > high))[0])
            others = f", nor are those of {unknown.sum() - 1:,} other nodes" if unknown.sum() > 1 else ""
            raise FileError(
                f"label {labels[node, column]} is not among those that the model was trained on, {low[column]} to "
                f"{high[column]}{others}",
                where,
                int(node) + 1,
            )
        places = labels - np.asarray(self.label_low)
        for column, unseen in enumerate(self.unseen):
            places[np.isin(labels[:, column], unseen), column] = UNSEEN
        return places


def _numbers(values: NDArray) -> tuple[Any, ...]:
    return tuple(values.tolist())


def check_range(labels: Integers, where: Path) -> None:
    """Raise an error if the labels of the file ``where`` are too far apart for a one-hot block."""
    low, high = labels.min(axis=0), labels.max(axis=0)
    for column in np.flatnonzero(high.astype(float) - low >= MAX_LABEL_RANGE)[:1]:
        line = int(np.abs(labels[:, column] - np.median(labels[:, column])).argmax()) + 1
        raise FileError(
            f"label {labels[line - 1, column]} is far from the others: labels from {low[column]} to {high[column]} "
            f"are more than the {MAX_LABEL_RANGE:,} that a one-hot may have",
            where,
            line,
        )
