"""The files of a set in the TU format are found in a folder, in its usual subfolders, and in a zip."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from bankgcn.data.readers.tu import TUFiles, has_tu_files
from bankgcn.files.checked import FileError
from refusals import refused


@pytest.mark.parametrize("place", ["", "raw", "own", "own/raw"])
def test_a_set_is_found_in_the_usual_folders(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "own" / place
    folder.mkdir(parents=True)
    for part in ("A", "graph_indicator"):
        (folder / f"SET_{part}.txt").write_text("1, 2\n")
    (folder / "figure.png").touch()
    files = TUFiles(tmp_path / "own")
    assert has_tu_files(tmp_path / "own")
    assert files.name == "SET"
    assert files.has("A")
    assert not files.has("node_labels")
    assert sorted(files.paths()) == [folder / "SET_A.txt", folder / "SET_graph_indicator.txt"]


def test_a_zip_is_one_file(tmp_path: Path) -> None:
    path = tmp_path / "set.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("SET/SET_A.txt", "1, 2\n2, 1\n")
        archive.writestr("__MACOSX/SET/._SET_A.txt", "")
    files = TUFiles(path)
    assert files.paths() == [path]
    assert files.table("A", np.int64, columns=2).tolist() == [[1, 2], [2, 1]]


def test_a_folder_has_one_set_or_is_refused(tmp_path: Path) -> None:
    assert not has_tu_files(tmp_path)
    with refused(FileError, "NAME_A.txt"):
        TUFiles(tmp_path)
    for name in ("ONE", "TWO"):
        (tmp_path / f"{name}_A.txt").touch()
    with refused(FileError, "ONE_A.txt, TWO_A.txt"):
        TUFiles(tmp_path)


@pytest.mark.parametrize(("rows", "line"), [(1, 2), (3, 2)])
def test_a_file_with_a_wrong_number_of_lines_is_refused(tmp_path: Path, rows: int, line: int) -> None:
    (tmp_path / "SET_A.txt").write_text("1\n2\n")
    with refused(FileError, "2 lines", f"{rows} graphs") as caught:
        TUFiles(tmp_path).table("A", np.int64, rows=(rows, "graphs"))
    assert caught.value.line == line
