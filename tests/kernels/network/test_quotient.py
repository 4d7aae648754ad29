"""Nodes that are alike are found, all of them and no others, and what remains is the same graph to a network."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given

from bankgcn.data import GraphSet
from bankgcn.kernels.network import quotient as module
from bankgcn.kernels.network.flat_arrays import FlatArrays
from bankgcn.kernels.network.quotient import ROUNDS, WORK_AT_ONCE, WORTH, _is_equitable, fold
from random_sets import RandomSet, graph_sets


def dense(arrays: FlatArrays, graph: int) -> tuple[np.ndarray, np.ndarray]:
    """Signals and shift of one graph, in double precision."""
    first, last = arrays.node_ptr[graph : graph + 2]
    matrix, e = np.zeros((last - first, last - first)), arrays.entry_ptr[graph]
    for i, degree in enumerate(arrays.degree[first:last]):
        for _ in range(degree):
            matrix[i, arrays.neighbor[e]] += arrays.shift[e]
            e += 1
    return np.concatenate([arrays.attributes[first:last], arrays.labels[first:last]], axis=1), matrix


def refine(signals: np.ndarray, matrix: np.ndarray) -> list[int]:
    """The coarsest equitable partition by Python's own comparison of sorted neighbourhoods."""
    described: list = [tuple(row) for row in signals]
    count = 0
    while True:
        number = {value: k for k, value in enumerate(dict.fromkeys(described))}
        colors = [number[value] for value in described]
        if len(number) == count:
            return colors
        count = len(number)
        rows = ([(colors[j], w) for j, w in enumerate(row) if w] for row in matrix)
        described = [(own, *sorted(row)) for own, row in zip(colors, rows, strict=True)]


@given(graph_sets(min_graphs=1))
def test_the_coarsest_partition_is_found_and_its_matrix_acts_as_the_whole(random: RandomSet) -> None:
    graphs = random.build()
    folded = fold(graphs.flat)
    different = 0
    for graph in range(len(graphs)):
        signals, matrix = dense(graphs.flat, graph)
        colors = refine(signals, matrix)
        different += len(set(colors))
        if not len(folded.alike):
            continue
        few_signals, few_matrix = dense(folded, graph)
        np.testing.assert_array_equal(few_signals[colors], signals)
        member = np.eye(len(few_matrix))[colors]
        np.testing.assert_allclose(matrix @ member, member @ few_matrix, rtol=1e-6, atol=1e-7)
        alike = folded.alike[folded.node_ptr[graph] : folded.node_ptr[graph + 1]]
        np.testing.assert_array_equal(alike, member.sum(0))
    if len(folded.alike):
        assert len(folded.degree) == different
    else:
        assert different >= (1 - WORTH) * len(graphs.degree)


def ring(size: int, labels: list[int] | None = None, weights: list[float] | None = None) -> FlatArrays:
    start = np.arange(size)
    edges = np.stack([start, (start + 1) % size])
    edge_weight = None if weights is None else np.tile(weights, 2)
    both = np.concatenate([edges, edges[::-1]], axis=1)
    return GraphSet.from_edges([size], both, labels=labels or [0] * size, edge_weight=edge_weight).flat


def test_a_ring_is_one_node_with_a_loop() -> None:
    folded = fold(ring(6))
    assert folded.alike.tolist() == [6]
    assert folded.neighbor.tolist() == [0]
    np.testing.assert_allclose(folded.shift, [-1])


def test_one_label_leaves_the_two_sides_of_a_ring_alike() -> None:
    folded = fold(ring(6, [0, 0, 1, 0, 0, 0]))
    assert folded.labels.ravel().tolist() == [0, 0, 1, 0]  # opposite of the other one is node 5, in the order of nodes
    assert folded.alike.tolist() == [2, 2, 1, 1]
    assert folded.degree.tolist() == [2, 2, 1, 1]


def test_weights_tell_nodes_apart() -> None:
    weights = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]
    assert fold(ring(6, weights=weights)).alike.tolist() == [6]  # each node has one edge of either kind
    weights[0] = 3.0
    assert len(fold(ring(6, weights=weights)).degree) == 3


