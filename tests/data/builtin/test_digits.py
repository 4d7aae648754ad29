"""Images as grids."""

from __future__ import annotations

import networkx as nx
import numpy as np

from bankgcn.data.builtin import digits, images_as_grids
from bankgcn.data.convert import to_networkx
from refusals import refused


def test_the_digits_are_1797_grids_of_64_pixels() -> None:
    graphs = digits()
    assert len(graphs) == 1797
    assert set(graphs.num_nodes) == {64}
    assert set(graphs.num_edges) == {2 * 7 * 8}
    assert graphs.num_classes == 10
    assert graphs.attributes is not None
    assert (graphs.attributes.min(), graphs.attributes.max()) == (0, 1)


def test_a_pixel_is_joined_to_the_four_beside_it() -> None:
    images = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    for graph, image in zip(to_networkx(images_as_grids(images)), images, strict=True):
        grid = nx.grid_2d_graph(3, 4)
        assert {frozenset(edge) for edge in graph.edges} == {
            frozenset({4 * a + b, 4 * c + d}) for (a, b), (c, d) in grid.edges
        }
        assert [graph.nodes[node]["x"] for node in graph] == image.reshape(-1, 1).tolist()


def test_or_to_the_eight_around_it() -> None:
    [graph] = to_networkx(images_as_grids(np.zeros((1, 3, 3)), neighbors=8))
    assert dict(graph.degree) == {0: 3, 1: 5, 2: 3, 3: 5, 4: 8, 5: 5, 6: 3, 7: 5, 8: 3}


def test_coordinates_reach_from_0_to_1() -> None:
    graphs = images_as_grids(np.zeros((2, 2, 3)), coordinates=True)
    assert graphs.signals()[6:].tolist() == [[0, i, j] for i in (0, 1) for j in (0, 0.5, 1)]


def test_channels_are_signals_and_one_pixel_is_a_graph() -> None:
    assert images_as_grids(np.zeros((2, 2, 2, 3))).num_features == 3
    assert images_as_grids(np.ones((1, 1, 1)), coordinates=True).signals().tolist() == [[1, 0, 0]]


def test_what_is_no_image_is_refused() -> None:
    with refused(ValueError, (2, 2)):
        images_as_grids(np.zeros((2, 2)))
    with refused(ValueError, "'6'", "4, 8"):
        images_as_grids(np.zeros((1, 2, 2)), neighbors=6)
