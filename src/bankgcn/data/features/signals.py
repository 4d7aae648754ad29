"""Node signals: one-hot labels, scaled attributes, degrees and clustering coefficients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.batch import pointers, spans
from bankgcn.data.graphs import GraphSet

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
    attributes: NDArray[np.float32] | None, labels: NDArray[np.int64] | None, label_widths: Sequence[int]
) -> dict[str, Any]:
    """Keyword arguments of ``GraphSet.from_edges`` for signals in which some labels may be ``UNSEEN``.

    An ``UNSEEN`` label has 0 in all its columns, which a label of a set cannot express. If there is one, all one-hot
    columns are stored as attributes, after the others. The network gets the same columns; they take more memory.

    Args:
        attributes: Numbers of each node, shape ``(N, d)``.
        labels: Categories of each node, shape ``(N, c)``.
        label_widths: Number of categories of each column of labels.

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
    note = f"{unseen:,} nodes have a category that no training graph has: its one-hot columns are all 0"
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
    """The same graphs; if their nodes have no features, with :func:`structural_signals`."""
    return graphs if graphs.num_features else structural_signals(graphs)


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
