"""Nearest neighbours, and both directions of edges, against loops that cannot go wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.data.readers import images
from bankgcn.data.readers.images import nearest, undirected_edges


def test_nearest_others_come_first_and_ties_go_by_number() -> None:
    square = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert nearest(square, 3).tolist() == [[1, 2, 3], [0, 3, 2], [0, 3, 1], [1, 2, 0]]


@pytest.mark.parametrize(("points", "found"), [(1, 0), (2, 1), (9, 8), (20, 8)])
def test_no_more_neighbours_than_there_are_points(points: int, found: int) -> None:
    near = nearest(np.random.default_rng(0).random((points, 2)), 8)
    assert near.shape == (points, found)
    assert all(point not in row for point, row in enumerate(near))


@st.composite
def _directed(draw: st.DrawFn) -> list[tuple[int, list[tuple[int, int]]]]:
    graphs = []
    for num_nodes in draw(st.lists(st.integers(1, 5), max_size=6)):
        node = st.integers(0, num_nodes - 1)
        graphs.append((num_nodes, draw(st.lists(st.tuples(node, node), max_size=8))))
    return graphs


@given(_directed(), st.sampled_from([1, 60, 1 << 23]))
def test_every_edge_gets_its_reverse_once(graphs: list[tuple[int, list[tuple[int, int]]]], cells: int) -> None:
    expected, first = set(), 0
    for num_nodes, edges in graphs:
        expected |= {(first + i, first + j) for edge in edges for i, j in (edge, edge[::-1])}
        first += num_nodes
    flat = np.array([edge for _, edges in graphs for edge in edges], np.uint8).reshape(-1, 2).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(images, "CELLS_AT_ONCE", cells)  # one graph at a time, several, or all
        found = undirected_edges(
            np.array([n for n, _ in graphs], int), np.array([len(edges) for _, edges in graphs], int), *flat
        )
    assert [tuple(edge) for edge in found.T] == sorted(expected)
