"""Arrays that contradict each other never become a set: compiled code follows them without looking."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from bankgcn.data import GraphError, GraphSet
from bankgcn.data.graphs import KIND
from bankgcn.files.checked import FileError
from bankgcn.files.tensors import read_arrays, write_arrays
from random_sets import RandomSet, graph_sets


def a_set() -> GraphSet:
    """A path of three nodes, a graph without nodes, and a pair."""
    return GraphSet.from_edges(
        [3, 0, 2],
        [[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]],
        edge_weight=[2, 2, 1, 1, 3, 3],
        edge_labels=[1, 1, 2, 2, 3, 3],
        attributes=np.arange(10).reshape(5, 2),
        labels=[[0, 0], [1, 1], [2, 0], [1, 1], [0, 0]],
        y=[1, 0, 0],
        classes=["no", "yes"],
        names=["path", "nothing", "pair"],
    )


def unsigned(*values: int) -> np.ndarray:
    return np.array(values, np.uint8)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "classes with names of columns": ({"targets": ("a",)}, "y holds classes, but its columns are called a"),
    "numbers with too many names": (
        {"y": np.zeros(3, np.float32), "classes": (), "targets": ("a", "b")},
        r"y has shape \(3,\), but there are 2 targets: a, b",
    ),
    "a neighbour in no graph": (
        {"neighbor": unsigned(1, 0, 2, 1, 1, 200)},
        "graph 2 has 2 nodes, but one of them has neighbour 200",
    ),
    "a neighbour in the next graph": ({"neighbor": unsigned(1, 0, 3, 1, 1, 0)}, "graph 0 has 3 nodes, .* neighbour 3"),
    "a negative neighbour": (
        {"neighbor": np.array([1, 0, 2, 1, 1, -1])},
        "neighbor has .* dtype int64, expected .*uns",
    ),
    "a real neighbour": ({"neighbor": np.zeros(6, np.float32)}, "neighbor has .* dtype float32, expected"),
    "a neighbour beyond int64": (
        {"neighbor": np.array([1, 0, 2, 1, 1, 2**63], np.uint64)},
        "graph 2 has 2 nodes, .* neighbour 9223372036854775808",
    ),
    "too few neighbours": ({"neighbor": unsigned(1, 0, 2)}, r"neighbor has shape \(3,\) .*, expected 6 rows"),
    "a degree too many": (
        {"degree": unsigned(1, 2, 2, 1, 1)},
        "the degrees of graph 0 add up to 5, but it has 4 directed edges",
    ),
    "a degree moved to another graph": ({"degree": unsigned(1, 2, 0, 2, 1)}, "the degrees of graph 0 add up to 3"),
    "degrees whose sum wraps around": (
        {"degree": np.array([2**63, 2**63, 4, 1, 1], np.uint64)},
        "node 0 has degree 9223372036854775808, but there are 6 directed edges",
    ),
    "a negative degree": ({"degree": np.array([-1, 2, 3, 1, 1])}, "degree has .* dtype int64"),
    "no nodes": ({"degree": unsigned()}, r"degree has shape \(0,\)"),
    "pointers that descend": ({"node_ptr": np.array([0, 6, 3, 5])}, "node_ptr falls from 6 to 3 at graph 1"),
    "pointers that begin late": ({"edge_ptr": np.array([1, 4, 4, 6])}, "edge_ptr begins with 1, expected 0"),
    "pointers to beyond the end": ({"edge_ptr": np.array([0, 4, 4, 900])}, "neighbor has .* expected 900 rows"),
    "a graph without pointers": ({"edge_ptr": np.array([0, 4, 6])}, r"edge_ptr has shape \(3,\).*, expected 4 rows"),
    "real pointers": ({"node_ptr": np.array([0, 3, 3, 5], np.float32)}, "node_ptr has .* dtype float32"),
    "no pointers": ({"node_ptr": np.zeros(0, np.int64)}, r"node_ptr has shape \(0,\).*, expected at least one"),
    "a shift cut short": ({"shift": np.zeros(5, np.float32)}, r"shift has shape \(5,\)"),
    "a shift of two columns": ({"shift": np.zeros((6, 2), np.float32)}, r"shift has shape \(6, 2\)"),
    "weights cut short": ({"edge_weight": np.ones(2, np.float32)}, r"edge_weight has shape \(2,\)"),
    "edge labels cut short": ({"edge_labels": np.zeros((2, 1), np.uint8)}, r"edge_labels has shape \(2, 1\)"),
    "flat attributes": ({"attributes": np.zeros(5, np.float32)}, r"attributes has shape \(5,\)"),
    "a label beyond its width": (
        {"labels": np.array([[0, 0], [1, 1], [2, 0], [9, 1], [0, 0]], np.uint8)},
        "labels: column 0 of node 3 is 9, expected 0 to 2",
    ),
    "a width too small": ({"label_widths": (3, 1)}, "labels: column 1 of node 1 is 1, expected 0 to 0"),
    "a width missing": ({"label_widths": (3,)}, "there are 1 label_widths for 2 columns of labels"),
    "a negative width": ({"label_widths": (3, -2)}, r"label_widths are \(3, -2\), expected"),
    "no widths": ({"label_widths": None}, "label_widths are None, expected a tuple"),
    "widths without labels": ({"labels": None}, "there are 2 label_widths for 0 columns of labels"),
    "a class without a name": ({"y": np.array([1, 2, 0])}, "graph 1 has class 2, but there are 2: no, yes"),
    "a negative class": ({"y": np.array([1, -1, 0])}, "graph 1 has class -1"),
    "too few targets": ({"y": np.array([1, 0])}, r"y has shape \(2,\)"),
    "classes in another type": ({"y": np.array([1, 0, 0], np.uint8)}, "y has .* dtype uint8"),
    "numbers beside names of classes": ({"y": np.ones(3, np.float32)}, "y has dtype float32, but classes are given"),
    "a name too few": ({"names": ("path", "pair")}, "there are 2 names for 3 graphs"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_the_constructor_refuses_arrays_that_contradict_each_other(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        replace(a_set(), **changes)


IN_FILES = {name: case for name, case in WRONG.items() if name != "widths without labels"}


@pytest.mark.parametrize(("changes", "message"), IN_FILES.values(), ids=IN_FILES)
def test_a_file_with_such_arrays_is_refused_by_name(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    a_set().save(tmp_path / "set")
    fields, arrays = read_arrays(tmp_path / "set", KIND)
    for name, value in changes.items():
        (arrays if isinstance(value, np.ndarray) else fields)[name] = value
    write_arrays(tmp_path / "set", KIND, fields, arrays)  # with checksums that are right
    with pytest.raises(FileError, match=f"set: holds no set of graphs \\({message}"):
        GraphSet.load(tmp_path / "set", verify=True)


@given(graph_sets())
def test_what_from_edges_makes_is_taken_as_it_is(drawn: RandomSet) -> None:
    graphs = drawn.build(shuffle=True)
    assert replace(graphs).fingerprint == graphs.fingerprint


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"y": ["a", "b\ud800"]}, "the class"),
        ({"y": [0.5, 1.5], "targets": ["\udfff"]}, "the target"),
        ({"names": ["one", "\udce9"]}, "the name of a graph"),
        ({"name": "caf\udce9"}, "the name of the set"),
        ({"labels": [0, 0], "feature_spec": {"kind": "named", "words": {"k": ["\ud800"]}}}, "the node data"),
    ],
)
def test_texts_that_no_file_can_keep_are_refused_when_they_are_read(options: dict, what: str) -> None:
    with pytest.raises(GraphError, match=rf"{what} '\S+' holds '.*', half a character"):
        GraphSet.from_edges([1, 1], np.zeros((2, 0), int), **options)
