"""Signals from labels, attributes and structure."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.data import GraphSet
from bankgcn.data.convert import from_networkx, to_networkx
from bankgcn.data.features import signals
from bankgcn.data.features.signals import (
    clustering_coefficient,
    labels_from_range,
    scale_to_unit_range,
    structural_signals,
)
from random_sets import RandomSet, graph_sets
from refusals import refused


def test_labels_keep_the_gaps_of_their_range() -> None:
    labels, widths = labels_from_range(np.array([1, 89, 4]))  # as DD's, of which some in between do not occur
    assert widths == (89,)
    assert labels.ravel().tolist() == [0, 88, 3]


def test_every_column_of_labels_has_its_own_range() -> None:
    labels, widths = labels_from_range(np.array([[-1, 5], [1, 5]]))
    assert widths == (3, 1)
    assert labels.tolist() == [[0, 0], [2, 0]]


def test_no_labels_have_a_width_still() -> None:
    assert labels_from_range(np.zeros((0, 2), np.int64))[1] == (1, 1)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1, 1)), min_size=1))
def test_scaling_reaches_from_0_to_1_and_keeps_the_order(rows: list[tuple[float, float]]) -> None:
    values = np.array(rows)
    scaled = scale_to_unit_range(values)
    assert scaled.min() >= 0
    assert scaled.max() <= 1
    for before, after in zip(values.T, scaled.T, strict=True):
        assert (after.min(), after.max()) == ((0, 1) if before.max() > before.min() else (0, 0))
        assert (np.diff(after[np.argsort(before)]) >= 0).all()


def test_a_constant_column_becomes_0() -> None:
    assert scale_to_unit_range(np.array([[7.0], [7.0]])).tolist() == [[0], [0]]


@given(graph_sets(min_graphs=1))
def test_clustering_is_that_of_networkx(drawn: RandomSet) -> None:
    graphs = drawn.build()
    expected = [nx.clustering(graph)[node] for graph in to_networkx(graphs) for node in graph]
    np.testing.assert_allclose(clustering_coefficient(graphs), expected, rtol=1e-6)


def test_clustering_of_dense_graphs_does_not_depend_on_the_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [nx.gnp_random_graph(20, share, seed=3) for share in (0.2, 0.5, 1.0)] + [
        nx.star_graph(30),
        nx.empty_graph(2),
    ]
    graphs = from_networkx(made)
    expected = [nx.clustering(graph)[node] for graph in made for node in graph]
    monkeypatch.setattr(signals, "PATHS_AT_ONCE", 7)
    monkeypatch.setattr(signals, "GRAPHS_AT_ONCE", 2)
    np.testing.assert_allclose(clustering_coefficient(graphs), expected, rtol=1e-6)


def test_structure_as_signals_is_clustering_and_one_hot_degree() -> None:
    triangle_with_tail = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)])
    graphs = structural_signals(from_networkx([triangle_with_tail]))
    assert graphs.signals().tolist() == [
        [1, 0, 0, 1, 0],
        [1, 0, 0, 1, 0],
        [np.float32(1 / 3), 0, 0, 0, 1],
        [0, 0, 1, 0, 0],
    ]
    assert "one-hot from 0 to 3" in graphs.notes[-1]


def test_a_cap_bounds_the_width_of_the_degree() -> None:
    graphs = structural_signals(from_networkx([nx.star_graph(100)]), max_degree=2)
    assert graphs.num_features == 1 + 3
    assert graphs.signals()[0].tolist() == [0, 0, 0, 1]
    with refused(ValueError, max_degree=-1):
        structural_signals(graphs, max_degree=-1)


def test_an_empty_set_has_structure_too() -> None:
    assert structural_signals(GraphSet.from_edges([], np.zeros((2, 0), int))).num_features == 2
