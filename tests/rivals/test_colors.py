"""Weisfeiler-Lehman colours against a refinement by dictionaries, written from the definition."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankgcn.data.graphs import GraphSet
from bankgcn.rivals.colors import Vocabulary, colors_of, mix
from colored_graphs import random_graphs, signatures


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31), st.booleans())
def test_nodes_have_one_colour_if_and_only_if_their_signatures_are_equal(seed: int, edges: bool) -> None:
    graphs = random_graphs(seed, edge_labels=edges)
    for expected, colors in zip(signatures(graphs, 3, edges), colors_of(graphs, 3, (), ()), strict=True):
        pairs = set(zip(map(repr, expected), colors.tolist(), strict=True))
        assert len(pairs) == len({one for one, _ in pairs}) == len({color for _, color in pairs})


def test_a_colour_is_the_same_in_every_set_and_order() -> None:
    graphs = random_graphs(3)
    whole = colors_of(graphs, 3, (), ())
    order = [4, 2]
    parts = [whole[:, graphs.node_ptr[graph] : graphs.node_ptr[graph + 1]] for graph in order]
    assert np.array_equal(colors_of(graphs[order], 3, (), ()), np.concatenate(parts, axis=1))


def test_mixing_is_that_of_splitmix64() -> None:
    # The first numbers of the generator that starts with 1234567, as its authors publish them.
    state = np.array([1234567 + 0x9E3779B97F4A7C15 * step for step in range(2)], object) % 2**64
    assert mix(state.astype(np.uint64)).tolist() == [6457827717110365317, 3203168211198807973]


def test_a_vocabulary_counts_known_colours_alone() -> None:
    graphs = random_graphs(5, count=8)
    vocabulary = Vocabulary.of(graphs[:5], 2, least=2)
    expected = signatures(graphs, 2, edges=True)
    graph = np.repeat(np.arange(8), graphs.num_nodes)
    places = vocabulary.places(vocabulary.all_colors(graphs))
    for h, of_depth in enumerate(expected):
        graphs_with = Counter(
            color for color, _ in {(repr(c), g) for c, g in zip(of_depth, graph, strict=True) if g < 5}
        )
        known = [graphs_with[repr(color)] >= 2 for color in of_depth]
        assert (places[h] >= 0).tolist() == known
    assert places.max() < vocabulary.starts[-1]


def test_the_most_frequent_colours_are_kept() -> None:
    graphs = random_graphs(7, count=30)
    every, few = Vocabulary.of(graphs, 2), Vocabulary.of(graphs, 2, most=5)
    assert few.starts[-1] == 5
    assert set(few.colors[0].tolist()) == set(every.colors[0].tolist())  # the three labels are in most graphs


def test_whole_numbers_are_categories_and_others_are_not() -> None:
    graphs = GraphSet.from_edges([2], [[0, 1], [1, 0]], attributes=[[1.0, 0.5], [2.0, 0.5]])
    assert Vocabulary.of(graphs, 0).nodes == (0,)
    other = GraphSet.from_edges([2], [[0, 1], [1, 0]], attributes=[[1.5, 0.5], [np.float32(1e30), 0.5]])
    vocabulary = Vocabulary.of(graphs, 0)
    assert vocabulary.places(vocabulary.all_colors(other)).tolist() == [[-1, -1]]


@pytest.mark.parametrize(
    ("values", "change", "message"),
    [
        ({"nodes": [2], "edges": []}, {}, "columns of nodes are"),
        ({"nodes": "x", "edges": []}, {}, "columns of nodes are"),
        ({"nodes": [], "edges": []}, {"colors.0": np.array([2, 1])}, "colors.0 is not sorted"),
        ({"nodes": [], "edges": []}, {"colors.0": np.zeros((2, 2), np.int64)}, "colors.0 has shape"),
        ({"nodes": [], "edges": []}, {"colors.7": np.array([2, 1])}, "lists of colours"),
    ],
)
def test_a_damaged_vocabulary_is_refused(values: dict, change: dict, message: str) -> None:
    arrays = {"colors.0": np.array([1, 2]), **change}
    with pytest.raises(ValueError, match=message):
        Vocabulary.stored(values, arrays, 2, 0)
