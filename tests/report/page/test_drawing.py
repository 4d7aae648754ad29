"""Where nodes are drawn, and what they are called."""

from __future__ import annotations

import numpy as np

from bankgcn.data.builtin.digits import images_as_grids
from bankgcn.data.builtin.mutag import mutag
from bankgcn.data.graphs import GraphSet
from bankgcn.report.page.drawing import draw_graph, layout
from bankgcn.report.page.node_words import node_signal, node_words


def test_a_molecule_is_drawn_as_a_structure_with_its_bonds() -> None:
    graph = GraphSet.from_smiles(["OC(=O)c1ccccc1"])
    drawing = draw_graph(graph, "OC(=O)c1ccccc1")
    assert drawing is not None
    assert list(drawing.elements) == ["O", "C", "O"] + ["C"] * 6
    assert sorted(drawing.orders) == [1, 1, 2, 4, 4, 4, 4, 4, 4]
    ring = drawing.places[3:]
    sides = np.linalg.norm(ring - np.roll(ring, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, sides[0], rtol=1e-3)  # a regular hexagon


def test_a_name_that_is_another_molecule_is_not_drawn_as_the_graph() -> None:
    drawing = draw_graph(GraphSet.from_smiles(["CCO"]), "CCCC")
    assert drawing is not None
    assert len(drawing.places) == 3
    assert list(drawing.elements) == ["C", "C", "O"]  # from the features


def test_labels_of_mutag_are_atoms_and_bonds() -> None:
    drawing = draw_graph(mutag()[[0]])
    assert drawing is not None
    assert set(drawing.elements) == {"C", "N", "O"}
    assert len(drawing.orders) == len(drawing.edges)


def test_pixels_stay_at_their_places() -> None:
    graph = images_as_grids(np.arange(9.0).reshape(1, 3, 3) / 9)
    drawing = draw_graph(graph)
    assert drawing is not None
    assert drawing.places[[0, 2, 6]].tolist() == [[0, 0], [1, 0], [0, 1]]
    assert node_signal(graph, graph)["colors"][0] == "#ffffff"


def test_distances_of_a_layout_follow_the_graph() -> None:
    path = np.array([[node, node + 1] for node in range(9)])
    places = layout(10, path)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert np.corrcoef(gaps.ravel(), np.abs(np.subtract.outer(range(10), range(10))).ravel())[0, 1] > 0.99
    assert np.isfinite(layout(4, np.empty((0, 2), np.int64))).all()  # no edges


def test_large_and_empty_graphs_are_not_drawn() -> None:
    nothing = np.empty((2, 0), np.int64)
    graphs = GraphSet.from_edges([0, 1, 500], nothing, attributes=np.ones(501))
    assert [draw_graph(graphs[[number]]) is not None for number in range(3)] == [False, True, False]


def test_nodes_are_named_by_their_categories() -> None:
    assert node_words(mutag()[[0]])[:1] == ["C"]
    assert node_words(GraphSet.from_smiles(["CCl"])) == ["C", "Cl"]
    plain = GraphSet.from_edges([2], [[0, 1], [1, 0]], attributes=[3.0, 4.0])
    assert node_words(plain) is None
    assert node_signal(plain, plain)["levels"] == [3.0, 4.0]
