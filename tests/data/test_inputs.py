"""Every form of a list of graphs becomes a set; anything else is refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from bankgcn.data import GraphError, GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.sources import as_graph_set
from refusals import refused

DATA = Data(x=torch.ones(2, 3), edge_index=torch.tensor([[0, 1], [1, 0]]))


@pytest.mark.parametrize(
    "items", [[nx.path_graph(2)], [DATA], ["CC"], [as_graph_set(["CC"])]], ids=lambda i: str(type(i[0]))
)
def test_a_list_and_an_array_of_every_form_are_read(items: list) -> None:
    array = np.empty(2, object)
    array[:] = [items[0], items[0]]
    for several in (items * 2, tuple(items * 2), array):
        graphs = as_graph_set(several)
        assert graphs.num_nodes.tolist() == [2, 2]
        assert graphs.num_edges.tolist() == [1, 1]


def test_a_set_is_returned_as_it_is() -> None:
    graphs = as_graph_set(["CC"])
    assert as_graph_set(graphs) is graphs


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            "CCO",
            r"expected a list of graphs, but this is a SMILES: put it into a list; bankgcn.load\(path\) reads a file",
        ),
        (nx.path_graph(2), "expected a list of graphs, but this is a NetworkX graph: put it into a list$"),
        (DATA, "this is a PyG Data"),
        (5, "this is of type int"),
        ([], "there are no graphs"),
        (["CC", nx.path_graph(2)], "graph 1 is a NetworkX graph, but graph 0 is a SMILES: expected one kind"),
        (
            np.ones((2, 3)),
            "graph 0 is of type ndarray, expected a GraphSet or a SMILES or an RDKit molecule or a NetworkX graph",
        ),
        (["CC", "xyz"], "1 of 2 molecules cannot be read"),
    ],
)
def test_what_is_no_list_of_graphs_is_refused(wrong: object, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        as_graph_set(wrong)


def test_options_reach_the_readers() -> None:
    assert as_graph_set(["CC"], ReadOptions(features="onehot")).num_features == 174
    assert as_graph_set(["CC"], expected=Expected(features={"kind": "atoms", "features": "onehot"})).num_features == 174
    directed = nx.DiGraph([(0, 1)])
    with refused(GraphError, advice={"symmetrise": True}):
        as_graph_set([directed])
    assert as_graph_set([directed], ReadOptions(symmetrise=True)).num_edges.tolist() == [1]
    directed.graph["y"] = "word"
    read = as_graph_set([directed], ReadOptions(symmetrise=True))
    assert (read.classes, as_graph_set([directed], ReadOptions(symmetrise=True), Expected(has_target=False)).y) == (
        ("word",),
        None,
    )


def test_new_graphs_get_the_columns_that_a_model_expects() -> None:
    graph = nx.Graph()
    graph.add_node(0, element="N", other=5)
    expected = {"kind": "named", "numbers": {}, "words": {"element": ["C", "N"]}}
    assert as_graph_set([graph], expected=Expected(features=expected)).signals().tolist() == [[0.0, 1.0]]


def test_graphs_without_anything_but_edges_are_read() -> None:
    assert isinstance(as_graph_set([nx.Graph()]), GraphSet)


class Table:
    """What a table of pandas does where this package looks."""

    columns = ("SMILES", "y")

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Table(), r"this is a Table with 'SMILES', 'y': give the column of the graphs, such as table\['SMILES'\]"),
        ({"smiles": ["C"]}, r"this is a dict with 'smiles': give the column .* such as table\['smiles'\]"),
        ("molecules.csv", r"this is the path of a file: give bankgcn.load\('molecules.csv'\)"),
        (Path("runs"), r"this is the path of a file: give bankgcn.load\('runs'\)"),
        (["a.sdf", "b.sdf"], r"graph 0 is the path of a file: give bankgcn.load\('a.sdf'\) instead of a list"),
        (__file__, "this is the path of a file: give bankgcn.load"),
        ("F/C=C/F", "this is a SMILES: put it into a list"),
    ],
)
def test_tables_and_paths_are_no_lists_of_molecules(given: object, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        as_graph_set(given)
