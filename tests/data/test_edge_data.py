"""What edges carry besides weights is named wherever graphs come in, and not where they are published sets."""

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
from bankgcn.data.edge_data import SHOWN, UnusedEdgeData, edge_note, is_edge_note

NOT_USED = "which no network uses"


def _rings(**data: object) -> list[nx.Graph]:
    graphs = [nx.cycle_graph(5) for _ in range(8)]
    for graph in graphs:
        for key, value in data.items():
            nx.set_edge_attributes(graph, value, key)
    return graphs


def test_data_of_networkx_edges_are_named_but_not_the_weights_that_are_used() -> None:
    assert GraphSet.from_networkx(_rings(weight=2.0)).notes == ()
    (note,) = GraphSet.from_networkx(_rings(weight=2.0, kind="a", length=1)).notes
    assert note.startswith(f"the edges carry 'kind' and 'length', {NOT_USED}")
    assert "'weight'" in GraphSet.from_networkx(_rings(weight=2.0), weight=None).notes[0]


def test_attributes_of_pyg_edges_are_named_unless_they_are_weights() -> None:
    edges = torch.tensor([[0, 1], [1, 0]])
    one, several = torch.ones(2), torch.ones(2, 3)
    assert GraphSet.from_pyg([Data(num_nodes=2, edge_index=edges, edge_attr=one)]).notes == ()
    for unused in (Data(edge_attr=several), Data(edge_attr=one, edge_weight=one.clone())):
        unused.num_nodes, unused.edge_index = 2, edges
        assert GraphSet.from_pyg([unused]).notes[0].startswith(f"the edges carry edge_attr, {NOT_USED}")


def test_keys_of_edges_in_json_are_named(tmp_path: Path) -> None:
    document = nx.node_link_data(_rings(kind="a")[0], edges="edges")
    (tmp_path / "x.jsonl").write_text(f"{json.dumps(document)}\n")
    with pytest.warns(UnusedEdgeData, match="the edges carry 'kind'") as warned:
        graphs = bankgcn.load(tmp_path / "x.jsonl")
    assert [Path(each.filename).name for each in warned] == [Path(__file__).name]  # it names the caller's line
    assert is_edge_note(graphs.notes[-1])
    many = nx.MultiGraph([(0, 1), (0, 1)])
    (tmp_path / "x.jsonl").write_text(f"{json.dumps(nx.node_link_data(many, edges='edges'))}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not any(map(is_edge_note, bankgcn.load(tmp_path / "x.jsonl").notes))


def test_bonds_of_molecules_are_named(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    (note,) = GraphSet.from_smiles(["C/C=C/C", "C/C=C\\C"]).notes
    assert note.startswith(f"the bonds carry their order and their stereochemistry, {NOT_USED}")
    assert GraphSet.from_smiles(["C", "[Na+].[Cl-]"]).notes == ()
    (tmp_path / "x.csv").write_text("smiles,y\nCC,a\nC=C,b\n")
    with pytest.warns(UnusedEdgeData, match="the bonds carry"):
        bankgcn.load(tmp_path / "x.csv")


def test_a_training_in_python_warns_at_the_call_of_fit() -> None:
    labels = np.arange(8) % 2
    classifier = BankGCNClassifier(epochs=1, layers=1, hidden=8)
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
