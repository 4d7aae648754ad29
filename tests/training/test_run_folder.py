"""The folder of a run: what it keeps, and what it takes for its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bankgcn.files.errors import FileError
from bankgcn.files.folder_lock import LOCK
from bankgcn.training.run_folder import RunFolder


@pytest.mark.skipif(os.name == "nt", reason="Windows has no safe way to ask whether a process runs")
def test_files_that_a_living_process_writes_stay(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    living, left = (tmp_path / f".history.csv.{process}-0a.part" for process in (os.getppid(), ended.pid))
    living.touch()
    left.touch()
    RunFolder(tmp_path).remove_scraps()
    assert list(tmp_path.iterdir()) == [living]


def test_a_folder_with_nothing_but_leftovers_of_a_killed_process_is_free(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    (tmp_path / ".config.toml.12-0a.part").touch()
    RunFolder(tmp_path).check_free()
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(FileError, match="holds other files and no run"):
        RunFolder(tmp_path).check_free()


def test_the_format_of_a_record_cannot_be_replaced(tmp_path: Path) -> None:
    RunFolder(tmp_path).write_record({"format": 99, "status": "finished"})
    assert RunFolder(tmp_path).read_record() == {"format": 1, "status": "finished"}
