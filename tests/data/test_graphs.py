"""A set of graphs: built right from any edge list, refused when it cannot be right, cut and joined by numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracles
from bankgcn import GraphShift
from bankgcn.data import GraphError, GraphSet, edges
from bankgcn.data.graphs import KIND
from bankgcn.files.tensors import read_arrays, write_arrays
from random_sets import RandomSet, graph_sets

NO_EDGES = np.zeros((2, 0), np.int64)


@given(graph_sets(), st.booleans())
def test_the_shift_is_that_of_the_block_diagonal_graph(drawn: RandomSet, shuffle: bool) -> None:
    shift = drawn.build(shuffle).batch().shift
    weight = None if drawn.edge_weight is None else torch.from_numpy(drawn.edge_weight).float()
    expected = GraphShift.from_edges(
        torch.from_numpy(drawn.edge_index), weight, num_nodes=int(drawn.num_nodes.sum()), dtype=torch.float32
    )
    assert torch.equal(shift.rowptr, expected.rowptr)
    assert torch.equal(shift.col, expected.col)
    assert torch.equal(shift.row, expected.row)
    torch.testing.assert_close(shift.weight, expected.weight, rtol=1e-6, atol=0)


@given(graph_sets(min_graphs=1))
def test_the_shift_of_a_graph_is_that_of_the_dense_formula(drawn: RandomSet) -> None:
    graphs = drawn.build(shuffle=True)
    for number, single in enumerate(drawn.singles):
        expected = single.laplacian - np.eye(single.num_nodes)
        np.testing.assert_allclose(graphs.batch(number).shift.to_dense(), expected, atol=1e-6)


@given(graph_sets(min_graphs=1))
def test_pieces_of_the_build_join_without_a_seam(drawn: RandomSet) -> None:
    whole = drawn.build()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edges, "EDGES_AT_ONCE", 3)
        assert drawn.build().fingerprint == whole.fingerprint
        assert drawn.build(shuffle=True).batch().edge_index.equal(whole.batch().edge_index)


@given(graph_sets(min_graphs=1), st.data())
def test_a_choice_of_graphs_is_the_set_of_those_graphs(drawn: RandomSet, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(drawn.singles) - 1), max_size=6))
    graphs = drawn.build()
    cut = graphs[chosen]
    nodes = [np.arange(drawn.starts[g], drawn.starts[g] + drawn.num_nodes[g]) for g in chosen]
    nodes = np.concatenate([np.zeros(0, np.int64), *nodes])
    picked = RandomSet([drawn.singles[g] for g in chosen], drawn.weighted, drawn.seed)
    expected = GraphSet.from_edges(
        picked.num_nodes,
        picked.edge_index,
        edge_weight=picked.edge_weight,
        attributes=drawn.attributes[nodes],
        labels=drawn.labels[nodes],
        label_widths=(3, 4),
        y=drawn.y[chosen] if chosen else np.zeros(0, np.int64),
        classes=("no", "yes"),
    )
    if cut.edge_weight is not None and expected.edge_weight is None:  # the weighted graphs were not chosen
        assert (cut.edge_weight == 1).all()
        return
    assert cut.fingerprint == expected.fingerprint
    np.testing.assert_array_equal(cut.shift, expected.shift)


def three_graphs(**options: Any) -> GraphSet:
    """A pair, a path of three and a lone node."""
    return GraphSet.from_edges([2, 3, 1], [[0, 1, 2, 3, 3, 4], [1, 0, 3, 2, 4, 3]], y=[0, 1, 1], **options)


@pytest.mark.parametrize(
    "indices",
    [[1, 2], slice(1, None), np.array([1, 2]), torch.tensor([1, 2]), [False, True, True], [-2, -1]],
    ids=lambda indices: type(indices).__name__,
)
def test_any_kind_of_index_chooses(indices: Any) -> None:
    graphs = three_graphs(names=["pair", "path", "node"])[indices]
    assert graphs.names == ("path", "node")
    assert graphs.num_nodes.tolist() == [3, 1]
    assert graphs.num_edges.tolist() == [2, 0]
    assert graphs.num_classes == 2


def test_a_range_of_graphs_shares_the_arrays_of_the_set() -> None:
    graphs = three_graphs(attributes=np.arange(6))
    for indices in (slice(1, 3), [1, 2], 1):
        assert np.shares_memory(graphs[indices].attributes, graphs.attributes)
        assert np.shares_memory(graphs[indices].neighbor, graphs.neighbor)
    assert graphs[[2, 1]].signals().ravel().tolist() == [5, 2, 3, 4]


def test_an_integer_chooses_one_graph_and_iteration_gives_all() -> None:
    assert [len(graph) for graph in three_graphs()] == [1, 1, 1]
    assert [graph.num_nodes.tolist() for graph in three_graphs()] == [[2], [3], [1]]


@pytest.mark.parametrize("indices", [3, [0, -4], [True, False]])
def test_an_index_of_no_graph_is_refused(indices: Any) -> None:
    with pytest.raises(IndexError):
        three_graphs()[indices]


def test_signals_are_attributes_then_each_label_in_its_own_block() -> None:
    graphs = three_graphs(attributes=np.arange(6), labels=[[0, 1], [1, 0], [0, 0], [0, 0], [0, 0], [1, 1]])
    assert graphs.num_features == 5
    assert graphs.signals().tolist()[:2] == [[0, 1, 0, 0, 1], [1, 0, 1, 1, 0]]
    assert graphs.signals().dtype == np.float32


def test_labels_are_stored_in_one_byte_each() -> None:
    graphs = three_graphs(labels=[0, 88, 1, 2, 3, 4], label_widths=89)
    assert graphs.labels is not None
    assert graphs.labels.dtype == np.uint8
    assert graphs.num_features == 89


def test_a_set_can_have_no_signals_and_no_targets() -> None:
    graphs = GraphSet.from_edges([2, 0], NO_EDGES)
    assert graphs.num_features == graphs.num_classes == 0
    assert graphs.batch().x.shape == (2, 0)
    assert graphs.batch().y is None


def test_real_targets_may_be_several_and_unknown() -> None:
    graphs = GraphSet.from_edges([1, 1], NO_EDGES, y=[[0.5, np.nan], [1.0, 2.0]])
    assert graphs.num_classes == 0
    assert graphs[1].y is not None
    assert graphs[1].y.tolist() == [[1, 2]]


def test_names_of_targets_travel_with_the_set(tmp_path: Path) -> None:
    graphs = GraphSet.from_edges([1, 1], NO_EDGES, y=[[0.5, np.nan], [1.0, 2.0]], targets=["logp", "tox"])
    assert graphs.targets == graphs[1].targets == graphs.with_signals(attributes=[1, 2]).targets == ("logp", "tox")
    graphs.save(tmp_path / "set")
    assert GraphSet.load(tmp_path / "set").targets == ("logp", "tox")
    assert graphs.fingerprint == replace(graphs, targets=()).fingerprint


def test_a_saved_set_without_names_of_targets_still_loads(tmp_path: Path) -> None:
    GraphSet.from_edges([1, 1], NO_EDGES, y=[0.5, 1]).save(tmp_path / "set")
    members, arrays = read_arrays(tmp_path / "set", KIND)
    del members["targets"]
    write_arrays(tmp_path / "set", KIND, members, arrays)
    assert GraphSet.load(tmp_path / "set").targets == ()


def test_integers_with_names_of_targets_are_numbers() -> None:
    graphs = GraphSet.from_edges([1, 1], NO_EDGES, y=[[0, 1], [1, 1]], targets=["a", "b"])
    assert (graphs.y.dtype, graphs.num_classes) == (np.float32, 0)
    assert GraphSet.from_edges([1, 1], NO_EDGES, y=[3, 1], targets=["a"]).y.tolist() == [3.0, 1.0]


def test_edge_labels_follow_their_edges() -> None:
    graphs = GraphSet.from_edges([3], [[2, 1, 0, 1], [1, 2, 1, 0]], edge_labels=[7, 7, 300, 300])
    batch = graphs.batch()
    assert batch.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert batch.edge_labels is not None
    assert batch.edge_labels.tolist() == [[300], [300], [7], [7]]


def test_what_was_merged_or_removed_is_noted() -> None:
    graphs = GraphSet.from_edges([2], [[0, 1, 0, 1, 1], [1, 0, 1, 0, 1]], notes=["from a test"])
    assert graphs.notes == (
        "from a test",
        "1 self-loops removed",
        "2 duplicate edges merged by adding their weights",
    )
    assert graphs.edge_weight is not None
    assert graphs.edge_weight.tolist() == [2, 2]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats(0.125, 8, width=32)), max_size=12))
def test_symmetrising_gives_both_directions_the_larger_weight(entries: list[tuple[int, int, float]]) -> None:
    pairs = np.array([entry[:2] for entry in entries], np.int64).reshape(-1, 2)
    weights = np.array([entry[2] for entry in entries])
    graphs = GraphSet.from_edges([5], pairs.T, edge_weight=weights, symmetrise=True)
    directed = oracles.adjacency(5, [tuple(pair) for pair in pairs.tolist()], weights.tolist())
    np.fill_diagonal(directed, 0)
    batch = graphs.batch()
    made = np.zeros((5, 5))
    made[tuple(batch.edge_index.numpy())] = 1 if batch.edge_weight is None else batch.edge_weight
    np.testing.assert_allclose(made, np.maximum(directed, directed.T), rtol=1e-6)
    alone = int(((directed > 0) & (directed.T == 0)).sum())
    assert any(f"{alone:,} edges had no reverse" in note for note in graphs.notes) == (alone > 0)


def test_a_symmetrised_edge_takes_the_label_of_its_reverse() -> None:
    graphs = GraphSet.from_edges([3], [[0, 2, 1], [1, 1, 2]], edge_labels=[5, 6, 8], symmetrise=True)
    assert graphs.edge_labels is not None
    assert graphs.edge_labels.ravel().tolist() == [5, 5, 8, 6]
    assert graphs.notes == ("symmetrised: 1 edges had no reverse",)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an edge to a missing node": ({"edge_index": [[0, 9], [9, 0]]}, r"edge 0 is \(0, 9\), but .* 0 to 3"),
    "a negative node": ({"edge_index": [[0, -1], [-1, 0]]}, r"edge 0 is \(0, -1\)"),
    "an edge between graphs": (
        {"edge_index": [[0, 1, 1, 2], [1, 0, 2, 1]]},
        r"edge 2 is \(1, 2\): .*graph 0 to graph 1",
    ),
    "no reverse": (
        {"edge_index": [[0, 1, 2], [1, 0, 3]]},
        r"graph 1: edge \(0, 1\) has no reverse \(1, 0\).*symmetrise",
    ),
    "two weights": ({"edge_weight": [1, 2]}, r"graph 0: edge \(0, 1\) weighs 1.0, its reverse \(1, 0\) 2.0"),
    "a negative weight": ({"edge_weight": [1, -2]}, r"edge 1 \(1, 0\) has weight -2"),
    "an infinite weight": ({"edge_weight": [1, 1e39]}, r"edge 1 \(1, 0\) has weight 1e\+39"),
    "weights that add up to infinity": (
        {"num_nodes": [1, 3], "edge_index": [[1, 2, 2, 3], [2, 1, 3, 2]], "edge_weight": [2e38] * 4},
        "graph 1: the weights of node 1 add up to more than float32 holds.*divide all weights",
    ),
    "duplicates whose weights add up to infinity": (
        {"edge_index": [[2, 3, 2, 3], [3, 2, 3, 2]], "edge_weight": [2e38] * 4},
        "graph 1: the weights of node 0 add up to more than float32 holds",
    ),
    "too few weights": ({"edge_weight": [1]}, r"edge_weight has shape \(1,\)"),
    "real node numbers": ({"edge_index": [[0.0, 1.0], [1.0, 0.0]]}, "edge_index has dtype float64"),
    "a flat edge list": ({"edge_index": [0, 1]}, r"edge_index has shape \(2,\)"),
    "nodes below none": ({"num_nodes": [5, -1]}, "graph 1 has -1 nodes"),
    "NaN": ({"attributes": [0, 1, 2, np.nan]}, r"attribute 0 of node 3 \(node 1 of graph 1\) is nan"),
    "infinity": ({"attributes": [[0, np.inf]] * 4}, "attribute 1 of node 0"),
    "more than float32 holds": ({"attributes": [0, 1e39, 0, 0]}, r"node 1 .* is 1e\+39"),
    "words for numbers": ({"attributes": list("abcd")}, "expected numbers"),
    "ragged attributes": ({"attributes": [[0], [1, 2], [3], [4]]}, "rows of a list are of different lengths"),
    "too many attributes": ({"attributes": np.zeros((5, 1))}, r"attributes has shape \(5, 1\), expected \(4"),
    "a negative label": ({"labels": [0, 0, -1, 0]}, "column 0 of node 2 is -1"),
    "a label beyond its width": ({"labels": [0, 0, 7, 0], "label_widths": 7}, "node 2 is 7, expected 0 to 6"),
    "a width too many": ({"labels": [0, 0, 0, 0], "label_widths": [2, 2]}, "2 label_widths for 1 columns"),
    "real labels": ({"labels": [0.5, 0, 0, 0]}, "labels has dtype float64"),
    "a negative class": ({"y": [0, -1]}, "graph 1 has class -1"),
    "a class number that leaves most classes empty": (
        {"y": [0, 5_000_000]},
        "y has 2 different classes, but the largest is 5000000.*number the classes from 0 without gaps.*classes=",
    ),
    "a class without a name": (
        {"y": [0, 2], "classes": ["no", "yes"]},
        "graph 1 has class 2, but there are 2: no, yes",
    ),
    "real numbers as classes": ({"y": [0.0, 1.0], "classes": ["no", "yes"]}, "y has dtype float64"),
    "too few targets": ({"y": [0]}, r"y has shape \(1,\), expected \(2, ...\): one row per graph"),
    "an infinite target": ({"y": [0.5, np.inf]}, "target of graph 1 is inf"),
    "a target that float32 does not hold": ({"y": [0.5, 1e39]}, r"target of graph 1 is 1e\+39"),
    "words as targets": ({"y": ["a", "b"], "targets": ["t"]}, "y has dtype <U1, expected numbers"),
    "a target without a name": (
        {"y": np.zeros((2, 2)), "targets": ["t"]},
        r"y has shape \(2, 2\), but .* 1 targets: t",
    ),
    "classes and targets": ({"y": [0, 1], "classes": ["no", "yes"], "targets": ["t"]}, "classes no, yes and targets t"),
    "too few names": ({"names": ["a"]}, "1 names for 2 graphs"),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_bad_input_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        GraphSet.from_edges(**{"num_nodes": [2, 2], "edge_index": [[0, 1], [1, 0]]} | options)
    assert isinstance(raised.value, GraphError) or "did you mean" in message


def test_weights_of_two_directions_may_differ_by_rounding() -> None:
    graphs = GraphSet.from_edges([2], [[0, 1], [1, 0]], edge_weight=[1, 1 + 1e-6])
    assert graphs.num_edges.tolist() == [1]


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint64])
def test_classes_may_be_numbered_without_a_sign(dtype: type) -> None:
    graphs = GraphSet.from_edges([1, 1], np.zeros((2, 0), int), y=np.array([1, 0], dtype))
    assert graphs.y.tolist() == [1, 0]
    assert graphs.classes == ("0", "1")


def test_a_few_graphs_of_a_set_with_many_classes_are_taken() -> None:
    assert GraphSet.from_edges([1], NO_EDGES, y=[99]).num_classes == 100
    assert GraphSet.from_edges([1] * 200, NO_EDGES, y=np.arange(200)).num_classes == 200
    assert GraphSet.from_edges([1], NO_EDGES, y=[500], classes=[f"class {c}" for c in range(501)]).num_classes == 501
