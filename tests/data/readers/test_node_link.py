"""Node-link documents as NetworkX writes them, by hand, and wrong."""

from __future__ import annotations

from typing import Any

import pytest

from bankgcn.data import GraphError
from bankgcn.data.readers.node_link import parse_node_link
from refusals import refused

NODES = [{"id": 0}, {"id": "a"}, {"id": 5}]


def _document(*edges: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"nodes": NODES, "edges": list(edges), **more}


def _edge(source: object, target: object, **more: object) -> dict[str, Any]:
    return {"source": source, "target": target, **more}


def test_nodes_are_numbered_in_their_order_whatever_their_ids() -> None:
    graph = parse_node_link(_document(_edge(5, "a"), _edge(0, 5, weight=2)))
    assert graph.edges == [(2, 1, 1.0), (0, 2, 2.0), (1, 2, 1.0), (2, 0, 2.0)]
    assert graph.weighted


def test_edges_may_be_called_links() -> None:
    document = {"nodes": NODES, "links": [_edge(0, 5)]}
    assert parse_node_link(document).edges == [(0, 2, 1.0), (2, 0, 1.0)]
    with refused(GraphError, "'edges'", "'links'"):
        parse_node_link({**document, "edges": []})


def test_an_undirected_edge_may_stand_in_both_directions_but_counts_once() -> None:
    assert parse_node_link(_document(_edge(0, 5), _edge(5, 0))).edges == [(0, 2, 1.0), (2, 0, 1.0)]
    with pytest.raises(GraphError, match="between nodes 2 and 0 is listed twice, with weights 1 and 2"):
        parse_node_link(_document(_edge(0, 5), _edge(5, 0, weight=2)))


def test_edges_of_a_multigraph_all_count() -> None:
    graph = parse_node_link(_document(_edge(0, 5), _edge(5, 0, weight=2), multigraph=True))
    assert sorted(graph.edges) == [(0, 2, 1.0), (0, 2, 2.0), (2, 0, 1.0), (2, 0, 2.0)]


def test_edges_of_a_directed_graph_stay_as_they_are() -> None:
    graph = parse_node_link(_document(_edge(0, 5), _edge(5, 0, weight=2), directed=True))
    assert graph.edges == [(0, 2, 1.0), (2, 0, 2.0)]
    assert graph.directed


def test_a_loop_stands_once() -> None:
    assert parse_node_link(_document(_edge(0, 0))).edges == [(0, 0, 1.0)]


@pytest.mark.parametrize("target", ["yes", 3, 0.5, True, [0.5, 1], [None, 1], {"a": 1.0, "b": None}])
def test_the_target_is_of_the_graph_or_of_the_document(target: object) -> None:
    assert parse_node_link(_document(graph={"y": target})).target == target
    assert parse_node_link(_document(target=target)).target == target
    assert parse_node_link(_document()).target is None
    with pytest.raises(GraphError, match="has two targets"):
        parse_node_link(_document(target=target, graph={"y": target}))


def test_a_key_of_the_target_may_contain_a_comma() -> None:
    graph = {"IC50, nM": 0.5, "a": 1, "b": 2}
    assert parse_node_link(_document(graph=graph), "IC50, nM").target == 0.5
    assert parse_node_link(_document(**graph), "IC50, nM").target == 0.5
    assert parse_node_link(_document(graph=graph), "a, b").target == {"a": 1, "b": 2}


def test_the_name_is_of_the_graph_or_of_the_document() -> None:
    assert parse_node_link(_document(graph={"name": "benzene"})).name == "benzene"
    assert parse_node_link(_document(name=7)).name == "7"


def test_signals_are_what_nodes_have_beside_their_ids() -> None:
    nodes = [{"id": 0, "x": [1, 2.5], "element": "C", "charge": -1, "ring": True}]
    assert parse_node_link({"nodes": nodes, "edges": []}).nodes == [
        {"x": [1, 2.5], "element": "C", "charge": -1, "ring": True}
    ]


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ([], ("[]",)),
        ({}, ("'nodes'",)),
        ({"nodes": 3}, ("'nodes'", 3)),
        ({"nodes": []}, ("'edges'",)),
        ({"nodes": [1], "edges": []}, ("entry 0", "'nodes'", 1)),
        ({"nodes": [{}], "edges": []}, ("node 0", "'id'")),
        ({"nodes": [{"id": 1.5}], "edges": []}, ("node 0", "id", 1.5)),
        ({"nodes": [{"id": True}], "edges": []}, ("node 0", "id", True)),
        ({"nodes": [{"id": [1, 2]}], "edges": []}, ("node 0", "id", [1, 2])),
        ({"nodes": [{"id": 1}, {"id": 1}], "edges": []}, ("nodes 0 and 1", "id 1")),
        (_document(_edge(0, 9)), ("edge 0", "target 9")),
        (_document({"target": 0}), ("edge 0", "source None")),
        (_document(_edge(0, {})), ("edge 0", "target {}")),
        (_document(_edge(0, 5, weight=-1)), ("edge 0", "weight -1")),
        (_document(_edge(0, 5, weight="2")), ("edge 0", "weight '2'")),
        (_document(_edge(0, 5, weight=10**40)), ("edge 0", str(10**40)[:40])),
        (_document(_edge(0, 5, weight=None)), ("edge 0", "weight None")),
        (_document(directed="no"), ("'directed'", "'no'")),
        (_document(graph=[]), ("'graph'", "[]")),
        (_document(target={}), ("target", "{}")),
        (_document(target=[]), ("target", "[]")),
        (_document(target=[1, "a"]), ("target", [1, "a"])),
        (_document(target={"a": [1]}), ("target", {"a": [1]})),
        ({"nodes": [{"id": 0, "x": None}], "edges": []}, ("'x'", "node 0", None)),
        ({"nodes": [{"id": 0, "x": ["a"]}], "edges": []}, ("'x'", "node 0", ["a"])),
        ({"nodes": [{"id": "n", "x": 1e39}], "edges": []}, ("'x'", "node 'n'", "1e+39")),
        ({"nodes": [{"id": "n", "x": "y", "z": {}}], "edges": []}, ("'z'", "node 'n'", "{}")),
    ],
)
def test_a_wrong_document_is_refused_with_what_is_wrong(document: object, named: tuple) -> None:
    with refused(GraphError, *named):
        parse_node_link(document)
