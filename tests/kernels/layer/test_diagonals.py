"""The compiled sums over rows equal those of the plain twin, for graphs of all sizes, in any order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankgcn import GraphSet
from bankgcn.data.features.encodings import COLUMNS_AT_ONCE, chebyshev_diagonals
from bankgcn.kernels import use_kernels
from bankgcn.kernels.layer.diagonals import WIDTH


def graphs_of(sizes: list[int], weighted: bool, seed: int) -> GraphSet:
    random, pairs, first = np.random.default_rng(seed), [], 0
    for size in sizes:
        i, j = np.triu_indices(size, 1)
        kept = random.random(len(i)) < 0.2
        pairs.append(np.stack([i[kept], j[kept]]) + first)
        first += size
    edges = np.concatenate(pairs, axis=1)
    weight = np.tile(random.uniform(0.1, 5, edges.shape[1]), 2) if weighted else None
    return GraphSet.from_edges(sizes, np.concatenate([edges, edges[::-1]], axis=1), edge_weight=weight)


@given(
    sizes=st.lists(st.sampled_from([0, 1, 2, 9, 31, 32, 33, 70]), min_size=1, max_size=4),
    weighted=st.booleans(),
    degree=st.integers(0, 9),
    seed=st.integers(0, 99),
)
def test_fused_equals_plain(sizes: list[int], weighted: bool, degree: int, seed: int) -> None:
    graphs = graphs_of(sizes, weighted, seed)
    with use_kernels(True):
        fused = chebyshev_diagonals(graphs, degree)
    with use_kernels(False):
        plain = chebyshev_diagonals(graphs, degree)
    assert fused.shape == plain.shape == (sum(sizes), degree + 1)
    np.testing.assert_allclose(fused, plain, rtol=0, atol=1e-13)


def test_diagonals_are_those_of_dense_matrices() -> None:
    graphs = graphs_of([45], True, 1)
    shift = graphs.batch().shift.to_dense().double().numpy()
    before, now = np.eye(45), shift
    expected = [np.diag(before), np.diag(now)]
    for _ in range(2, 12):
        before, now = now, 2 * shift @ now - before
        expected.append(np.diag(now))
    np.testing.assert_allclose(chebyshev_diagonals(graphs, 11).T, expected, atol=1e-5)  # the set has float32


@pytest.mark.parametrize("degree", [0, 1, 5])
def test_nodes_without_edges_have_the_frequency_1(degree: int) -> None:
    graphs = GraphSet.from_edges([3], np.zeros((2, 0), int))
    expected = np.cos(np.arange(degree + 1) * np.pi / 2)  # T_k(0)
    np.testing.assert_allclose(chebyshev_diagonals(graphs, degree), np.tile(expected, (3, 1)), atol=1e-15)


def test_both_take_as_many_columns_at_once() -> None:
    assert WIDTH == COLUMNS_AT_ONCE
