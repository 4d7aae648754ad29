"""What edges carry besides weights is read, or named where it is not, and not named of published sets."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import bankgcn
from bankgcn import BankGCNClassifier, GraphSet
from bankgcn.data import GraphError
from bankgcn.data.convert import to_networkx
from bankgcn.data.edge_data import (
    SHOWN,
    UnusedEdgeData,
    check_equal_directions,
    edge_note,
    is_edge_note,
    unused_edge_notes,
    warn_of_edge_data,
    with_mean_edge_features,
    without_edge_features,
)
from bankgcn.data.features.spec import edge_columns
from bankgcn.data.sources import find_source

NOT_USED = "which no network uses"


def _rings(**data: object) -> list[nx.Graph]:
    graphs = [nx.cycle_graph(5) for _ in range(8)]
    for graph in graphs:
        for key, value in data.items():
            nx.set_edge_attributes(graph, value, key)
    return graphs


def test_data_of_networkx_edges_are_named_but_not_the_weights_that_are_used() -> None:
    assert GraphSet.from_networkx(_rings(weight=2.0)).notes == ()
    both = _rings(weight=2.0, kind="a", length=1)
    (note,) = GraphSet.from_networkx(both, edge_data="none").notes
    assert note.startswith(f"the edges carry 'kind' and 'length', {NOT_USED}")
    graphs = GraphSet.from_networkx(both)
    assert (graphs.notes, unused_edge_notes(graphs)) == ((), (note,))
    assert "'weight'" in unused_edge_notes(GraphSet.from_networkx(_rings(weight=2.0), weight=None))[0]


def test_attributes_of_pyg_edges_are_named_unless_they_are_weights() -> None:
    edges = torch.tensor([[0, 1], [1, 0]])
    one, several = torch.ones(2), torch.ones(2, 3)
    assert GraphSet.from_pyg([Data(num_nodes=2, edge_index=edges, edge_attr=one)]).notes == ()
    for carried in (Data(edge_attr=several), Data(edge_attr=one, edge_weight=one.clone())):
        carried.num_nodes, carried.edge_index = 2, edges
        graphs = GraphSet.from_pyg([carried], edge_data="none")
        assert graphs.notes[0].startswith(f"the edges carry edge_attr, {NOT_USED}")
        assert unused_edge_notes(GraphSet.from_pyg([carried]))[0].startswith("the edges carry 'edge_attr', ")


def test_keys_of_edges_in_json_are_named(tmp_path: Path) -> None:
    document = nx.node_link_data(_rings(kind="a")[0], edges="edges")
    (tmp_path / "x.jsonl").write_text(f"{json.dumps(document)}\n")
    note = find_source(tmp_path / "x.jsonl").load().notes[-1]
    assert is_edge_note(note)
    graphs = bankgcn.load(tmp_path / "x.jsonl")
    assert (graphs.notes, unused_edge_notes(graphs)) == ((), (note,))
    assert bankgcn.load(tmp_path / "x.jsonl", edges=False).notes[-1] == note
    many = nx.MultiGraph([(0, 1), (0, 1)])
    (tmp_path / "x.jsonl").write_text(f"{json.dumps(nx.node_link_data(many, edges='edges'))}\n")
    assert not any(map(is_edge_note, find_source(tmp_path / "x.jsonl").load().notes))


def test_bonds_of_molecules_are_named(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    (note,) = GraphSet.from_smiles(["C/C=C/C", "C/C=C\\C"], with_bonds=False).notes
    assert note.startswith(f"the bonds carry their order and their stereochemistry, {NOT_USED}")
    assert GraphSet.from_smiles(["C", "[Na+].[Cl-]"], with_bonds=False).notes == ()
    (tmp_path / "x.csv").write_text("smiles,y\nCC,a\nC=C,b\n")
    graphs = bankgcn.load(tmp_path / "x.csv")
    with pytest.warns(UnusedEdgeData, match="the bonds carry") as warned:
        warn_of_edge_data(graphs, stacklevel=1)
    assert [Path(each.filename).name for each in warned] == [Path(__file__).name]  # it names the caller's line


def test_keys_that_cannot_be_features_are_left_out_with_the_reason_or_refused() -> None:
    rings = _rings(kind="a", length=1.5)
    del rings[3].edges[0, 1]["length"]
    graphs = GraphSet.from_networkx(rings)
    assert graphs.notes == ("the edges carry 'length', which is left out: 1 of 40 edges have none",)
    assert edge_columns(graphs) == ["kind=a"]
    with pytest.raises(GraphError, match=r"graph 3: edge 0 has no 'length'.*\(edge 0 is \(0, 1\)\)"):
        GraphSet.from_networkx(rings, edge_data="all")


def test_without_edge_features_a_set_is_as_it_is_read_without_them() -> None:
    rings = _rings(kind="a", length=1.5)
    graphs = GraphSet.from_networkx(rings)
    plain = GraphSet.from_networkx(rings, edge_data="none")
    assert without_edge_features(graphs).fingerprint == plain.fingerprint != graphs.fingerprint
    mutag = bankgcn.load("MUTAG")
    assert without_edge_features(mutag) is mutag


def test_directions_that_differ_are_kept_and_named_and_averaged_on_request() -> None:
    graph = nx.DiGraph()
    graph.add_edge(0, 1, kind="x", length=1.0)
    graph.add_edge(1, 0, kind="y", length=2.0)
    one = nx.DiGraph([(0, 1), (1, 0)])
    nx.set_edge_attributes(one, {edge: {"kind": "x", "length": 5.0} for edge in one.edges})
    graphs = GraphSet.from_networkx([one, graph])
    assert graphs.unequal_edge == (1, (0, 1), ("length=1, kind=x", "length=2, kind=y"))
    with pytest.raises(GraphError, match=r"edge \(0, 1\) of graph 1 has length=1, kind=x, .*symmetrise=True"):
        check_equal_directions(graphs)
    mean = with_mean_edge_features(graphs)
    assert mean.unequal_edge is None
    assert mean.edge_signals()[2:].tolist() == [[1.5, 0.5, 0.5]] * 2
    assert GraphSet.from_networkx([one, graph], symmetrise=True).edge_signals().tolist() == mean.edge_signals().tolist()
    assert to_networkx(graphs)[1].edges[1, 0]["edge_attr"] == [2, 0, 1]
    assert graphs[[0]].unequal_edge is None


def test_a_training_in_python_warns_at_the_call_of_fit() -> None:
    labels = np.arange(8) % 2
    classifier = BankGCNClassifier(epochs=1, layers=1, hidden=8, edges="none")
    with pytest.warns(UnusedEdgeData, match="the edges carry 'kind'") as warned:
        classifier.fit(_rings(kind="a"), labels)
    assert [Path(each.filename).name for each in warned] == [Path(__file__).name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier.fit(_rings(weight=1.5), labels)
        classifier.predict(_rings(kind="a"))


def test_a_published_set_has_no_such_note_so_that_its_records_stay(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graphs = bankgcn.load("MUTAG")
    assert graphs.edge_labels is not None
    assert not any(map(is_edge_note, graphs.notes))


def test_many_names_are_counted() -> None:
    assert " and 2 more, which" in edge_note([f"'{number}'" for number in range(SHOWN + 2)])[0]