def test_attributes_tell_nodes_apart() -> None:
    pairs = np.array([[0, 1, 2, 3], [1, 0, 3, 2]])
    arrays = GraphSet.from_edges([2, 2], pairs, attributes=np.array([[1.0], [1.0], [2.0], [2.5]])).flat
    assert fold(arrays).alike.tolist() == [2, 1, 1]


def test_different_nodes_are_not_copied_and_graphs_without_nodes_are_no_trouble() -> None:
    arrays = ring(5, [0, 1, 2, 3, 4])
    assert fold(arrays) is arrays
    nothing = GraphSet.from_edges([0, 0], np.zeros((2, 0), np.int64), labels=np.zeros(0, np.int64)).flat
    assert fold(nothing) is nothing


def chains(count: int, size: int) -> GraphSet:
    """Paths of equal nodes."""
    left = np.arange(count * size).reshape(count, size)[:, :-1].reshape(-1)
    edges = np.concatenate([[left, left + 1], [left + 1, left]], axis=1)
    return GraphSet.from_edges([size] * count, edges, labels=np.zeros(count * size, np.int64))


def test_a_chain_is_folded_in_the_middle_unless_that_takes_too_many_rounds() -> None:
    assert len(fold(chains(1, 2 * ROUNDS - 2).flat).degree) == ROUNDS - 1
    long = chains(1, 3 * ROUNDS).flat
    assert fold(long) is long


def test_much_work_is_done_in_several_calls_between_which_it_can_be_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []

    def watched(arrays, attribute_bits, shift_bits, graph, colors):
        calls.append(graph)
        return color(arrays, attribute_bits, shift_bits, graph, colors)

    color = module._color
    monkeypatch.setattr(module, "_color", watched)
    arrays = chains(6, 20_000).flat
    assert fold(arrays) is arrays
    rounds = ROUNDS + 1
    per_call = -(-WORK_AT_ONCE // (rounds * (3 * 20_000 - 2)))  # graphs until that much work is done
    assert calls == list(range(0, 6, per_call))
    assert len(calls) > 1


def test_a_graph_is_coloured_once_for_all_subsets_that_hold_it() -> None:
    graphs = GraphSet.from_edges([4, 3, 2], [[0, 1, 4, 5, 7, 8], [1, 0, 5, 4, 8, 7]], labels=np.zeros(9, np.int64))
    assert graphs[[2, 0]].arrays.alike.tolist() == [2, 2, 2]
    assert graphs.node_colors.num_colors.tolist() == [2, -1, 1]
    for chosen in ([0, 2], [2, 1, 2], slice(None)):
        for one, other in zip(graphs[chosen].arrays, fold(graphs[chosen].flat), strict=True):
            np.testing.assert_array_equal(one, other)
    assert graphs.node_colors.num_colors.tolist() == [2, 2, 1]
    graphs.node_colors.color[:4] = [0, 1, 2, 3]  # as if graph 0 had been found to have no nodes that are alike
    graphs.node_colors.num_colors[0] = 4
    assert graphs[[0, 2]][[0]].arrays.degree.tolist() == [1, 1, 0, 0]
    assert graphs.with_signals(labels=np.zeros(9, np.int64))[[0]].arrays.alike.tolist() == [2, 2]


def test_a_copy_of_a_subset_does_not_hold_the_colours_of_the_whole_set() -> None:
    graphs = chains(100, 50)
    assert len(graphs[:1].arrays.degree) == 25
    copied = pickle.loads(pickle.dumps(graphs[:1]))
    assert len(copied.node_colors.color) == 50
    np.testing.assert_array_equal(copied.arrays.alike, graphs[:1].arrays.alike)


@pytest.mark.parametrize(
    ("labels", "colors", "expected"),
    [
        ([0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], True),
        ([0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 0, 1], True),
        ([0, 1, 0, 1, 0, 1], [0, 0, 0, 0, 0, 0], False),
        ([0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 1, 1], True),
        ([0, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1], False),
    ],
)
def test_a_partition_by_chance_would_be_noticed(labels: list[int], colors: list[int], expected: bool) -> None:
    arrays, sums = ring(6, labels), np.zeros(6)
    rowptr = np.arange(0, 14, 2)
    assert _is_equitable(arrays, 0, rowptr, np.array(colors), np.empty(2, np.int64), sums) is expected
    assert not sums.any()
