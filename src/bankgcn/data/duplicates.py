"""Equal graphs in a set: find them, keep them in one part of a split, or merge them.

Two molecules are equal if they have the same canonical SMILES. Other graphs are equal if colour refinement cannot tell
them apart: then no message-passing network can, whatever its weights. Features of edges count if the network uses them.
Features of a graph beside it, such as a temperature, do not count for the split: a molecule measured twice stays in one
part. Merging, which would mix them, tells such graphs apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bankgcn.data import GraphError
from bankgcn.data.batch import pointers
from bankgcn.data.graphs import GraphSet
from bankgcn.data.splits import PARTS, Split
from bankgcn.data.standardize import is_standardized, molecule_of

MAX_ROUNDS = 128  # a chain of equal nodes needs half as many rounds as it has nodes
NODES_AT_ONCE = 2**20
UNDECIDED = "equal graphs have contradictory classes"
CACHED_MOLECULES = 2**17  # runs that follow each other read the same molecules
_EARLIER = (("test", "test", "a training or validation graph"), ("valid", "validation", "a training graph"))
_ODD = np.uint64(0x9E3779B97F4A7C15)


def graph_hashes(graphs: GraphSet, edges: bool = False) -> NDArray[np.uint64]:
    """A hash of each graph, shape ``(G,)``: equal graphs have equal hashes, whatever the order of their nodes.

    Args:
        graphs: The graphs.
        edges: Whether graphs that differ in the features of their edges are different, because a network uses them.
    """
    if graphs.feature_spec.get("kind") == "atoms" and graphs.names is not None:
        standardize = is_standardized(graphs.feature_spec)
        return np.array([_molecule_hash(name, standardize) for name in graphs.names], np.uint64)
    blocks = [_refined_hashes(graphs[first:last], edges) for first, last in _blocks(graphs.node_ptr)]
    return np.concatenate([np.empty(0, np.uint64), *blocks])


def first_equals(graphs: GraphSet, edges: bool = False, with_features: bool = False) -> NDArray[np.int64]:
    """The number of the first graph that each graph is equal to: its own, if no earlier one is; shape ``(G,)``.

    Args:
        graphs: The graphs.
        edges: Whether the features of edges count.
        with_features: Whether graphs with different features of their own, such as a temperature, are different.
    """
    key: NDArray = graph_hashes(graphs, edges)
    if with_features and graphs.graph_features is not None:
        rows = np.unique(np.nan_to_num(graphs.graph_features), axis=0, return_inverse=True)[1].reshape(-1)
        key = np.unique(np.stack([key, rows.astype(np.uint64)]), axis=1, return_inverse=True)[1].reshape(-1)
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    return first[group]


@dataclass(frozen=True)
class Duplicates:
    """The equal graphs of a set.

    Args:
        first: The number of the first graph that each graph is equal to, shape ``(G,)``.
        contradictory: Number of groups of equal graphs whose targets differ.
    """

    first: NDArray[np.int64]
    contradictory: int

    @classmethod
    def of(cls, graphs: GraphSet, edges: bool = False, with_features: bool = False) -> Duplicates:
        """Find the equal graphs of a set; see :func:`first_equals`.

        Targets that features of the graphs may explain are no contradiction.
        """
        first = same = first_equals(graphs, edges, with_features)
        if graphs.graph_features is not None and not with_features:
            same = first_equals(graphs, edges, with_features=True)
        return cls(first, 0 if graphs.y is None else _count_contradictions(graphs.y, same))

    @property
    def distinct(self) -> NDArray[np.int64]:
        """Numbers of the graphs without an earlier equal one."""
        return np.flatnonzero(self.first == np.arange(len(self.first)))

    @property
    def repeated(self) -> int:
        """Number of graphs that are equal to an earlier one."""
        return len(self.first) - len(self.distinct)

    def spread(self, split: Split) -> Split:
        """The split of all graphs in which each is in the part of the first one that it is equal to.

        Args:
            split: A split of the distinct graphs, numbered among themselves.
        """
        part = np.full(len(self.first), -1)
        for number, name in enumerate(PARTS):
            part[self.distinct[getattr(split, name)]] = number
        return Split(*(np.flatnonzero(part[self.first] == number) for number in range(len(PARTS))))

    def seen(self, split: Split, part: str) -> NDArray[np.bool_]:
        """Which graphs of a part, ``"valid"`` or ``"test"``, are equal to one of an earlier part."""
        earlier = np.concatenate([getattr(split, name) for name in PARTS[: PARTS.index(part)]])
        return np.isin(self.first[getattr(split, part)], self.first[earlier])

    def summary(self) -> str:
        """How many graphs are equal to an earlier one, and how many groups have different targets; may be empty."""
        if not self.repeated:
            return ""
        one = self.repeated == 1
        total = f"{self.repeated:,} of {len(self.first):,} graphs {'is' if one else 'are'} equal to an earlier one"
        groups = len(np.unique(self.first[self.first != np.arange(len(self.first))]))
        what = "group" if groups == 1 else "groups"
        return f"{total}; {self.contradictory:,} of {groups:,} {what} of equal graphs have different targets"


def seen_notes(duplicates: Duplicates, split: Split) -> tuple[str, ...]:
    """What to say of a split that has equal graphs on both sides."""
    notes = []
    for part, name, others in _EARLIER:
        seen = int(duplicates.seen(split, part).sum())
        if seen:
            total = len(getattr(split, part))
            notes.append(f"{seen:,} of {total:,} {name} graphs are equal to {others}: the {name} score flatters")
    return tuple(notes)


def merge_duplicates(graphs: GraphSet, edges: bool = False) -> GraphSet:
    """The distinct graphs of a set. Equal ones become the first of them, with the targets that they agree on.

    A value becomes the mean of the known values. A class, or a label, becomes that of the majority. If no class has a
    majority, the graphs are left out; a label without a majority becomes unknown. The notes count all this, and the
    rows that are left out are listed as skipped.

    Args:
        graphs: The graphs.
        edges: Whether the features of edges count.

    Raises:
        GraphError: No graph is left.
    """
    duplicates = Duplicates.of(graphs, edges, with_features=True)
    if not duplicates.repeated:
        return graphs
    if graphs.y is None:
        kept, y, undecided = duplicates.distinct, None, 0
    else:
        y, decided = _merged_targets(graphs, duplicates)
        kept, y, undecided = duplicates.distinct[decided], y[decided], int((~decided).sum())
    if not len(kept):
        raise GraphError(f"{graphs.name or 'the set'}: equal graphs have contradictory targets, so that none is left")
    notes = [f"{duplicates.summary()}; equal graphs are merged, and {len(kept):,} are left"]
    if undecided:
        notes.append(f"{undecided:,} groups of equal graphs are left out: no class has a majority")
    merged = graphs[kept]
    return replace(merged, y=y, notes=(*graphs.notes, *notes), skipped=_merged_rows(graphs, duplicates, kept))


def _merged_rows(graphs: GraphSet, duplicates: Duplicates, kept: NDArray[np.int64]) -> tuple[tuple[int, str], ...]:
    """The rows of the source without a graph of their own, and why."""
    rows = graphs.rows
    is_kept = np.zeros(len(graphs), np.bool_)
    is_kept[kept] = True
    reasons = [
        (int(rows[graph]), f"merged with the equal graph of row {rows[first] + 1}" if is_kept[first] else UNDECIDED)
        for graph, first in enumerate(duplicates.first.tolist())
        if not is_kept[graph]
    ]
    return tuple(sorted([*graphs.skipped, *reasons]))


def _merged_targets(graphs: GraphSet, duplicates: Duplicates) -> tuple[NDArray, NDArray[np.bool_]]:
    """The target of each distinct graph, and whether its equals agree on one."""
    assert graphs.y is not None
    y, group = graphs.y, np.searchsorted(duplicates.distinct, duplicates.first)
    merge = _vote if graphs.classes else _vote_label if _are_labels(y) else _mean_value
    merged = y[duplicates.distinct].copy()
    decided = np.ones(len(merged), np.bool_)
    order = np.argsort(group, kind="stable")
    for number, members in enumerate(np.split(order, np.cumsum(np.bincount(group))[:-1])):
        if len(members) > 1:
            target = _merged_target(y[members], merge)
            decided[number] = not (np.isnan(target).all() if y.dtype.kind == "f" else target < 0)
            merged[number] = target
    return merged, decided


def _merged_target(y: NDArray, merge: Callable[[NDArray], float]) -> NDArray:
    """The common target of equal graphs, for each column."""
    return np.array(merge(y) if y.ndim == 1 else [merge(column) for column in y.T])


def _vote(classes: NDArray) -> float:
    """The class of the majority; -1 if there is none."""
    values, counts = np.unique(classes, return_counts=True)
    winners = values[counts == counts.max()]
    return int(winners[0]) if len(winners) == 1 else -1


def _vote_label(labels: NDArray) -> float:
    """The answer of the majority of the known ones; NaN if there is none."""
    known = labels[~np.isnan(labels)]
    return np.nan if not len(known) or known.mean() == 0.5 else float(known.mean() > 0.5)


def _mean_value(values: NDArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean(dtype=np.float64)) if len(known) else np.nan


def _are_labels(y: NDArray) -> bool:
    """Whether targets are several yes/no labels, as :func:`bankgcn.tasks.kind_of` sees them."""
    return y.ndim == 2 and y.shape[1] > 1 and bool(np.isin(y[~np.isnan(y)], (0, 1)).all())


def _count_contradictions(y: NDArray, first: NDArray[np.int64]) -> int:
    """Number of groups in which the known targets of a column differ."""
    if not len(y):
        return 0
    columns = y.reshape(len(y), -1).astype(np.float64)
    low, high = np.full_like(columns, np.inf), np.full_like(columns, -np.inf)
    np.fmin.at(low, first, columns)
    np.fmax.at(high, first, columns)
    return int((low < high).any(axis=1).sum())


@lru_cache(CACHED_MOLECULES)
def _molecule_hash(smiles: str, standardize: bool) -> int:
    return int.from_bytes(sha256(_canonical(smiles, standardize).encode()).digest()[:8])


def _canonical(smiles: str, standardize: bool) -> str:
    """The canonical SMILES of a molecule, standardised if the graphs are: two salts of one acid are equal then."""
    from rdkit.Chem import MolToSmiles

    molecule = molecule_of(smiles, standardize)
    return smiles if molecule is None else MolToSmiles(molecule)


def _blocks(node_ptr: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Ranges of graphs with about ``NODES_AT_ONCE`` nodes each, so that memory does not grow with the set."""
    bounds = np.searchsorted(node_ptr, np.arange(0, node_ptr[-1], NODES_AT_ONCE))
    edges = [0, *np.unique(bounds).tolist(), len(node_ptr) - 1]
    return [(first, last) for first, last in pairwise(edges) if first < last]


