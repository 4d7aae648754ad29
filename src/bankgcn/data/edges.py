"""From the edge list of many graphs to flat edges in CSR order: checked, merged, symmetric and normalised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bankgcn.data import GraphError
from bankgcn.data.batch import pointers
from bankgcn.messages import Message, advise

EDGES_AT_ONCE = 1 << 18  # one piece is sorted in the cache, with little additional memory
TOLERANCE = 3e-4  # between the two directions of an edge: sums of duplicates are rounded; as in GraphShift


@dataclass(frozen=True)
class FlatEdges:
    """The directed edges of all graphs, sorted by graph, row and column; no self-loops, no duplicates."""

    edge_ptr: NDArray[np.int64]  # (G + 1,): where the edges of each graph start
    degree: NDArray[np.unsignedinteger]  # (N,): number of neighbours of each node
    neighbor: NDArray[np.unsignedinteger]  # (E,): target node of each edge, numbered within its graph
    shift: NDArray[np.float32]  # (E,): entry of L~
    weight: NDArray[np.float32] | None  # (E,): weight of each edge; None if all are 1
    labels: NDArray[np.unsignedinteger] | None  # (E, c)
    attributes: NDArray[np.float32] | None  # (E, m)
    notes: tuple[str, ...]  # what was changed


@dataclass
class _Edges:
    """Some edges of the list: their two nodes, numbered from 0, weights, labels and attributes."""

    row: NDArray[np.int64]
    col: NDArray[np.int64]
    weight: NDArray[np.float32]
    labels: NDArray[np.unsignedinteger] | None
    attributes: NDArray[np.float32] | None

    def __getitem__(self, chosen: NDArray | slice) -> _Edges:
        labels = None if self.labels is None else self.labels[chosen]
        attributes = None if self.attributes is None else self.attributes[chosen]
        return _Edges(self.row[chosen], self.col[chosen], self.weight[chosen], labels, attributes)


@dataclass
class _Counts:
    """Numbers of directed edges that were changed."""

    loops: int = 0
    duplicates: int = 0
    alone: int = 0
    unequal: int = 0
    other_features: int = 0
    averaged: int = 0

    def notes(self) -> tuple[str, ...]:
        counts = {
            f"{self.loops:,} self-loops removed": self.loops,
            f"{self.duplicates:,} duplicate edges merged by adding their weights": self.duplicates,
            f"{self.other_features:,} of them had other features, of which the first were kept": self.other_features,
            f"symmetrised: {self.alone:,} edges had no reverse": self.alone,
            f"symmetrised: {self.unequal:,} edges weighed less than their reverse and took its weight": self.unequal,
            f"symmetrised: {self.averaged:,} edges got the mean of their attributes and those of their reverse": (
                self.averaged
            ),
        }
        return tuple(note for note, count in counts.items() if count)


def flatten_edges(
    node_ptr: NDArray[np.int64],
    edge_index: NDArray[np.integer],
    weight: NDArray[np.float32] | None,
    labels: NDArray[np.unsignedinteger] | None,
    attributes: NDArray[np.float32] | None,
    symmetrise: bool,
) -> FlatEdges:
    """Check, sort, merge and normalise the edges of all graphs, about ``EDGES_AT_ONCE`` at a time.

    Args:
        node_ptr: Where the nodes of each graph start, shape ``(G + 1,)``.
        edge_index: Node numbers over the whole set, shape ``(2, E)``, in any order.
        weight: Weight of each edge; ``None`` means 1.
        labels: Integers of each edge, shape ``(E, c)``. Merged edges keep the labels of the first.
        attributes: Numbers of each edge, shape ``(E, m)``. Merged edges keep those of the first.
        symmetrise: Whether to give both directions of an edge the larger weight of the two and the mean of their
            attributes; else an edge whose reverse is missing or has another weight is an error. Labels stay as they
            are.
    """
    edges_per_graph, order = _group_by_graph(node_ptr, edge_index)
    counts = _Counts()
    neighbor_type = np.min_scalar_type(max(int(np.diff(node_ptr).max(initial=0)) - 1, 0))
    pieces: list[FlatEdges] = []
    first_edge = 0
    for first, last in _pieces(edges_per_graph):
        end = first_edge + int(edges_per_graph[first:last].sum())
        chosen = slice(first_edge, end) if order is None else order[first_edge:end]
        edges = _Edges(
            edge_index[0, chosen].astype(np.int64) - node_ptr[first],
            edge_index[1, chosen].astype(np.int64) - node_ptr[first],
            np.ones(end - first_edge, np.float32) if weight is None else weight[chosen],
            None if labels is None else labels[chosen],
            None if attributes is None else attributes[chosen],
        )
        pieces.append(_flatten_piece(edges, node_ptr[first : last + 1], first, symmetrise, counts, neighbor_type))
        first_edge = end
    return _join(pieces, counts.notes())


def normalized_shift(
    row: NDArray[np.int64], col: NDArray[np.int64], weight: NDArray[np.float32], num_nodes: int
) -> NDArray[np.float32]:
    """The entries of the shift for edges that are symmetric, without self-loops and duplicates."""
    import torch  # here, because processes that only read graphs do without it

    from bankgcn.spectral.shift import normalize

    rows, weights = torch.from_numpy(row), torch.from_numpy(weight)
    degree = weights.new_zeros(num_nodes).index_add(0, rows, weights)
    return normalize(rows, torch.from_numpy(col), weights, degree).numpy()


def _group_by_graph(
    node_ptr: NDArray[np.int64], edge_index: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Number of edges in each graph, and the order that groups them by graph, if they are not grouped already."""
    num_graphs, num_nodes = len(node_ptr) - 1, int(node_ptr[-1])
    graph_of = np.repeat(np.arange(num_graphs, dtype=np.int32), np.diff(node_ptr))
    edges_per_graph = np.zeros(num_graphs, np.int64)
    grouped, previous = True, 0
    for start in range(0, edge_index.shape[1], EDGES_AT_ONCE):
        row, col = edge_index[:, start : start + EDGES_AT_ONCE]
        for edge in np.flatnonzero((row < 0) | (row >= num_nodes) | (col < 0) | (col >= num_nodes))[:1]:
            raise GraphError(
                f"edge {start + edge} is ({row[edge]}, {col[edge]}), but the nodes are numbered 0 to {num_nodes - 1}"
            )
        graph = graph_of[row]
        for edge in np.flatnonzero(graph != graph_of[col])[:1]:
            raise GraphError(
                f"edge {start + edge} is ({row[edge]}, {col[edge]}): it joins graph {graph[edge]} "
                f"to graph {graph_of[col[edge]]}"
            )
        grouped = grouped and previous <= graph[0] and bool((graph[1:] >= graph[:-1]).all())
        previous = graph[-1]
        edges_per_graph += np.bincount(graph, minlength=num_graphs)
    return edges_per_graph, None if grouped else np.argsort(graph_of[edge_index[0]], kind="stable")


