"""Equal graphs: found whatever the order of their nodes, kept together, merged."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.data import GraphError, GraphSet
from bankgcn.data.duplicates import Duplicates, graph_hashes, merge_duplicates, seen_notes
from bankgcn.data.splits import Split

Graph = tuple[list[int], list[tuple[int, int]]]  # label of each node, and edges


def build(*graphs: Graph, **options: Any) -> GraphSet:
    """A set of graphs whose nodes have labels from 0 to 3."""
    edges, start = [], 0
    for labels, pairs in graphs:
        edges += [(a + start, b + start) for i, j in pairs for a, b in ((i, j), (j, i))]
        start += len(labels)
    index = np.array(edges, np.int64).reshape(-1, 2).T
    labels = [label for graph in graphs for label in graph[0]]
    return GraphSet.from_edges([len(g[0]) for g in graphs], index, labels=labels, label_widths=4, **options)


def ring(size: int, label: int = 0) -> Graph:
    return [label] * size, [(i, (i + 1) % size) for i in range(size)]


@st.composite
def small_graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 6))
    labels = draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    pairs = [(i, j) for i in range(size) for j in range(i)]
    return labels, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


def colors_of(graphs: list[Graph]) -> list[Counter]:
    """The colours of each graph after refining all graphs together, from the definition."""
    nodes = [(g, i) for g, graph in enumerate(graphs) for i in range(len(graph[0]))]
    around: dict = {node: [] for node in nodes}
    for g, (_, pairs) in enumerate(graphs):
        for i, j in pairs:
            around[g, i].append((g, j))
            around[g, j].append((g, i))
    color: dict = {(g, i): graphs[g][0][i] for g, i in nodes}
    for _ in nodes:
        signature = {node: (color[node], tuple(sorted(color[other] for other in around[node]))) for node in nodes}
        number = {value: place for place, value in enumerate(sorted(set(signature.values())))}
        color = {node: number[signature[node]] for node in nodes}
    return [Counter(color[g, i] for i in range(len(graph[0]))) for g, graph in enumerate(graphs)]


@given(st.lists(small_graphs(), min_size=2, max_size=6))
def test_hashes_are_equal_exactly_if_colour_refinement_cannot_tell_graphs_apart(graphs: list[Graph]) -> None:
    hashes, colors = graph_hashes(build(*graphs)), colors_of(graphs)
    for a in range(len(graphs)):
        for b in range(a):
            assert (hashes[a] == hashes[b]) == (colors[a] == colors[b])


@given(small_graphs(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_and_the_other_graphs_do_not_matter(graph: Graph, random: Any) -> None:
    labels, pairs = graph
    order = list(range(len(labels)))
    random.shuffle(order)
    renamed = [labels[order.index(i)] for i in range(len(labels))], [(order[i], order[j]) for i, j in pairs]
    alone, among = graph_hashes(build(graph)), graph_hashes(build(ring(5, 3), renamed, ring(9)))
    assert alone[0] == among[1]


def test_long_chains_that_differ_in_the_middle_are_different() -> None:
    chain = [(i, i + 1) for i in range(199)]
    one, other = [0] * 200, [0] * 200
    one[90], other[95] = 1, 1
    assert len(set(graph_hashes(build((one, chain), (other, chain))).tolist())) == 2


def test_blocks_of_graphs_give_the_same_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = build(ring(3), ring(4), ring(3), ring(7))
    whole = graph_hashes(graphs)
    monkeypatch.setattr("bankgcn.data.duplicates.NODES_AT_ONCE", 4)
    assert graph_hashes(graphs).tolist() == whole.tolist()
    assert whole[0] == whole[2] != whole[1]


def test_one_hot_columns_may_be_stored_as_labels_or_as_attributes() -> None:
    labels = build(ring(3), ring(4, 2))
    attributes = labels.with_signals(attributes=labels.signals())
    assert graph_hashes(labels).tolist() == graph_hashes(attributes).tolist()


def test_weights_count_and_negative_zero_does_not() -> None:
    def weighted(weight: float, signal: float) -> int:
        return int(
            graph_hashes(
                GraphSet.from_edges([2], [[0, 1], [1, 0]], attributes=[[signal], [1.0]], edge_weight=[weight] * 2)
            )[0]
        )

    assert weighted(2.0, 0.0) == weighted(2.0, -0.0) != weighted(3.0, 0.0)


def test_molecules_are_equal_by_their_canonical_smiles() -> None:
    pytest.importorskip("rdkit")
    smiles = ["OCC", "CCO", "C/C=C/C", "C/C=C\\C", "N[C@@H](C)C(=O)O", "OC(=O)[C@H](C)N", "N[C@H](C)C(=O)O"]
    first = Duplicates.of(GraphSet.from_smiles(smiles)).first
    assert first.tolist() == [0, 0, 2, 3, 4, 4, 6]


@given(st.lists(st.integers(0, 5), min_size=3, max_size=30), st.integers(0, 9))
def test_equal_graphs_stay_in_one_part(sizes: list[int], seed: int) -> None:
    graphs = build(*(ring(size + 3) for size in sizes))
    duplicates = Duplicates.of(graphs)
    distinct = len(duplicates.distinct)
    assert distinct == len(set(sizes))
    order = np.random.default_rng(seed).permutation(distinct)
    split = duplicates.spread(Split(order[: distinct // 2], order[distinct // 2 : -1], order[-1:]))
    parts = [{sizes[graph] for graph in getattr(split, part)} for part in ("train", "valid", "test")]
    assert sum(map(len, parts)) == distinct
    assert sorted(np.concatenate([split.train, split.valid, split.test])) == list(range(len(sizes)))
    assert not seen_notes(duplicates, split)


def test_graphs_on_both_sides_are_counted() -> None:
    duplicates = Duplicates.of(build(ring(3), ring(3), ring(4), ring(5), ring(4)))
    split = Split(np.array([0]), np.array([2]), np.array([1, 3, 4]))
    assert duplicates.seen(split, "test").tolist() == [True, False, True]
    assert seen_notes(duplicates, split) == (
        "2 of 3 test graphs are equal to a training or validation graph: the test score flatters",
    )


def test_the_summary_counts_copies_and_contradictions() -> None:
    graphs = build(ring(3), ring(3), ring(4), ring(4), ring(5), y=[0, 1, 1, 1, 0])
    assert Duplicates.of(graphs).summary() == (
        "2 of 5 graphs are equal to an earlier one; 1 of 2 groups of equal graphs have different targets"
    )
    assert Duplicates.of(graphs[[0, 2, 4]]).summary() == ""


def test_merging_takes_the_majority_and_leaves_out_contradictions() -> None:
    graphs = build(ring(3), ring(4), ring(3), ring(4), ring(3), ring(5), y=["a", "a", "b", "b", "b", "a"])
    merged = merge_duplicates(graphs)
    assert merged.num_nodes.tolist() == [3, 5]
    assert [merged.classes[number] for number in merged.y] == ["b", "a"]
    assert merged.rows.tolist() == [0, 5]
    assert dict(merged.skipped)[2] == "merged with the equal graph of row 1"
    assert dict(merged.skipped)[1] == "equal graphs have contradictory classes"
    assert "1 groups of equal graphs are left out" in merged.notes[-1]


def test_merging_takes_the_mean_of_known_values() -> None:
    y = np.array([[1, 5], [np.nan, 7], [3, 9], [2, 2]], np.float32)
    graphs = build(ring(3), ring(3), ring(3), ring(4), y=y, targets=["u", "v"])
    assert merge_duplicates(graphs).y.tolist() == [[2, 7], [2, 2]]


def test_a_label_without_a_majority_becomes_unknown() -> None:
    y = np.array([[1, 0], [0, 0], [1, 1], [1, np.nan]], np.float32)
    merged = merge_duplicates(build(ring(3), ring(3), ring(4), ring(4), y=y, targets=["u", "v"]))
    np.testing.assert_array_equal(merged.y, [[np.nan, 0], [1, 1]])


def test_a_set_of_contradictions_leaves_nothing() -> None:
    with pytest.raises(GraphError, match="none is left"):
        merge_duplicates(build(ring(3), ring(3), y=[0, 1]))


def test_different_graphs_are_not_touched() -> None:
    graphs = build(ring(3), ring(4), y=[0, 1])
    assert merge_duplicates(graphs) is graphs


def test_sets_without_graphs_and_graphs_without_nodes_are_no_exception() -> None:
    empty = GraphSet.from_edges([], np.zeros((2, 0), np.int64), y=np.zeros(0, np.int64))
    assert Duplicates.of(empty).summary() == ""
    nodeless = GraphSet.from_edges([0, 0, 1, 0], np.zeros((2, 0), np.int64), y=[0, 1, 1, 0])
    assert Duplicates.of(nodeless).first.tolist() == [0, 0, 2, 0]
    assert Duplicates.of(nodeless[[0, 1]]).first.tolist() == [0, 0]
