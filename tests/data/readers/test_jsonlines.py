"""Files of node-link graphs: against NetworkX, there and back, and broken."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankgcn.data.builtin import mutag
from bankgcn.data.convert import from_networkx
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.json_graphs import read_json, read_jsonlines, read_schema, write_jsonlines
from bankgcn.data.sources import load_source
from bankgcn.files.checked import FileError
from refusals import refused


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "graphs.jsonl"


def _networkx() -> list[nx.Graph]:
    graphs = []
    for seed, y in enumerate(["smooth", "rough", "smooth"]):
        graph = nx.gnp_random_graph(7, 0.5, seed=seed)
        graph.graph.update(y=y, name=f"graph {seed}")
        for node in graph:
            graph.nodes[node].update(element="CNO"[(node + seed) % 3], position=[node / 8, seed], charge=node - 3)
        for place, edge in enumerate(graph.edges):
            graph.edges[edge]["weight"] = 1 + place / 4
        graphs.append(nx.relabel_nodes(graph, {node: f"n{node}" for node in graph}) if seed else graph)
    return graphs


def _write(path: Path, *documents: Any) -> Path:
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return path


@pytest.mark.parametrize("key", ["edges", "links"])
def test_what_networkx_writes_is_read_as_networkx_has_it(path: Path, key: str) -> None:
    graphs = _networkx()
    read = read_jsonlines(_write(path, *(nx.node_link_data(graph, edges=key) for graph in graphs)))
    expected = from_networkx(graphs, [1, 0, 1])
    assert (read.batch().x == expected.batch().x).all()
    assert (read.batch().edge_index == expected.batch().edge_index).all()
    assert (read.edge_weight == expected.edge_weight).all()
    assert read.y.tolist() == [1, 0, 1]
    assert read.classes == ("rough", "smooth")
    assert read.names == ("graph 0", "graph 1", "graph 2")
    assert read.name == "graphs"


def test_what_is_written_comes_back_the_same_and_networkx_can_read_it(path: Path) -> None:
    molecules = mutag()[:20]
    write_jsonlines(molecules, path)
    read = read_jsonlines(path)
    assert (read.batch().x == molecules.batch().x).all()
    assert (read.batch().edge_index == molecules.batch().edge_index).all()
    assert (read.y == molecules.y).all()
    assert read.classes == ("-1", "1")
    assert read.edge_weight is None
    for line, number in zip(path.read_text().splitlines(), range(20), strict=True):
        graph = nx.node_link_graph(json.loads(line), edges="edges")
        assert graph.number_of_edges() == molecules.num_edges[number]
        assert graph.graph["y"] == molecules.classes[molecules.y[number]]


def test_weights_names_and_real_targets_come_back_bit_for_bit(path: Path) -> None:
    third = np.float32(1 / 3)
    graphs = GraphSet.from_edges(
        [2, 1],
        [[0, 1], [1, 0]],
        attributes=np.array([[third], [1e-30], [3e38]], np.float32),
        edge_weight=[third, third],
        y=np.array([[third, 2], [0, -1]], np.float32),
        names=["one", "two"],
    )
    write_jsonlines(graphs, path)
    assert read_jsonlines(path).fingerprint == graphs.fingerprint


def test_graphs_without_signals_targets_or_edges_are_graphs(path: Path) -> None:
    graphs = read_jsonlines(_write(path, {"nodes": [{"id": 0}], "edges": []}, {"nodes": [], "edges": []}))
    assert graphs.num_nodes.tolist() == [1, 0]
    assert (graphs.num_features, graphs.y, graphs.names, graphs.edge_weight) == (0, None, None, None)
    write_jsonlines(graphs, path)
    assert read_jsonlines(path).fingerprint == graphs.fingerprint


def test_graphs_to_predict_take_the_columns_and_classes_of_the_training_graphs(path: Path) -> None:
    def document(element: str, **more: Any) -> dict[str, Any]:
        return {"nodes": [{"id": 0, "element": element}], "edges": [], **more}

    schema = read_schema(_write(path, document("C"), document("N"), document("O")))
    assert schema == NodeSchema({}, {"element": ("C", "N", "O")})
    later = read_jsonlines(
        _write(path, document("O", target="b")), expected=Expected(features=schema.spec, classes=("a", "b"))
    )
    assert later.batch().x.tolist() == [[0, 0, 1]]
    assert later.y.tolist() == [1]
    with refused(FileError, "'element'", "node 0", "'F'", "C, N, O", at="graphs.jsonl:2"):
        read_jsonlines(_write(path, document("O"), document("F")), expected=Expected(features=schema.spec))


NODE = {"id": 0}


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"", None, "is empty"),
        (b"\n \n", None, "is empty"),
        (b'{"nodes": [\n', 1, "is not a graph in JSON, at column"),
        (b'{"nodes": [], "edges": []}\n\n[]\n', 3, r"is \[\], expected an object"),
        (b'{"nodes": [], "edges": []}\n{"nodes": [{"id": 0, "x": NaN}]}\n', 2, "NaN is not a finite number"),
        (b'{"nodes": [{"id": 0, "x": 1e999}], "edges": []}\n', 1, "'x' of node 0 is inf"),
        (b'{"nodes": [{"id": 0, "x": 1%s}], "edges": []}\n' % (b"0" * 5000), 1, "is not a graph in JSON: Exceeds"),
        (b"[" * 200_000, 1, "is not a graph in JSON: maximum recursion"),
        (b'{"nodes": [], "edges": []}\n"\xff"\n', 2, "is not a graph in JSON: 'utf-8' codec"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(path: Path, content: bytes, line: int, message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(FileError, match=message) as caught:
        read_jsonlines(path)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"nodes": [{"id": 0, "x": "a"}], "edges": [], "target": 1}, "'x' of node 0 is 'a', but numbers came before"),
        ({"nodes": [{"id": 0, "x": [1, 2]}], "edges": [], "target": 1}, "'x' of node 0 has 2 numbers, expected 1"),
        ({"nodes": [{"id": 0}], "edges": [], "target": 1}, "node 0 has no 'x'"),
        ({"nodes": [{"id": 0, "x": 1}], "edges": []}, "has no target, but other lines have"),
        (
            {
                "nodes": [{"id": 0, "x": 1}, {"id": 1, "x": 1}],
                "edges": [{"source": 0, "target": 1}],
                "directed": True,
                "target": 1,
            },
            r"edge \(0, 1\) has no reverse",
        ),
    ],
)
def test_a_line_that_does_not_fit_the_others_is_named(path: Path, second: dict, message: str) -> None:
    _write(path, {"nodes": [{"id": 0, "x": 1}], "edges": [], "target": 1}, second)
    with pytest.raises(FileError, match=message) as caught:
        read_jsonlines(path)
    assert caught.value.line == 2


def test_targets_are_all_lists_of_one_length_or_none_is(path: Path) -> None:
    for targets, line in [([1, [1, 2]], 1), ([[1, 2], [3]], 2), ([[1, 2], "a"], 2)]:
        _write(path, *({"nodes": [NODE], "edges": [], "target": target} for target in targets))
        with refused(FileError, "2 numbers") as caught:
            read_jsonlines(path)
        assert caught.value.line == line


def _graphs(*targets: Any) -> list[dict[str, Any]]:
    return [{"nodes": [NODE], "edges": [], "target": target} for target in targets]


def test_null_in_a_list_of_targets_is_unknown(path: Path) -> None:
    graphs = read_jsonlines(_write(path, *_graphs([1, None], [None, 0], [True, False])))
    np.testing.assert_array_equal(graphs.y, np.array([[1, np.nan], [np.nan, 0], [1, 0]], np.float32))
    assert (graphs.classes, graphs.targets) == ((), ())


def test_targets_of_an_object_are_named_columns(path: Path) -> None:
    graphs = read_jsonlines(_write(path, *_graphs({"logp": 1.5, "tox": None}, {"tox": 1, "logp": -2})))
    np.testing.assert_array_equal(graphs.y, np.array([[1.5, np.nan], [-2, 1]], np.float32))
    assert graphs.targets == ("logp", "tox")
    write_jsonlines(graphs, path)
    again = read_jsonlines(path)
    assert (again.fingerprint, again.targets) == (graphs.fingerprint, graphs.targets)


def test_an_object_with_one_target_is_one_column(path: Path) -> None:
    graphs = read_jsonlines(_write(path, *_graphs({"logp": 1.5}, {"logp": 2})))
    assert (graphs.y.tolist(), graphs.targets) == ([1.5, 2], ("logp",))
    assert read_jsonlines(_write(path, *_graphs({"a": "yes"}, {"a": "no"}))).classes == ("no", "yes")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"a": 1}, r"target \{'a': 1\}: expected 'a', 'b', as in other graphs"),
        ({"a": 1, "c": 1}, "expected 'a', 'b'"),
        ([1, 2], "expected 'a', 'b'"),
        ({"a": 1, "b": "high"}, "column 'b': target 'high' is not a number"),
        ({"a": None, "b": None}, "has no target, but other lines have"),
    ],
)
def test_targets_that_do_not_fit_the_others_are_named(path: Path, second: Any, message: str) -> None:
    _write(path, *_graphs({"a": 0, "b": 1}, second))
    with pytest.raises(FileError, match=message) as caught:
        read_jsonlines(path)
    assert caught.value.line == 2


def test_the_task_decides_what_whole_numbers_are(path: Path) -> None:
    _write(path, *_graphs(*range(30)))
    with refused(FileError, "30 different", task="values") as caught:
        read_jsonlines(path)
    assert caught.value.line is None
    assert read_jsonlines(path, expected=Expected(task="classes")).num_classes == 30
    assert read_jsonlines(path, expected=Expected(task="values")).y.tolist() == [*range(30)]


def test_directed_graphs_are_symmetrised_on_request(path: Path) -> None:
    edges = [{"source": 0, "target": 1}]
    _write(path, {"directed": True, "nodes": [{"id": 0}, {"id": 1}], "edges": edges})
    assert read_jsonlines(path, ReadOptions(symmetrise=True)).num_edges.tolist() == [1]


def test_targets_can_be_left_unread(path: Path) -> None:
    _write(path, {"nodes": [NODE], "edges": [], "target": 1}, {"nodes": [NODE], "edges": []})
    assert read_jsonlines(path, expected=Expected(has_target=False)).y is None


def test_a_missing_file_says_so(path: Path) -> None:
    with refused(FileError, at="graphs.jsonl", cause=FileNotFoundError):
        read_jsonlines(path)


@settings(max_examples=300)
@given(st.data())
def test_a_mutated_file_is_read_or_refused_with_its_name(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    documents = [nx.node_link_data(graph, edges="edges") for graph in _networkx()]
    content = bytearray("".join(json.dumps(document) + "\n" for document in documents).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 20))
        content[start : start + length] = data.draw(
            st.sampled_from([b"", b"1", b'"', b"{", b"]", b"-", b"null", b"\xff", b"\n"])
        )
    path = tmp_path_factory.getbasetemp() / "mutated.jsonl"
    path.write_bytes(content)
    with suppress(FileError):
        read_jsonlines(path)


def test_targets_that_are_not_read_may_be_anything(tmp_path: Path) -> None:
    line = '{"nodes": [{"id": 0}], "edges": [], "target": 1, "graph": {"y": {"a": [1]}}}\n'
    (tmp_path / "own.jsonl").write_text(line)
    assert read_jsonlines(tmp_path / "own.jsonl", expected=Expected(has_target=False)).y is None
    with pytest.raises(FileError, match="has two targets"):
        read_jsonlines(tmp_path / "own.jsonl")


def test_a_number_has_the_name_of_its_key(tmp_path: Path) -> None:
    line = '{"nodes": [{"id": 0}], "edges": [], "graph": {"height": %s}}\n'
    (tmp_path / "own.jsonl").write_text(line % 1.5 + line % 2.5)
    assert read_jsonlines(tmp_path / "own.jsonl", ReadOptions(target="height")).targets == ("height",)


def test_half_a_character_is_refused_with_its_line_before_a_training_could_fail_to_write_it(tmp_path: Path) -> None:
    whole = '{"nodes": [{"id": 0, "kind": "\\ud83d\\ude00"}], "edges": [], "graph": {"y": "a"}}'
    path = tmp_path / "x.jsonl"
    for bad in (whole.replace('"a"', '"\\ud800"'), whole.replace("\\ude00", ""), whole.replace("kind", "\\uDfff")):
        path.write_text(f"{whole}\n{bad}\n")
        with pytest.raises(FileError, match=r"x.jsonl:2: the text '\S+' holds '\\ud\w+', half a character, which no"):
            read_jsonlines(path)
        assert len(read_jsonlines(path, ReadOptions(skip_unreadable=True))) == 1
    (tmp_path / "x.json").write_text(f"[{whole}, {whole.replace(chr(34) + 'a', chr(34) + 'a' + chr(92) + 'udc00')}]")
    with pytest.raises(FileError, match=r"x.json: graph 1: the text 'a\\udc00' holds"):
        read_json(tmp_path / "x.json")


def test_words_of_targets_are_read_as_they_are_meant(tmp_path: Path) -> None:
    path = tmp_path / "graphs.jsonl"
    lines = [{"nodes": [{"id": 0}], "edges": [], "target": target} for target in ("Yes", "yes", "n.d.", "no")]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert len(load_source(path).notes) == 2
    graphs = read_jsonlines(path, ReadOptions(ignore_case=True, missing_words="n.d.", skip_missing=True))
    assert graphs.classes == ("no", "yes")
    assert graphs.rows.tolist() == [0, 1, 3]
