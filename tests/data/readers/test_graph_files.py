"""GraphML and GML files give the graphs that NetworkX wrote."""

from __future__ import annotations

import gzip
from pathlib import Path

import networkx as nx
import pytest

from bankgcn.data.convert import from_networkx
from bankgcn.data.features.spec import describe_features
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.graph_files import read_graph_files
from bankgcn.data.sources import find_source, load_source
from bankgcn.files.checked import FileError
from refusals import refused


@pytest.fixture
def graphs() -> list[nx.Graph]:
    made = []
    for number in range(6):
        graph = nx.cycle_graph(3 + number) if number % 2 else nx.path_graph(3 + number)
        for node in graph:
            graph.nodes[node].update(mass=node / 4, element="CNO"[node % 3])
        for i, j in graph.edges:
            graph.edges[i, j]["weight"] = 1.0 + i
        graph.graph["y"] = "ring" if number % 2 else "path"
        made.append(graph)
    return made


def write(folder: Path, graphs: list[nx.Graph], ending: str) -> Path:
    folder.mkdir()
    for number, graph in enumerate(graphs):
        (nx.write_graphml if ending == "graphml" else nx.write_gml)(graph, folder / f"g{number}.{ending}")
    return folder


@pytest.mark.parametrize("ending", ["graphml", "gml"])
def test_a_folder_of_files_has_the_graphs_that_were_written(
    tmp_path: Path, graphs: list[nx.Graph], ending: str
) -> None:
    found = load_source(write(tmp_path / "set", graphs, ending))
    expected = from_networkx(graphs)
    assert found.names == tuple(f"g{number}" for number in range(6))
    assert found.classes == ("path", "ring")
    assert found.signals().tolist() == expected.signals().tolist()
    assert found.edge_weight.tolist() == expected.edge_weight.tolist()
    assert found.feature_spec == expected.feature_spec


def test_a_file_may_be_compressed_and_hold_several_graphs(tmp_path: Path, graphs: list[nx.Graph]) -> None:
    writer = nx.readwrite.graphml.GraphMLWriter()
    writer.add_graphs(graphs)
    (tmp_path / "all.graphml.gz").write_bytes(gzip.compress(str(writer).encode()))
    found = load_source(tmp_path / "all.graphml.gz", target="y")
    assert (len(found), found.name) == (6, "all")
    assert found.signals().tolist() == from_networkx(graphs).signals().tolist()


def test_labels_that_repeat_are_words_and_others_are_names(tmp_path: Path, graphs: list[nx.Graph]) -> None:
    folder = write(tmp_path / "set", graphs, "gml")
    assert "label" not in load_source(folder).feature_spec["words"]  # NetworkX writes the nodes' names as labels
    text = 'graph [ y "a" node [ id 0 label "C" ] node [ id 1 label "C" ] edge [ source 0 target 1 ] ]'
    (tmp_path / "one.gml").write_text(text)
    found = load_source(tmp_path / "one.gml")
    assert found.feature_spec["words"] == {"label": ["C"]}
    (tmp_path / "new.gml").write_text(
        text.replace('id 1 label "C"', "id 1").replace("node [ id 1 ]", "").replace("edge [ source 0 target 1 ]", "")
    )
    alone = find_source(tmp_path / "new.gml").load(expected=Expected(features=describe_features(found)))
    assert alone.signals().tolist() == [[1.0]]  # though its only label is distinct


def test_directed_graphs_are_refused_unless_they_are_symmetrised(tmp_path: Path) -> None:
    nx.write_graphml(nx.DiGraph([(0, 1)], y="a"), tmp_path / "one.graphml")
    with refused(FileError, at="one.graphml", advice={"symmetrise": True}):
        read_graph_files(tmp_path / "one.graphml")
    assert len(read_graph_files(tmp_path / "one.graphml", ReadOptions(symmetrise=True))) == 1


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.graphml", "<graphml><graph>", "cannot be read as GraphML"),
        ("a.graphml", "not xml", "cannot be read as GraphML"),
        ("a.graphml", '<!DOCTYPE g [<!ENTITY a "b">]><graphml/>', "defines entities"),
        ("a.gml", "graph [ node [ id ] ]", r"cannot be read as GML \(one graph in each file\)"),
        ("a.gml", "graph [ ] graph [ ]", r"cannot be read as GML \(one graph in each file\)"),
        ("a.gml", "\xff", "is not text in UTF-8"),
    ],
)
def test_damaged_files_are_named_and_may_be_skipped(
    tmp_path: Path, graphs: list[nx.Graph], name: str, text: str, reason: str
) -> None:
    folder = write(tmp_path / "set", graphs, "gml")
    (folder / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(FileError, match=rf"{name}: .*{reason}"):
        load_source(folder)
    found = load_source(folder, skip_unreadable=True)
    assert (len(found), [row for row, _ in found.skipped]) == (6, [0])
