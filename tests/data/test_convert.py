"""Graphs go to other libraries and come back the same."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.data import GraphError, GraphSet
from bankgcn.data.convert import from_adjacency, from_networkx, from_pyg, to_adjacency, to_networkx, to_pyg
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.features.spec import describe_features
from random_sets import RandomSet, graph_sets
from refusals import refused


def plain(drawn: RandomSet) -> GraphSet:
    """Without labels, which leave as the columns of one-hot attributes that they stand for."""
    return GraphSet.from_edges(
        drawn.num_nodes, drawn.edge_index, edge_weight=drawn.edge_weight, attributes=drawn.attributes, y=drawn.y
    )


@given(graph_sets(min_graphs=1))
def test_a_set_comes_back_from_pyg(drawn: RandomSet) -> None:
    assert from_pyg(to_pyg(plain(drawn))).fingerprint == plain(drawn).fingerprint


@given(graph_sets(min_graphs=1))
def test_a_set_comes_back_from_networkx(drawn: RandomSet) -> None:
    assert from_networkx(to_networkx(plain(drawn))).fingerprint == plain(drawn).fingerprint


@given(graph_sets(min_graphs=1))
def test_a_set_comes_back_from_matrices(drawn: RandomSet) -> None:
    graphs = plain(drawn)
    attributes = np.split(drawn.attributes, drawn.starts[1:])
    assert from_adjacency(to_adjacency(graphs), attributes, drawn.y).fingerprint == graphs.fingerprint


@given(graph_sets(min_graphs=1))
def test_labels_leave_as_one_hot_signals(drawn: RandomSet) -> None:
    graphs = drawn.build()
    for back in (from_pyg(to_pyg(graphs)), from_networkx(to_networkx(graphs))):
        np.testing.assert_array_equal(back.signals(), graphs.signals())


def test_nothing_comes_back_as_nothing() -> None:
    for empty in (from_pyg([]), from_networkx([]), from_adjacency([])):
        assert len(empty) == 0


def test_pyg_weights_are_taken_and_other_edge_attributes_left() -> None:
    from torch_geometric.data import Data

    edges = torch.tensor([[0, 1], [1, 0]])
    weights = torch.tensor([3.0, 3.0])
    for options, expected in (
        ({"edge_weight": weights}, [3, 3]),
        ({"edge_attr": weights}, [3, 3]),
        ({"edge_attr": torch.tensor([[1.0, 2.0], [1.0, 2.0]])}, None),
        ({"edge_attr": torch.tensor([1, 1])}, None),
    ):
        graphs = from_pyg([Data(edge_index=edges, num_nodes=2, **options)])
        assert (None if graphs.edge_weight is None else graphs.edge_weight.tolist()) == expected


def test_pyg_targets_are_classes_or_numbers() -> None:
    from torch_geometric.data import Data

    none = torch.zeros(2, 0, dtype=torch.long)
    assert from_pyg([Data(edge_index=none, num_nodes=1, y=torch.tensor(1))]).num_classes == 2
    several = from_pyg([Data(edge_index=none, num_nodes=1, y=torch.tensor([[0.5, 1.5]]))])
    assert several.y is not None
    assert several.y.tolist() == [[0.5, 1.5]]
    answers = from_pyg([Data(edge_index=none, num_nodes=1, y=torch.tensor([[0, 1]]))])
    assert answers.y is not None
    assert (answers.y.tolist(), answers.y.dtype) == ([[0, 1]], np.float32)


def test_networkx_targets_may_be_lists_or_named() -> None:
    listed = from_networkx([nx.Graph(y=[1, None]), nx.Graph(y=[2, 3])])
    np.testing.assert_array_equal(listed.y, np.array([[1, np.nan], [2, 3]], np.float32))
    named = from_networkx([nx.Graph(y={"a": 1}), nx.Graph(y={"a": 2})])
    assert (named.y.tolist(), named.targets) == ([1, 2], ("a",))
    with refused(GraphError, "'a'"):
        from_networkx([nx.Graph(y={"a": 1}), nx.Graph(y={"b": 2})])


@given(st.integers(1, 4), st.integers(1, 3), st.data())
def test_numbers_as_targets_come_back(num_graphs: int, columns: int, data: st.DataObject) -> None:
    cells = st.one_of(st.just(np.nan), st.floats(-100, 100, width=32))
    y = np.array(data.draw(st.lists(cells, min_size=num_graphs * columns, max_size=num_graphs * columns)), np.float32)
    names = [f"t{column}" for column in range(columns)] if columns > 1 and data.draw(st.booleans()) else []
    y = y.reshape(num_graphs, columns) if columns > 1 else y
    graphs = GraphSet.from_edges([1] * num_graphs, np.zeros((2, 0), int), y=y, targets=names)
    assert from_pyg(to_pyg(graphs)).fingerprint == graphs.fingerprint
    back = from_networkx(to_networkx(graphs))
    assert (back.fingerprint, back.targets) == (graphs.fingerprint, graphs.targets)


def test_errors_in_lists_name_the_graph() -> None:
    from torch_geometric.data import Data

    good = Data(torch.zeros(2, 1), torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0]))
    for bad, named in (
        (Data(torch.zeros(2, 1), torch.tensor([[0, 2], [2, 0]]), y=good.y), ("edge 0", (0, 2), "2 nodes")),
        (Data(torch.zeros(2, 1), torch.tensor([[0], [1]]), y=good.y), ((0, 1), "no reverse")),
        (Data(torch.zeros(2, 3), good.edge_index, y=good.y), ("x", (2, 3), "graph 0", (2, 1))),
        (Data(torch.zeros(2, 1), good.edge_index), ("no y",)),
        (
            Data(torch.zeros(2, 1), good.edge_index / 2, y=good.y),
            ("edge_index", "float64"),
        ),
        (Data(torch.zeros(1, 1), good.edge_index, y=good.y, num_nodes=2), ("x", (1, 1))),
    ):
        with refused(GraphError, "graph 1", *named):
            from_pyg([good, bad])
    with (
        pytest.warns(UserWarning, match="num_nodes"),
        pytest.raises(GraphError, match="graph 1 does not say how many"),
    ):
        from_pyg([good, Data(y=good.y)])
    with refused(GraphError, "graph 0", (2, 3)):
        from_adjacency([np.zeros((2, 3))])


def test_signals_belong_to_the_graph_of_their_place() -> None:
    matrices = [np.zeros((2, 2)), np.zeros((3, 3))]
    with refused(GraphError, "graph 0", "attributes", (3, 1), 2):
        from_adjacency(matrices, [np.full((3, 1), 7.0), np.full((2, 1), 9.0)])
    with refused(GraphError, "2 matrices", "1 graphs"):
        from_adjacency(matrices, [np.zeros((5, 1))])


def test_weights_belong_to_the_graph_of_their_place() -> None:
    from torch_geometric.data import Data

    edges = torch.tensor([[0, 1], [1, 0]])
    data_list = [Data(edge_index=edges, num_nodes=2, edge_weight=torch.ones(size)) for size in (1, 3)]
    with refused(GraphError, "graph 0", "edge_weight", (1,), 2):
        from_pyg(data_list)


def molecule(*elements: str) -> nx.Graph:
    graph = nx.path_graph(len(elements))
    for node, element in enumerate(elements):
        graph.add_node(node, element=element, charge=node)
    return graph


def test_networkx_words_become_labels_and_numbers_attributes() -> None:
    graphs = from_networkx([molecule("O", "C"), molecule("C")], y=[1, 0])
    assert graphs.signals().tolist() == [[0, 0, 1], [1, 1, 0], [0, 1, 0]]  # charge, then C, then O
    assert graphs.num_edges.tolist() == [1, 0]


def test_graphs_to_predict_get_the_columns_of_the_graphs_trained_on() -> None:
    schema = NodeSchema.infer(data for _, data in molecule("C", "N", "O").nodes(data=True))
    graphs = from_networkx([molecule("O")], schema=schema)
    assert graphs.signals().tolist() == [[0, 0, 0, 1]]
    with refused(GraphError, "'element'", "node 0", "'S'", "C, N, O"):
        from_networkx([molecule("S")], schema=schema)


def test_networkx_graphs_keep_their_schema(tmp_path: Path) -> None:
    graphs = from_networkx([molecule("O", "C"), molecule("N")])
    assert NodeSchema.from_spec(graphs.feature_spec) == NodeSchema({"charge": 1}, {"element": ("C", "N", "O")})
    graphs[:1].save(tmp_path / "some.graphs")
    assert describe_features(GraphSet.load(tmp_path / "some.graphs")) == describe_features(graphs)
    assert from_networkx([nx.path_graph(2)]).feature_spec == {}


def test_networkx_keys_that_are_no_words_can_be_saved(tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_node("a", **{"size": 3})
    graph.nodes["a"][("at", 0)] = 1.5
    graphs = from_networkx([graph])
    graphs.save(tmp_path / "odd.graphs")
    assert describe_features(GraphSet.load(tmp_path / "odd.graphs")) == describe_features(graphs)
    assert graphs.feature_spec["numbers"] == {"('at', 0)": 1, "size": 1}


def test_networkx_nodes_may_be_anything_and_edges_may_lack_a_weight() -> None:
    graph = nx.Graph()
    graph.add_edge("a", ("b", 1), weight=2.5)
    graph.add_edge("a", frozenset(), label="no weight")
    graphs = from_networkx([graph])
    assert graphs.edge_weight is not None
    assert graphs.edge_weight.tolist() == [2.5, 1, 2.5, 1]
    assert from_networkx([graph], weight=None).edge_weight is None


def test_parallel_edges_add_up_and_directed_graphs_are_refused() -> None:
    graphs = from_networkx([nx.MultiGraph([(0, 1), (0, 1)])])
    assert graphs.edge_weight is not None
    assert graphs.edge_weight.tolist() == [2, 2]
    with pytest.raises(GraphError, match="no reverse"):
        from_networkx([nx.DiGraph([(0, 1)])])
    assert from_networkx([nx.DiGraph([(0, 1)])], symmetrise=True).num_edges.tolist() == [1]


def test_directions_that_rounding_parted_are_joined_again() -> None:
    weights = np.array([0.1, 0.2, 0.3, 0.7, 0.3, 0.7, 0.2, 0.1], np.float32)
    graphs = GraphSet.from_edges([2], [[0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0, 0]], edge_weight=weights)
    assert graphs.edge_weight[0] == graphs.edge_weight[1]
    assert from_networkx(to_networkx(graphs)).fingerprint == graphs.fingerprint


def two_molecules() -> list[nx.Graph]:
    first, second = nx.Graph(), nx.Graph()
    first.add_nodes_from(
        [("a", {"element": "C", "charge": 1.0, "kind": 1}), ("b", {"element": "N", "charge": 2, "kind": 2})]
    )
    second.add_nodes_from(
        [("c", {"element": "C", "charge": 0.5, "kind": 2}), ("d", {"element": "C", "charge": 0, "kind": 1})]
    )
    first.add_edge("a", "b")
    second.add_edge("c", "d")
    return [first, second]


def test_named_node_data_are_read_alone() -> None:
    graphs = GraphSet.from_networkx(two_molecules(), attributes=["charge"])
    assert (graphs.num_attributes, graphs.label_widths) == (1, ())
    graphs = GraphSet.from_networkx(two_molecules(), categories=["kind", "element"])
    assert (graphs.num_attributes, graphs.label_widths) == (0, (2, 2))
    assert graphs.feature_spec["words"] == {"element": ["C", "N"], "kind": ["1", "2"]}
    with refused(ValueError, "'chrage'", "'charge'"):
        GraphSet.from_networkx(two_molecules(), attributes=["chrage"])


def test_numbers_that_a_schema_knows_as_words_are_words() -> None:
    schema = NodeSchema.from_spec(GraphSet.from_networkx(two_molecules(), categories=["kind"]).feature_spec)
    again = from_networkx(two_molecules(), schema=schema)
    assert again.labels.tolist() == [[0], [1], [1], [0]]


def test_errors_in_node_data_name_the_graph_and_the_node() -> None:
    graphs = two_molecules()
    del graphs[1].nodes["d"]["charge"]
    with refused(GraphError, "graph 1", "node 1", "'charge'", "'d'"):
        from_networkx(graphs)
    graphs = two_molecules()
    graphs[1].nodes["c"]["element"] = 6
    with refused(GraphError, "graph 1", "'element'", "node 0", 6, "'c'", "categories=['element']"):
        from_networkx(graphs)
    assert from_networkx(graphs, categories=["element"]).feature_spec["words"] == {"element": ["6", "C", "N"]}
    graphs[0].nodes["a"]["charge"] = None
    with refused(GraphError, "graph 0", "'charge'", "node 0", None):
        from_networkx(graphs, attributes=["charge"])


def test_errors_in_weights_name_the_graph_and_the_edge() -> None:
    graphs = two_molecules()
    for wrong in ("heavy", -1, float("nan")):
        graphs[1].edges["c", "d"]["weight"] = wrong
        with refused(GraphError, "graph 1", ("c", "d"), weight=None):
            from_networkx(graphs)
    assert from_networkx(graphs, weight=None).edge_weight is None


def test_words_are_classes_in_every_form() -> None:
    y, matrices = ["yes", "no"], [np.ones((2, 2)) - np.eye(2)] * 2
    carried = two_molecules()
    for graph, word in zip(carried, y, strict=True):
        graph.graph["y"] = word
    data_list = to_pyg(from_networkx(two_molecules()))
    sets = [
        GraphSet.from_networkx(two_molecules(), y),
        GraphSet.from_networkx(carried),
        GraphSet.from_pyg(data_list, np.array(y, object)),
        GraphSet.from_adjacency(matrices, y),
        GraphSet.from_smiles(["CC", "CO"], y),
        GraphSet.from_edges([1, 1], np.zeros((2, 0), int), y=y),
    ]
    for graphs in sets:
        assert (graphs.y.tolist(), graphs.classes) == ([1, 0], ("no", "yes"))
    assert GraphSet.from_edges([1, 1], np.zeros((2, 0), int), y=y, classes=["yes", "no"]).y.tolist() == [0, 1]
    with refused(GraphError, "graph 1", "'no'", "yes"):
        GraphSet.from_edges([1, 1], np.zeros((2, 0), int), y=y, classes=["yes"])
    with pytest.raises(GraphError, match="graph 1: there is no target"):
        GraphSet.from_edges([1, 1], np.zeros((2, 0), int), y=["yes", None])


def test_targets_may_be_left_out() -> None:
    graphs = two_molecules()
    graphs[0].graph["y"] = object()
    assert from_networkx(graphs, has_target=False).y is None
    named = from_networkx(graphs, [{"a": 1.0, "b": None}, {"a": 2, "b": 0.5}])
    assert named.targets == ("a", "b")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (10**400, "an integer of about 401 digits"),
        ([0, -(10**5_000)], "an integer of about 5,001 digits"),
        (1e300, "1e+300"),
    ],
)
def test_a_number_too_large_for_single_precision_is_named_with_its_place(value: object, shown: str) -> None:
    graph = nx.path_graph(["a", "b"])
    nx.set_node_attributes(graph, value, "charge")
    with refused(GraphError, "graph 1", "'charge'", "node 0", shown, "3.4e+38"):
        from_networkx([nx.Graph(), graph])


def test_a_weight_or_a_target_too_large_is_named_with_its_place() -> None:
    graph = nx.path_graph(2)
    nx.set_edge_attributes(graph, 10**400, "weight")
    with refused(GraphError, "graph 0", (0, 1), 401):
        from_networkx([graph])
    with refused(GraphError, "graph 1", "5,001"):
        from_networkx([nx.path_graph(2), nx.path_graph(2)], [1, 10**5_000])