def _refined_hashes(graphs: GraphSet, edges: bool) -> NDArray[np.uint64]:
    """A hash of each graph by colour refinement.

    A graph is done when a round finds no more colours than the one before. One round after its partition is stable, the
    multiset of its colours says all that further rounds could say.
    """
    hashes, active = np.empty(len(graphs), np.uint64), np.arange(len(graphs))
    colors, counts, rounds = _hash_signals(graphs), np.zeros(len(graphs), np.int64), 0
    kinds = _hash_edge_features(graphs) if edges and graphs.num_edge_features else None
    while len(active):
        before, counts = counts, _count_colors(colors, graphs.node_ptr)
        done = (counts == before) | (rounds == MAX_ROUNDS)
        if done.any():
            ends = _graph_sums(_mix(colors), graphs.node_ptr)
            sizes = graphs.num_nodes.astype(np.uint64)
            hashes[active[done]] = _mix(ends + _mix(sizes * _ODD + np.uint64(rounds)))[done]
            kept = np.flatnonzero(~done)
            colors = colors[np.repeat(~done, graphs.num_nodes)]
            kinds = None if kinds is None else kinds[np.repeat(~done, graphs.num_directed_edges)]
            active, counts, graphs = active[kept], counts[kept], graphs[kept]
        colors, rounds = _hash_neighborhoods(graphs, colors, kinds), rounds + 1
    return hashes


