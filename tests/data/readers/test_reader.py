"""The rows of the registry: complete, consistent, and each recognises its own."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from bankgcn.data.builtin.mutag import mutag
from bankgcn.data.readers import READERS


@pytest.mark.parametrize("name", READERS)
def test_a_row_lists_the_options_that_its_function_takes(name: str) -> None:
    row = READERS[name]
    parameters = inspect.signature(row.read).parameters
    keywords = [key for key, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    assert [*row.options] == [key for key in keywords if key != "progress"]
    assert row.reports_progress == ("progress" in keywords)


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


@pytest.mark.parametrize("name", READERS)
def test_features_of_another_kind_give_a_reader_no_options(name: str) -> None:
    assert READERS[name].options_for({"kind": "generated"}) == {}
    assert READERS[name].options_for({}) == {}
