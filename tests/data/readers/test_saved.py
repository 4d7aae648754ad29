"""Saved sets are recognised by their content, whatever they are called."""

from __future__ import annotations

from pathlib import Path

from bankgcn.data.builtin import mutag
from bankgcn.data.readers import is_saved_set
from bankgcn.data.sources import find_source


def test_a_saved_set_is_one_whatever_it_is_called(tmp_path: Path) -> None:
    mutag()[:2].save(tmp_path / "saved.csv")
    source = find_source(tmp_path / "saved.csv")
    assert source.reader == "saved"
    assert source.load().fingerprint == mutag()[:2].fingerprint


def test_other_files_folders_and_nothing_are_no_saved_sets(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert not any(is_saved_set(path) for path in (tmp_path, tmp_path / "empty", tmp_path / "missing"))