def _hash_signals(graphs: GraphSet) -> NDArray[np.uint64]:
    """A hash of each node's signal."""
    own = _hash_rows(len(graphs.degree), graphs.attributes, graphs.labels, graphs.label_widths)
    return own if graphs.encodings is None else _mix(own + _hash_rows(len(own), graphs.encodings, None, ()))


def _hash_edge_features(graphs: GraphSet) -> NDArray[np.uint64]:
    """A hash of the features of each directed edge."""
    return _hash_rows(len(graphs.neighbor), graphs.edge_attributes, graphs.edge_labels, graphs.edge_label_widths)


def _hash_rows(
    count: int,
    attributes: NDArray[np.float32] | None,
    labels: NDArray[np.unsignedinteger] | None,
    label_widths: tuple[int, ...],
) -> NDArray[np.uint64]:
    """A hash of each row, the same whether one-hot columns are stored as labels or as attributes."""
    value, start = np.zeros(count, np.uint64), 0
    one = np.float32(1).view(np.uint32).astype(np.uint64)
    if attributes is not None:
        start = attributes.shape[1]
        for place, column in enumerate(attributes.T):
            bits = np.ascontiguousarray(column, np.float32).view(np.uint32).astype(np.uint64)
            value += np.where(column == 0, np.uint64(0), _mix(_place(place) + bits))
    for place, width in enumerate(label_widths):
        assert labels is not None
        column = labels[:, place].astype(np.uint64) + np.uint64(start)
        value += _mix((column + np.uint64(1)) * _ODD + one)
        start += width
    return _mix(value)