def _pieces(edges_per_graph: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of graphs with about ``EDGES_AT_ONCE`` edges each."""
    piece = np.cumsum(edges_per_graph) // EDGES_AT_ONCE
    bounds = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), len(edges_per_graph)]
    yield from pairwise(bounds)


def _flatten_piece(
    edges: _Edges,
    node_ptr: NDArray[np.int64],
    first_graph: int,
    symmetrise: bool,
    counts: _Counts,
    neighbor_type: np.dtype,
) -> FlatEdges:
    node_ptr = node_ptr - node_ptr[0]
    num_nodes = int(node_ptr[-1])
    proper = edges.row != edges.col
    if not proper.all():
        counts.loops += int(np.count_nonzero(~proper))
        edges = edges[proper]
    edges = _merge(edges, num_nodes, counts)
    if symmetrise:
        edges = _symmetrise(edges, num_nodes, counts)
    else:
        _match_reverses(edges, node_ptr, first_graph)
    _check_degrees(edges, node_ptr, first_graph)

    degree = np.bincount(edges.row, minlength=num_nodes)
    edge_ptr = pointers(degree)[node_ptr]
    first_node = np.repeat(node_ptr[:-1], np.diff(edge_ptr))
    return FlatEdges(
        edge_ptr,
        degree.astype(np.uint32),
        (edges.col - first_node).astype(neighbor_type),
        normalized_shift(edges.row, edges.col, edges.weight, num_nodes),
        None if (edges.weight == 1).all() else edges.weight,
        edges.labels,
        edges.attributes,
        notes=(),
    )


def _merge(edges: _Edges, num_nodes: int, counts: _Counts) -> _Edges:
    """Edges sorted by row, then column, with the weights of duplicates added."""
    key = edges.row * num_nodes + edges.col
    if not (key[1:] > key[:-1]).all():
        order = np.argsort(key, kind="stable")
        key, edges = key[order], edges[order]
    new = np.append(True, key[1:] != key[:-1])[: len(key)]
    if new.all():
        return edges
    counts.duplicates += int(np.count_nonzero(~new))
    merged, number = edges[new], np.cumsum(new) - 1
    for features, kept in ((edges.labels, merged.labels), (edges.attributes, merged.attributes)):
        if features is not None and kept is not None:
            counts.other_features += int(np.count_nonzero((features != kept[number]).any(1)))
    import torch

    place = torch.from_numpy(number)
    merged.weight = (
        torch.zeros(len(merged.row), dtype=torch.float32).index_add(0, place, torch.from_numpy(edges.weight)).numpy()
    )
    return merged


def _match_reverses(edges: _Edges, node_ptr: NDArray[np.int64], first_graph: int) -> None:
    """Raise an error if an edge has no reverse or one of another weight; then make both weights exactly equal."""
    num_nodes = int(node_ptr[-1])
    key, mirrored = edges.row * num_nodes + edges.col, edges.col * num_nodes + edges.row
    reverse = np.argsort(mirrored, kind="stable")
    if not np.array_equal(key, mirrored[reverse]):
        wrong = ~np.isin(mirrored, key)
    else:
        wrong = ~np.isclose(edges.weight, edges.weight[reverse], rtol=TOLERANCE, atol=0)
    for edge in np.flatnonzero(wrong)[:1]:
        raise GraphError(_asymmetry(edges, edge, node_ptr, first_graph))
    # Sums of duplicates in different order may differ by rounding.
    edges.weight = np.maximum(edges.weight, edges.weight[reverse])


def _check_degrees(edges: _Edges, node_ptr: NDArray[np.int64], first_graph: int) -> None:
    """Raise an error if the weights of a node add up to infinity in float32: D^-1/2 would be 0."""
    degree = np.bincount(edges.row, edges.weight, minlength=int(node_ptr[-1]))  # in float64
    for node in np.flatnonzero(degree > np.finfo(np.float32).max)[:1]:
        piece = int(np.searchsorted(node_ptr, node, side="right")) - 1
        raise GraphError(
            f"graph {first_graph + piece}: the weights of node {node - node_ptr[piece]} add up to more than float32 "
            "holds: divide all weights by the same number, which does not change the shift"
        )


def _asymmetry(edges: _Edges, edge: int, node_ptr: NDArray[np.int64], first_graph: int) -> str:
    row, col = int(edges.row[edge]), int(edges.col[edge])
    piece = int(np.searchsorted(node_ptr, row, side="right")) - 1
    i, j = row - int(node_ptr[piece]), col - int(node_ptr[piece])
    reverse = np.flatnonzero((edges.row == col) & (edges.col == row))
    if len(reverse):
        what = f"edge ({i}, {j}) weighs {edges.weight[edge]}, its reverse ({j}, {i}) {edges.weight[reverse[0]]}"
    else:
        what = f"edge ({i}, {j}) has no reverse ({j}, {i})"
    advice = [advise("symmetrise", True, "makes graphs undirected")]
    return Message("graph {number}: {what}", number=first_graph + piece, what=what, advice=advice)


def _symmetrise(edges: _Edges, num_nodes: int, counts: _Counts) -> _Edges:
    """Both directions of every edge, with the larger weight and the mean attributes of the two."""
    if not len(edges.row):
        return edges
    twice = edges[np.tile(np.arange(len(edges.row)), 2)]
    twice.row, twice.col = np.concatenate([edges.row, edges.col]), np.concatenate([edges.col, edges.row])
    key = twice.row * num_nodes + twice.col
    order = np.argsort(key, kind="stable")  # stable: an edge comes before the mirror image of its reverse
    key = key[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    symmetric = twice[order[first]]
    own_weight = symmetric.weight
    symmetric.weight = np.maximum.reduceat(twice.weight[order], first)
    if symmetric.attributes is not None and twice.attributes is not None:
        both = np.add.reduceat(twice.attributes[order].astype(np.float64), first)
        mean = (both / np.diff(np.append(first, len(key)))[:, None]).astype(np.float32)
        counts.averaged += int(np.count_nonzero((mean != symmetric.attributes).any(1)))
        symmetric.attributes = mean
    counts.alone += len(first) - len(edges.row)
    counts.unequal += int(np.count_nonzero(~np.isclose(own_weight, symmetric.weight, rtol=TOLERANCE, atol=0)))
    return symmetric


def _join(pieces: list[FlatEdges], notes: tuple[str, ...]) -> FlatEdges:
    """All pieces joined, integers in the smallest type that holds them."""
    degree = np.concatenate([piece.degree for piece in pieces])
    labels = [piece.labels for piece in pieces if piece.labels is not None]
    attributes = [piece.attributes for piece in pieces if piece.attributes is not None]
    return FlatEdges(
        pointers(np.concatenate([np.diff(piece.edge_ptr) for piece in pieces])),
        degree.astype(np.min_scalar_type(degree.max(initial=0))),
        np.concatenate([piece.neighbor for piece in pieces]),
        np.concatenate([piece.shift for piece in pieces]),
        _join_weights(pieces),
        np.concatenate(labels) if labels else None,
        np.concatenate(attributes) if attributes else None,
        notes,
    )


def _join_weights(pieces: list[FlatEdges]) -> NDArray[np.float32] | None:
    if all(piece.weight is None for piece in pieces):
        return None
    return np.concatenate([np.ones_like(piece.shift) if piece.weight is None else piece.weight for piece in pieces])
