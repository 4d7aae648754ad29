"""The folder of a run: what it keeps, and what it takes for its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bankgcn.files.checked import FileError
from bankgcn.files.locks import LOCK
from bankgcn.training import TrainedModel
from bankgcn.training.execute import execute
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.spec import RunSpec
from refusals import refused

WRITTEN_BY_0_1_0 = Path(__file__).parents[1] / "records_v010" / "run"


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


def test_a_result_comes_back_from_its_folder(tmp_path: Path) -> None:
    spec = RunSpec(dataset="MUTAG").with_(max_epochs=2, hidden_channels=8, num_layers=1)
    folder = RunFolder(tmp_path)
    result = execute(spec, checkpoint=folder.checkpoint)
    assert result is not None
    assert folder.checkpoint.exists()
    folder.write_result(result)
    assert folder.read_record() == result.record
    assert not folder.checkpoint.exists()
    assert len(folder.history.read_text().splitlines()) == 3
    model = TrainedModel.load(folder.model)
    assert model.task == result.model.task
    assert model.metadata["run"] == spec.to_dict()


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"format": 2}'])
def test_a_damaged_record_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "record.json").write_bytes(content)
    with pytest.raises(FileError, match="record.json: is no intact record of a run"):
        RunFolder(tmp_path).read_record()


def test_a_record_of_a_newer_version_is_named(tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text('{"format": 99}')
    with refused(FileError, "format 99", 2):
        RunFolder(tmp_path).read_record()


def test_a_folder_of_version_0_1_0_is_read() -> None:
    folder = RunFolder(WRITTEN_BY_0_1_0)
    written = json.loads(folder.record.read_text())
    record = folder.read_record()
    for name in ("status", "metric", "test_score", "valid_score", "best_epoch", "epochs", "ended", "seconds"):
        assert getattr(record, name) == written[name]
    assert list(record.split_sizes) == written["split_sizes"]
    assert record.fingerprint == written["graphs"]
    assert record.config == RunSpec(dataset="MUTAG").with_(max_epochs=2, hidden_channels=8, num_layers=1)
    with pytest.raises(FileError, match="has the format of an earlier version of bankgcn.*train the model again"):
        TrainedModel.load(folder.model)


def test_what_a_process_left_that_was_killed_after_its_record_is_removed(tmp_path: Path) -> None:
    names = {"config.toml", "record.json"}
    for name in (*names, "training.safetensors", ".lock"):
        (tmp_path / name).touch()
    RunFolder(tmp_path).tidy_finished()
    assert {path.name for path in tmp_path.iterdir()} == names
