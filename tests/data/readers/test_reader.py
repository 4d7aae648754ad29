"""The rows of the registry: complete, consistent, and each recognises its own."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from bankgcn.data.builtin import mutag
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers import graph_files
from bankgcn.data.sources import READERS

GRAPH = '{"nodes": [{"id": 0, "charge": 1}], "edges": [], "graph": {"y": "a"}}'
GRAPHML = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected"><node id="a"/></graph>'
    "</graphml>"
)
ATOM = "    0.0000    0.0000    0.0000 C   0  0"
SOURCES = {
    "smiles": {"m.csv": "smiles,active\nCCO,1\nCC,0\n"},
    "smi": {"m.smi": "CCO first\nCC second\n"},
    "sdf": {"m.sdf": f"first\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n{ATOM}\nM  END\n$$$$\n"},
    "jsonlines": {"m.jsonl": GRAPH},
    "json": {"m.json": f"[{GRAPH}]"},
    "graphml": {"m.graphml": GRAPHML},
    "edges": {"edges.csv": "graph,source,target\n1,1,2\n", "graphs.csv": "graph,active\n1,yes\n"},
    "tu": {"X_A.txt": "1, 2\n2, 1\n", "X_graph_indicator.txt": "1\n1\n", "X_graph_labels.txt": "1\n"},
}
"""A small source of each kind that options change, by the names of its files."""


class Watched:
    """Options or expectations that note which of their fields are read."""

    def __init__(self, value: Any, seen: set[str]):
        self._value, self._seen = value, seen

    def __getattr__(self, name: str) -> Any:
        self._seen.add(name)
        return getattr(self._value, name)


@pytest.mark.parametrize("name", SOURCES)
def test_a_row_lists_the_options_that_its_function_heeds(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file, text in SOURCES[name].items():
        (tmp_path / file).write_text(text)
    path = tmp_path if len(SOURCES[name]) > 1 else tmp_path / next(iter(SOURCES[name]))
    row, seen, heeded = READERS[name], set(), set()
    aliases = {
        "edge_data": {"edges", "features"},
        "edge_features": {"features"},
        "families": {"descriptors"},
        "words": {"missing_words", "ignore_case"},
        "atoms": {"features"},
    }
    monkeypatch.setattr(graph_files, "replace", lambda options, **changes: options)
    row.read(path, Watched(ReadOptions(skip_missing=True), seen), Watched(Expected(), heeded))
    used = set().union(*(aliases.get(option, {option}) for option in seen))
    assert used <= {*row.options}
    assert set().union(*(aliases.get(field, {field}) for field in heeded)) <= {*row.heeds}


@pytest.mark.parametrize("name", READERS)
def test_a_row_lists_options_that_there_are(name: str) -> None:
    row = READERS[name]
    assert {*row.options} <= {field.name for field in fields(ReadOptions)}
    assert {*row.heeds} <= {field.name for field in fields(Expected)}
    assert row.reports_progress == ("progress" in inspect.signature(row.read).parameters)


@pytest.mark.parametrize("name", READERS)
def test_a_row_that_recognises_paths_says_which(name: str) -> None:
    row = READERS[name]
    by_path = bool(row.suffixes) or row.sniff is not type(row).sniff
    assert by_path == bool(row.accepts)


def test_endings_of_files_are_told_apart() -> None:
    endings = [suffix for row in READERS.values() for suffix in row.suffixes]
    assert len(endings) == len(set(endings))
    assert all(suffix == suffix.lower() and suffix[0] == "." for suffix in endings)


def _recognised(path: Path) -> list[str]:
    return [name for name, row in READERS.items() if row.recognises(path)]


def test_each_path_is_recognised_by_its_reader(tmp_path: Path) -> None:
    names = ("table.CSV", "table.tsv", "graphs.jsonl", "set.zip", "letter.txt", "list.json", "m.smi", "m.SDF")
    for name in names:
        (tmp_path / name).write_text("any")
    (tmp_path / "photos" / "cats").mkdir(parents=True)
    (tmp_path / "photos" / "cats" / "1.JPG").touch()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "OWN_A.txt").touch()
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "one.JSON").touch()
    mutag()[:2].save(tmp_path / "saved")
    found = {path.name: _recognised(path) for path in tmp_path.iterdir()}
    assert found == {
        "table.CSV": ["smiles"], "table.tsv": ["smiles"], "graphs.jsonl": ["jsonlines"], "set.zip": ["tu"],
        "list.json": ["json"], "documents": ["json"], "m.smi": ["smi"], "m.SDF": ["sdf"],
        "letter.txt": [], "photos": ["images"], "own": ["tu"], "folder.csv": [], "saved": ["saved"],
    }  # fmt: skip
