"""Features of edges come from every kind of source, are fitted to the training graphs, and travel with a set."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import bankgcn
from bankgcn import GraphSet
from bankgcn.data import GraphError
from bankgcn.data.combine import join
from bankgcn.data.convert import to_networkx, to_pyg
from bankgcn.data.duplicates import Duplicates
from bankgcn.data.features.spec import (
    check_spec,
    conform,
    describe_features,
    edge_columns,
    refit,
    same_before_fit,
    scale_numbers,
    widened,
)
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.benchmark_sets import edges_in_rings
from bankgcn.data.readers.json_graphs import write_jsonlines
from bankgcn.data.readers.tu import read_tu
from bankgcn.data.sources import as_graph_set, find_source
from bankgcn.files.checked import FileError

COLUMNS = ["length", "kind=a", "kind=b"]


def rings(*kinds: str) -> list[nx.Graph]:
    """Rings of 4, 5, ... nodes, each with edges of one kind, whose length is the number of the ring."""
    graphs = []
    for number, kind in enumerate(kinds):
        graph = nx.cycle_graph(4 + number)
        nx.set_node_attributes(graph, 1.0, "one")
        nx.set_edge_attributes(graph, kind, "kind")
        nx.set_edge_attributes(graph, float(number), "length")
        graphs.append(graph)
    return graphs


def lines(graphs: list[nx.Graph], path: Path) -> Path:
    path.write_text("\n".join(json.dumps(nx.node_link_data(graph, edges="edges")) for graph in graphs))
    return path


def test_networkx_json_tables_and_graph_files_give_the_same_features(tmp_path: Path) -> None:
    graphs = rings("a", "b")
    expected = GraphSet.from_networkx(graphs)
    assert edge_columns(expected) == COLUMNS
    assert expected.batch(1).edge_attr.tolist() == [[1, 0, 1]] * 10
    rows = [f"{n},{i},{j},{d['kind']},{d['length']}" for n, g in enumerate(graphs) for i, j, d in g.edges(data=True)]
    nodes = [f"{n},{i},1" for n, g in enumerate(graphs) for i in g]
    (tmp_path / "t_edges.csv").write_text("\n".join(["graph,source,target,kind,length", *rows]))
    (tmp_path / "t_nodes.csv").write_text("\n".join(["graph,node,one", *nodes]))
    (tmp_path / "files").mkdir()
    for number, graph in enumerate(graphs):
        nx.write_graphml(graph, tmp_path / "files" / f"{number}.graphml")
    for path in (lines(graphs, tmp_path / "x.jsonl"), tmp_path / "t_edges.csv", tmp_path / "files"):
        assert find_source(path).load().num_edge_features == 0
        read = find_source(path).load(None, Expected(edges="all"))
        assert (edge_columns(read), read.fingerprint) == (COLUMNS, expected.fingerprint)
        assert bankgcn.load(path).fingerprint == expected.fingerprint


def test_pyg_columns_of_integers_are_categories_and_real_ones_numbers() -> None:
    edges = torch.tensor([[0, 1], [1, 0]])

    def columns(attribute: torch.Tensor) -> list[str]:
        graphs = GraphSet.from_pyg([Data(num_nodes=2, edge_index=edges, edge_attr=attribute)])
        if graphs.num_edge_features:
            assert torch.equal(to_pyg(graphs)[0].edge_attr, graphs.batch().edge_attr)
        return edge_columns(graphs)

    assert columns(torch.ones(2)) == []  # a weight
    assert columns(torch.ones(2, 2)) == ["edge_attr 0", "edge_attr 1"]
    assert columns(torch.tensor([7, 7])) == ["edge_attr=7"]
    assert columns(torch.tensor([[1, 0], [1, 0]])) == ["edge_attr 0=1", "edge_attr 1=0"]


def test_double_bonds_differ_by_their_shape_and_so_do_orders_and_rings() -> None:
    pytest.importorskip("rdkit")
    graphs = GraphSet.from_smiles(["C/C=C/C", "C/C=C\\C", "CC=CC", "C1CC1", "c1ccccc1", "C"])
    bond = [graphs.batch(number).edge_labels.tolist() for number in range(len(graphs))]
    assert [each[2] for each in bond[:3]] == [[1, 0, 0, 1], [1, 0, 0, 2], [1, 0, 0, 0]]
    assert bond[3] == [[0, 0, 1, 0]] * 6
    assert bond[4] == [[3, 1, 1, 0]] * 12
    assert graphs.unequal_edge is None
    named = dict(zip(edge_columns(graphs), graphs[0].edge_signals()[2], strict=True))
    assert [name for name, value in named.items() if value] == [
        "type=double",
        "conjugated=no",
        "in ring=no",
        "stereo=E",
    ]


def test_tu_attributes_are_read_if_asked_for_and_labels_always(tmp_path: Path) -> None:
    texts = {
        "A": "1,2\n2,1\n3,4\n4,3\n", "graph_indicator": "1\n1\n2\n2\n", "graph_labels": "0\n1\n",
        "edge_labels": "3\n3\n5\n5\n", "edge_attributes": "0.5,1\n0.5,1\n2,1\n2,1\n",
    }  # fmt: skip
    for part, text in texts.items():
        (tmp_path / f"X_{part}.txt").write_text(text)
    plain, full = read_tu(tmp_path), read_tu(tmp_path, expected=Expected(edges="all"))
    assert plain.edge_attributes is None
    assert edge_columns(plain) == ["label=3", "label=4", "label=5"]
    assert edge_columns(full) == ["attribute 0", "attribute 1", *edge_columns(plain)]
    assert full.edge_signals()[[0, 3]].tolist() == [[0.5, 1, 1, 0, 0], [2, 1, 0, 0, 1]]
    assert edge_columns(refit(full, [0], edges=True)) == ["attribute 0", "attribute 1", "label=3"]
    (tmp_path / "X_edge_attributes.txt").write_text("1\n")
    with pytest.raises(FileError, match=r"edge_attributes\.txt:1: 1 lines for 4 edges"):
        read_tu(tmp_path, expected=Expected(edges="all"))


def test_rings_of_ogb_are_those_of_networkx() -> None:
    for seed in range(30):
        graph = nx.gnm_random_graph(12, 4 + seed % 14, seed=seed)
        bridges = set(map(frozenset, nx.bridges(graph)))
        edges = np.array(graph.edges()).T
        assert edges_in_rings(12, edges).tolist() == [frozenset(edge) not in bridges for edge in edges.T.tolist()]


def test_what_is_fitted_to_training_graphs_is_applied_to_others() -> None:
    graphs = GraphSet.from_networkx(rings("a", "a", "b"))
    fitted = scale_numbers(refit(graphs, [0, 1], edges=True), [0, 1], "range", edges=True)
    assert edge_columns(fitted) == ["length", "kind=a"]
    assert fitted[[2]].edge_signals()[0].tolist() == [2, 0]
    assert any("12 edges have a category that no training graph has" in note for note in fitted.notes)
    described = json.loads(json.dumps(describe_features(fitted, edges=True)))
    check_spec(described, 1, 2)
    assert "edges" not in describe_features(fitted)
    conformed = conform(GraphSet.from_networkx(rings("b", "a")), described, "new")
    assert describe_features(conformed, edges=True) == described
    assert conformed[[1]].edge_signals()[0].tolist() == [1, 1]
    lone = nx.Graph()
    lone.add_node(0, one=1.0)
    assert describe_features(conform(GraphSet.from_networkx([lone]), described, "lone"), edges=True) == described
    with pytest.raises(GraphError, match="new: kind of edge 0 of graph 0 is 'c', but no training graph"):
        conform(GraphSet.from_networkx(rings("c")), described, "new")
    with pytest.raises(GraphError, match="the model uses the features of edges .* but the edges of new have none"):
        conform(GraphSet.from_networkx(rings("a"), edge_data="none"), described, "new")
    other = scale_numbers(refit(graphs, [2], edges=True), [2], "range", edges=True)
    assert same_before_fit(described, describe_features(other, edges=True))
    assert not same_before_fit(described, describe_features(other))
    assert widened(described)["edges"] == describe_features(graphs, edges=True)["edges"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "pixels"}, "kind of the signals of edges is 'pixels'"),
        ({"attributes": 2}, "attributes of the signals is 2"),
        ({"words": {"kind": ["a", "a"]}}, "has a word twice"),
        ({"numbers": {"length": -1}}, "has -1 for 'length'"),
    ],
)
def test_a_damaged_description_of_edges_is_refused(changes: dict[str, object], message: str) -> None:
    described = describe_features(GraphSet.from_networkx(rings("a", "b")), edges=True)
    with pytest.raises(ValueError, match=message):
        check_spec({**described, "edges": {**described["edges"], **changes}}, 1, 3)


def test_a_description_has_edges_if_and_only_if_the_network_uses_them() -> None:
    described = describe_features(GraphSet.from_networkx(rings("a")), edges=True)
    with pytest.raises(ValueError, match="the network takes none"):
        check_spec(described, 1)
    with pytest.raises(ValueError, match="the network takes some"):
        check_spec({key: described[key] for key in described if key != "edges"}, 1, 2)


def test_lists_in_python_get_the_features_that_a_model_expects() -> None:
    described = describe_features(GraphSet.from_networkx(rings("a", "b")), edges=True)
    new = rings("b")
    nx.set_edge_attributes(new[0], {edge: {"more": None} for edge in new[0].edges})
    assert edge_columns(as_graph_set(new, None, Expected(features=described))) == COLUMNS
    assert as_graph_set(rings("b")).num_edge_features == 0


def test_features_survive_files_subsets_and_joins(tmp_path: Path) -> None:
    graphs = GraphSet.from_networkx(rings("a", "b", "a"))
    graphs.save(tmp_path / "set")
    stored = GraphSet.load(tmp_path / "set")
    assert (stored.edge_spec, stored.fingerprint) == (graphs.edge_spec, graphs.fingerprint)
    assert join([stored[:1], stored[1:]]).fingerprint == graphs.fingerprint
    fitted = refit(graphs, [0], edges=True)  # which stores one-hot columns as attributes
    assert join([fitted[:1], fitted[1:]]).fingerprint == fitted.fingerprint
    with pytest.raises(GraphError, match="the edges of a set have the features"):
        join([graphs, GraphSet.from_networkx(rings("c"))])
    write_jsonlines(graphs, tmp_path / "x.jsonl")
    for back in (bankgcn.load(tmp_path / "x.jsonl"), GraphSet.from_networkx(to_networkx(graphs))):
        assert back.edge_signals().tolist() == graphs.edge_signals().tolist()


def test_an_undirected_edge_listed_in_both_directions_may_differ_in_features(tmp_path: Path) -> None:
    edges = [{"source": 0, "target": 1, "k": 1}, {"source": 1, "target": 0, "k": 2}]
    document = {"nodes": [{"id": 0}, {"id": 1}], "edges": edges}
    (tmp_path / "x.jsonl").write_text(json.dumps(document))
    graphs = bankgcn.load(tmp_path / "x.jsonl")
    assert graphs.edge_signals().tolist() == [[1], [2]]
    write_jsonlines(graphs, tmp_path / "y.jsonl")
    assert bankgcn.load(tmp_path / "y.jsonl").edge_signals().tolist() == [[1], [2]]
    assert bankgcn.load(tmp_path / "x.jsonl", symmetrise=True).edge_signals().tolist() == [[1.5], [1.5]]
    (tmp_path / "x.jsonl").write_text(json.dumps({**document, "edges": [edges[0], {**edges[0], "k": 3}]}))
    with pytest.raises(FileError, match="listed twice, with {'k': 1} and {'k': 3}"):
        bankgcn.load(tmp_path / "x.jsonl", edges=True)


def test_a_missing_entry_of_an_edge_is_left_out_filled_or_skipped(tmp_path: Path) -> None:
    graphs = rings("a", "b")
    del graphs[1].edges[0, 1]["length"]
    source = find_source(lines(graphs, tmp_path / "x.jsonl"))
    wanted = Expected(edges="all")
    with pytest.raises(FileError, match=r"jsonl:2: edge 0 has no 'length', but every edge needs it .*fill_missing"):
        source.load(None, wanted)
    assert source.load(ReadOptions(fill_missing="9"), wanted)[[1]].edge_signals()[0].tolist() == [9, 0, 1]
    assert len(source.load(ReadOptions(skip_unreadable=True), wanted)) == 1
    assert edge_columns(source.load(None, Expected(edges="any"))) == ["kind=a", "kind=b"]


def test_graphs_that_differ_in_features_of_edges_are_different_if_these_count() -> None:
    first, second = rings("a", "b")
    second = nx.cycle_graph(4)
    nx.set_edge_attributes(second, "b", "kind")
    nx.set_edge_attributes(second, 0.0, "length")
    nx.set_node_attributes(second, 1.0, "one")
    graphs = GraphSet.from_networkx([first, second, nx.relabel_nodes(first, {0: 2, 2: 0})])
    assert Duplicates.of(graphs).first.tolist() == [0, 0, 0]
    assert Duplicates.of(graphs, edges=True).first.tolist() == [0, 1, 0]


@pytest.mark.parametrize("few", [0, 1 << 16])
def test_edges_with_equal_features_have_one_kind(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bankgcn.data.graphs.FEW_VALUES", few)  # which are counted; more are sorted
    ring = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])
    labels = np.array([[2, 1], [0, 1], [2, 1], [0, 0]])
    both = {"edge_labels": np.concatenate([labels, labels]), "edge_label_widths": (3, 2)}
    graphs = GraphSet.from_edges([4], np.concatenate([ring, ring[::-1]], axis=1), attributes=np.ones((4, 1)), **both)
    arrays = graphs.featured
    np.testing.assert_array_equal(arrays.edge_features[arrays.edge_kind], graphs.edge_signals(slice(None)))
    assert arrays.edge_features.tolist() == [
        [1, 0, 0, 1, 0],
        [1, 0, 0, 0, 1],
        [0, 0, 1, 0, 1],
    ]  # in order of the labels
