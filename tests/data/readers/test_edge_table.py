"""A row an edge, with tables of nodes and graphs beside it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from bankgcn.data.features.spec import describe_features
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.sources import find_source, load_source
from bankgcn.files.checked import FileError
from refusals import refused

EDGES = "graph,source,target,weight\na,1,2,1\na,2,3,2\nb,x,y,0.5\n"
NODES = "graph,node,mass,element\na,1,0.5,C\na,2,1,N\na,3,2,C\nb,x,0,C\nb,y,1,C\nc,only,4,N\n"
GRAPHS = "graph,active\nb,yes\na,no\nc,yes\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "set"
    path.mkdir()
    for name, text in (("edges", EDGES), ("nodes", NODES), ("graphs", GRAPHS)):
        (path / f"{name}.csv").write_text(text)
    return path


def test_the_tables_of_a_folder_are_one_set_in_the_order_of_the_graphs(folder: Path) -> None:
    graphs = load_source(folder)
    assert (graphs.name, graphs.names, graphs.classes) == ("set", ("b", "a", "c"), ("no", "yes"))
    assert graphs.num_nodes.tolist() == [2, 3, 1]
    assert graphs.y.tolist() == [1, 0, 1]
    assert graphs.signals().tolist() == [[0, 1, 0], [1, 1, 0], [0.5, 1, 0], [1, 0, 1], [2, 1, 0], [4, 0, 1]]
    assert sorted(graphs.edge_weight.tolist()) == [0.5, 0.5, 1, 1, 2, 2]


def test_tables_beside_a_table_are_found_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "mine_edges.tsv").write_text(EDGES.replace(",", "\t"))
    (tmp_path / "mine_nodes.csv.gz").write_bytes(gzip.compress(NODES.encode()))
    (tmp_path / "mine_graphs.csv").write_text(GRAPHS)
    graphs = load_source(tmp_path / "mine_edges.tsv")
    assert (graphs.name, graphs.num_features, graphs.classes) == ("mine", 3, ("no", "yes"))
    (tmp_path / "mine_edges.tsv").rename(tmp_path / "mine.tsv")
    assert load_source(tmp_path / "mine.tsv").num_features == 3


def test_without_a_table_of_nodes_the_ends_of_edges_are_nodes(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(EDGES)
    graphs = load_source(tmp_path / "e.csv")
    assert (graphs.names, graphs.num_nodes.tolist(), graphs.num_features, graphs.y) == (("a", "b"), [3, 2], 0, None)


def test_decimal_commas_and_codes_are_read_as_in_other_tables(folder: Path) -> None:
    (folder / "nodes.csv").write_text("graph;node;mass;code\na;1;0,5;7\na;2;1;7a\na;3;2;7\nb;x;0;7\nb;y;1;7\nc;k;4;7\n")
    (folder / "edges.csv").write_text("graph;source;target;weight\na;1;2;0,25\n")
    (folder / "graphs.csv").write_text("graph;mp\na;844,4\nb;1\nc;2\n")
    graphs = load_source(folder)
    assert graphs.y.tolist() == pytest.approx([844.4, 1, 2])
    assert graphs.feature_spec["words"] == {"code": ["7", "7a"]}
    assert (graphs.attributes[0, 0], graphs.edge_weight[0]) == (0.5, 0.25)


def test_new_tables_are_read_by_the_columns_of_training(folder: Path, tmp_path: Path) -> None:
    expected = describe_features(load_source(folder))
    new = tmp_path / "new"
    new.mkdir()
    (new / "edges.csv").write_text("graph,source,target\n1,1,2\n")
    (new / "nodes.csv").write_text("graph,node,extra,element,mass\n1,1,z,N,3\n1,2,z,C,4\n")
    source = find_source(new)
    graphs = source.load(expected=Expected(features=expected, has_target=False))
    assert graphs.signals().tolist() == [[3, 0, 1], [4, 1, 0]]
    read = find_source(folder).target_reader(ReadOptions(), Expected(task="classes"), False)
    rows, targets = read([0, 2])
    assert (rows, targets.y.tolist()) == ([0, 2], [0, 0])


@pytest.mark.parametrize(
    ("table", "text", "message"),
    [
        ("edges", EDGES + "a,1,9,1\n", r"edges\.csv:5: graph 'a' has no node '9'"),
        ("edges", EDGES + "d,1,2,1\n", r"edges\.csv:5: graph 'd' is not in the table of graphs"),
        ("edges", EDGES + ",1,2,1\n", r"edges\.csv:5: the graph has no name"),
        ("edges", EDGES + "a,1,2,heavy\n", r"edges\.csv:5: weight 'heavy' is not a number"),
        ("edges", "graph,begin,end\na,1,2\n", r"edges\.csv: has no column 'source' \(or src, from\): 'graph', 'begin'"),
        ("nodes", NODES + "a,1,1,C\n", r"nodes\.csv:8: graph 'a' has two nodes '1'"),
        ("nodes", NODES + "a,4,,C\n", "graph 'a': node 3 has no 'mass'"),
        ("graphs", GRAPHS + "a,yes\n", r"graphs\.csv:5: graph 'a' is listed twice"),
        ("graphs", "graph,one,two\na,1,2\nb,1,2\nc,1,2\n", "several columns may have the targets"),
    ],
)
def test_what_does_not_fit_is_named(folder: Path, table: str, text: str, message: str) -> None:
    (folder / f"{table}.csv").write_text(text)
    with pytest.raises(FileError, match=message):
        load_source(folder)


def test_a_target_without_a_table_of_graphs_says_which_table_is_missing(tmp_path: Path) -> None:
    (tmp_path / "mine_edges.csv").write_text(EDGES)
    with refused(FileError, "mine_graphs.csv", "'graph'", "'active'"):
        load_source(tmp_path / "mine_edges.csv", target="active")


def test_a_table_of_molecules_stays_one(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("smiles,graph,source,target\nCCO,1,2,3\n")
    assert find_source(tmp_path / "m.csv").kind == "a table of SMILES"
