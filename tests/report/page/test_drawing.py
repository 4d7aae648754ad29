"""Where nodes are drawn, and what they are called."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.data.builtin import images_as_grids, mutag
from bankgcn.data.graphs import GraphSet
from bankgcn.report.page.drawing import draw_graph, layout, node_signal, node_words, smallest_gap


def test_a_molecule_is_drawn_as_a_structure_with_its_bonds() -> None:
    graph = GraphSet.from_smiles(["OC(=O)c1ccccc1"])
    drawing = draw_graph(graph, "OC(=O)c1ccccc1")
    assert drawing is not None
    assert list(drawing.elements) == ["O", "C", "O"] + ["C"] * 6
    assert sorted(drawing.orders) == [1] * 5 + [2] * 4  # the rings of chemists have double bonds
    assert list(drawing.labels) == ["OH", "", "O"] + [""] * 6
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


STEROID = "CC34CC(O)C1(F)C(CCC2=CC(=O)C=CC12C)C3CC(O)C4(O)C(=O)CO"
CAMPHENE_OXIDE = "CC12CCC(CC1)C(C)(C)O2"


@pytest.mark.parametrize("smiles", [STEROID, CAMPHENE_OXIDE, "c1ccc2c(c1)ccc1ccccc12"])
def test_atoms_of_fused_rings_do_not_lie_on_each_other(smiles: str) -> None:
    drawing = draw_graph(GraphSet.from_smiles([smiles]), smiles)
    assert drawing is not None
    assert smallest_gap(drawing.places, drawing.edges) > 0.5


def test_atoms_are_labelled_as_chemists_write_them() -> None:
    smiles = "NCC(=O)[O-].[NH4+].C.[13CH3]S.[Fe+2]"
    drawing = draw_graph(GraphSet.from_smiles([smiles]), smiles)
    assert drawing is not None
    assert list(drawing.labels) == ["NH2", "", "", "O", "O-", "NH4+", "CH4", "13CH3", "SH", "Fe+2"]
    assert list(drawing.elements)[4:6] == ["O-", "N+"]


def test_the_second_line_of_a_bond_lies_inside_its_ring() -> None:
    smiles = "c1ccc2ccccc2c1"
    drawing = draw_graph(GraphSet.from_smiles([smiles]), smiles)
    assert drawing is not None
    rings = ((0, 1, 2, 3, 8, 9), (3, 4, 5, 6, 7, 8))
    double = [place for place, order in enumerate(drawing.orders) if order == 2]
    assert len(double) == 5
    for place in double:
        begin, end = drawing.places[drawing.edges[place]]
        right = np.array([begin[1] - end[1], end[0] - begin[0]]) * drawing.sides[place]  # downwards as on a screen
        centers = [drawing.places[list(ring)].mean(0) for ring in rings if set(drawing.edges[place]) <= set(ring)]
        assert any(right @ (center - begin) > 0 for center in centers)
    carbonyl = draw_graph(GraphSet.from_smiles(["CC(C)=O"]), "CC(C)=O")
    assert carbonyl is not None
    assert list(carbonyl.sides) == [0, 0, 0]  # both lines beside the axis
