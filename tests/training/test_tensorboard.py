"""The log for TensorBoard has one point for each epoch, also after interruptions."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from typer.testing import CliRunner

from bankgcn.cli import app
from bankgcn.files.checked import FileError
from bankgcn.training import Epoch
from bankgcn.training.callbacks import FIELD_OF_TAG, TensorBoardLog

QUICK = ("--epochs", "4", "--hidden", "8", "--layers", "1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _double_precision: None) -> Iterator[Path]:
    torch.set_default_dtype(torch.float32)  # as graphs are stored
    monkeypatch.chdir(tmp_path)
    return tmp_path


def points(log: Path, tag: str) -> list[tuple[int, float]]:
    """Number of the epoch and value, as TensorBoard shows them."""
    reader = EventAccumulator(str(log))
    reader.Reload()
    return [(event.step, event.value) for event in reader.Scalars(tag)]


def history(run: Path, field: str) -> list[tuple[int, float]]:
    with (run / "history.csv").open(newline="") as file:
        return [(int(row["number"]), pytest.approx(float(row[field]))) for row in csv.DictReader(file)]


def bankgcn(*arguments: str) -> int:
    return CliRunner().invoke(app, arguments).exit_code


def test_the_log_shows_what_the_history_of_the_run_holds(folder: Path) -> None:
    assert bankgcn("train", *QUICK, "--out", "run", "--tensorboard", "log") == 0
    for tag, field in FIELD_OF_TAG.items():
        assert points(folder / "log", tag) == history(folder / "run", field)


def test_a_resumed_training_continues_the_log_without_double_points(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed_after_two(self: TensorBoardLog, epoch: Epoch) -> None:
        log_epoch(self, epoch)
        if epoch.number == 2:
            raise KeyboardInterrupt

    log_epoch = TensorBoardLog.on_epoch_end
    command = ("train", *QUICK, "--out", "run", "--tensorboard", "log")
    with monkeypatch.context() as patch:
        patch.setattr(TensorBoardLog, "on_epoch_end", killed_after_two)
        result = CliRunner().invoke(app, command)
        assert "to resume: bankgcn train --out run --tensorboard log" in result.stderr
    ahead = TensorBoardLog(folder / "log")  # a kill can leave points of epochs that the checkpoint does not hold
    ahead.on_epoch_end(Epoch(3, 9.0, 9.0, 9.0, 9.0, 9.0))
    ahead.on_end(None)
    assert bankgcn(*command) == 0
    assert points(folder / "log", "loss/train") == history(folder / "run", "train_loss")


def test_each_of_several_models_has_its_own_log(folder: Path) -> None:
    assert bankgcn("train", *QUICK, "--seeds", "0,1", "--out", "runs", "--tensorboard", "log") == 0
    for name in ("seed-0", "seed-1"):
        assert points(folder / "log" / name, "loss/validation") == history(folder / "runs" / name, "valid_loss")


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    with pytest.raises(FileError, match="is a file, but the log for TensorBoard needs a folder"):
        TensorBoardLog(tmp_path / "log")
