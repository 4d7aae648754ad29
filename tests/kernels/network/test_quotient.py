"""The quotient merges the nodes of each colour of the coarsest equitable partition, and acts as the full graph."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given

from bankgcn.data import GraphSet
from bankgcn.kernels.network.collate import collate
from bankgcn.kernels.network.flat_arrays import FlatArrays
from bankgcn.kernels.network.program import Operator
from bankgcn.kernels.network.quotient import MAX_ROUNDS, MIN_REDUCTION, quotient
from flat_graphs import chains, ring
from random_sets import RandomSet, graph_sets


def dense(arrays: FlatArrays, graph: int) -> tuple[np.ndarray, np.ndarray]:
    """Signals and adjacency matrix of one graph, in double precision."""
    first, last = arrays.node_ptr[graph : graph + 2]
    matrix, e = np.zeros((last - first, last - first)), arrays.edge_ptr[graph]
    for i, degree in enumerate(arrays.degree[first:last]):
        for _ in range(degree):
            matrix[i, arrays.neighbor[e]] += arrays.weight[e] if len(arrays.weight) else 1
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
def test_the_coarsest_partition_is_found_and_its_matrix_acts_as_that_of_the_graph(random: RandomSet) -> None:
    graphs = random.build()
    merged = quotient(graphs.flat)
    different = 0
    for graph in range(len(graphs)):
        signals, matrix = dense(graphs.flat, graph)
        colors = refine(signals, matrix)
        different += len(set(colors))
        if not len(merged.multiplicity):
            continue
        few_signals, few_matrix = dense(merged, graph)
        np.testing.assert_array_equal(few_signals[colors], signals)
        member = np.eye(len(few_matrix))[colors]
        np.testing.assert_allclose(matrix @ member, member @ few_matrix, rtol=1e-6, atol=1e-7)
        multiplicity = merged.multiplicity[merged.node_ptr[graph] : merged.node_ptr[graph + 1]]
        np.testing.assert_array_equal(multiplicity, member.sum(0))
    if len(merged.multiplicity):
        assert len(merged.degree) == different
    else:
        assert different >= (1 - MIN_REDUCTION) * len(graphs.degree)


def test_a_ring_is_one_node_with_a_loop() -> None:
    merged = quotient(ring(6))
    assert merged.multiplicity.tolist() == [6]
    assert merged.neighbor.tolist() == [0]
    assert merged.weight.tolist() == [2]  # each node has two neighbours
    np.testing.assert_allclose(collate(merged, np.array([0]), Operator("laplacian")).weight, [-1])


def test_sets_and_quotients_have_the_same_types_and_weights_only_where_they_differ_from_one() -> None:
    plain, weighted = ring(6), ring(6, weights=[2.0] * 6)
    assert plain.weight.shape == (0,)
    np.testing.assert_array_equal(weighted.weight, np.full(12, 2))
    for arrays in (plain, weighted, quotient(plain), quotient(weighted)):
        assert arrays.degree.dtype == arrays.neighbor.dtype == arrays.labels.dtype == np.int32
        assert arrays.weight.dtype == arrays.attributes.dtype == arrays.multiplicity.dtype == np.float32
        assert not any(array.flags.writeable for array in arrays)
    assert quotient(weighted).weight.tolist() == [4]


def test_one_label_merges_the_two_sides_of_a_ring() -> None:
    merged = quotient(ring(6, [0, 0, 1, 0, 0, 0]))
    assert merged.labels.ravel().tolist() == [0, 0, 1, 0]  # node 5, opposite node 2, is the last
    assert merged.multiplicity.tolist() == [2, 2, 1, 1]
    assert merged.degree.tolist() == [2, 2, 1, 1]


def test_weights_distinguish_nodes() -> None:
    weights = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]
    assert quotient(ring(6, weights=weights)).multiplicity.tolist() == [6]  # each node has one edge of either kind
    weights[0] = 3.0
    assert len(quotient(ring(6, weights=weights)).degree) == 3


def test_attributes_distinguish_nodes() -> None:
    pairs = np.array([[0, 1, 2, 3], [1, 0, 3, 2]])
    arrays = GraphSet.from_edges([2, 2], pairs, attributes=np.array([[1.0], [1.0], [2.0], [2.5]])).flat
    assert quotient(arrays).multiplicity.tolist() == [2, 1, 1]


def test_sets_without_equal_nodes_are_not_copied() -> None:
    arrays = ring(5, [0, 1, 2, 3, 4])
    assert quotient(arrays) is arrays
    nothing = GraphSet.from_edges([0, 0], np.zeros((2, 0), np.int64), labels=np.zeros(0, np.int64)).flat
    assert quotient(nothing) is nothing


def test_a_chain_is_merged_in_the_middle_unless_that_takes_too_many_rounds() -> None:
    assert len(quotient(chains(1, 2 * MAX_ROUNDS - 2).flat).degree) == MAX_ROUNDS - 1
    long = chains(1, 3 * MAX_ROUNDS).flat
    assert quotient(long) is long


def test_a_graph_is_coloured_once_for_all_subsets_that_hold_it() -> None:
    graphs = GraphSet.from_edges([4, 3, 2], [[0, 1, 4, 5, 7, 8], [1, 0, 5, 4, 8, 7]], labels=np.zeros(9, np.int64))
    assert graphs[[2, 0]].quotient.multiplicity.tolist() == [2, 2, 2]
    assert graphs.node_colors.num_colors.tolist() == [2, -1, 1]
    for chosen in ([0, 2], [2, 1, 2], slice(None)):
        for one, other in zip(graphs[chosen].quotient, quotient(graphs[chosen].flat), strict=True):
            np.testing.assert_array_equal(one, other)
    assert graphs.node_colors.num_colors.tolist() == [2, 2, 1]
    graphs.node_colors.color[:4] = [0, 1, 2, 3]  # as if no two nodes of graph 0 were equal
    graphs.node_colors.num_colors[0] = 4
    assert graphs[[0, 2]][[0]].quotient.degree.tolist() == [1, 1, 0, 0]
    assert graphs.with_signals(labels=np.zeros(9, np.int64))[[0]].quotient.multiplicity.tolist() == [2, 2]


def test_a_copy_of_a_subset_does_not_hold_the_colours_of_the_whole_set() -> None:
    graphs = chains(100, 50)
    assert len(graphs[:1].quotient.degree) == 25
    copied = pickle.loads(pickle.dumps(graphs[:1]))
    assert len(copied.node_colors.color) == 50
    np.testing.assert_array_equal(copied.quotient.multiplicity, graphs[:1].quotient.multiplicity)


def test_parts_of_a_small_set_are_not_merged_and_parts_of_a_large_one_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bankgcn.kernels.network.quotient.MIN_NODES", 100)
    small, large = chains(3, 30), chains(4, 30)
    assert small.quotient is small.flat
    assert len(small[:2].quotient.degree) == 60
    assert len(large[:1].quotient.degree) == 15