def _place(column: int) -> np.uint64:
    """A number for a column of the signals; Python's own, because NumPy warns if a single number overflows."""
    return np.uint64((column + 1) * int(_ODD) % 2**64)


def _hash_neighborhoods(
    graphs: GraphSet, colors: NDArray[np.uint64], kinds: NDArray[np.uint64] | None
) -> NDArray[np.uint64]:
    """A hash of each node's colour and of its neighbours' colours, edge weights and, if given, features of edges."""
    source_graph = np.repeat(graphs.node_ptr[:-1], graphs.num_directed_edges)
    around = colors[source_graph + graphs.neighbor]
    if graphs.edge_weight is not None:
        around = around + _mix(graphs.edge_weight.view(np.uint32).astype(np.uint64) + _ODD)
    if kinds is not None:
        around = _mix(around) + kinds
    return _mix(colors * _ODD + _graph_sums(_mix(around), pointers(graphs.degree.astype(np.int64))))


def _graph_sums(values: NDArray[np.uint64], ptr: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Sum of each graph's or node's values, modulo 2^64."""
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    return total[ptr[1:]] - total[ptr[:-1]]


def _count_colors(colors: NDArray[np.uint64], node_ptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of different colours in each graph."""
    graph = np.repeat(np.arange(len(node_ptr) - 1), np.diff(node_ptr))
    order = np.lexsort((colors, graph))
    sorted_colors, sorted_graph = colors[order], graph[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (sorted_colors[1:] != sorted_colors[:-1]) | (sorted_graph[1:] != sorted_graph[:-1])
    return np.bincount(sorted_graph[new], minlength=len(node_ptr) - 1)


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A permutation of the 64-bit numbers that spreads every bit (the finaliser of SplitMix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
