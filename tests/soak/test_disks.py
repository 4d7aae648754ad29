"""Disks that are full or read-only, and folders that vanish: a clear error, nothing lost, and it goes on afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from bankgcn.cli import app
from bankgcn.data.builtin import mutag
from bankgcn.experiments import RunSpec, Store, sweep
from bankgcn.experiments.engines.base import SerialEngine
from bankgcn.training.fitting import Epoch, Training
from bankgcn.training.run_folder import RunFolder
from fake_runs import attempts

CONFIGS = [RunSpec(dataset="MUTAG", seed=seed) for seed in range(4)]
TRAIN = ["train", "MUTAG", "--epochs", "3", "--hidden", "8", "--layers", "1"]


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.name == "nt" or os.geteuid() != 0:
        pytest.skip("needs root, to mount a small file system")
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system, which root has not here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Fill a disk to the last byte by one file."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    return ballast


def set_read_only(disk: Path, read_only: bool) -> None:
    subprocess.run(["mount", "-o", f"remount,{'ro' if read_only else 'rw'}", str(disk)], check=True)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.output


def test_a_sweep_on_a_full_disk_ends_keeps_its_records_and_resumes(tmp_path: Path, disk: Path) -> None:
    engine = SerialEngine(tmp_path, runner="fake_runs:Scripted")
    sweep(CONFIGS[:2], Store(disk / "store"), engine)
    ballast = fill(disk)
    with pytest.raises(OSError, match="No space left on device; this record is not stored, all earlier ones are"):
        sweep(CONFIGS, Store(disk / "store"), engine)
    ballast.unlink()
    assert names(disk / "store") == sorted(f"{config.key}.json" for config in CONFIGS[:2])
    result = sweep(CONFIGS, Store(disk / "store"), engine)
    assert (len(result.records), result.ran) == (4, 2)
    assert len(names(disk / "store")) == 4


def test_a_training_on_a_full_disk_says_so_and_resumes(disk: Path) -> None:
    ballast = fill(disk)
    code, output = run(*TRAIN, "--out", disk / "run")
    assert code == 1
    assert "No space left on device" in output
    assert str(disk / "run") in output
    ballast.unlink()
    code, output = run(*TRAIN, "--out", disk / "run")
    assert code == 0, output
    assert RunFolder(disk / "run").read_record().epochs == 3
    assert not any(name.startswith(".") for name in names(disk / "run"))


def test_a_set_that_does_not_fit_on_the_disk_leaves_the_old_one(disk: Path) -> None:
    mutag()[:5].save(disk / "set")
    before = (disk / "set").read_bytes()
    ballast = fill(disk)
    with pytest.raises(OSError, match=f"No space left on device: '{disk}/set'"):
        mutag().save(disk / "set")
    assert names(disk) == ["ballast", "set"]
    assert (disk / "set").read_bytes() == before
    ballast.unlink()


def test_a_store_that_cannot_be_written_is_told_before_anything_is_run(tmp_path: Path, disk: Path) -> None:
    engine = SerialEngine(tmp_path, runner="fake_runs:Scripted")
    first = sweep(CONFIGS[:2], Store(disk / "store"), engine)
    set_read_only(disk, True)
    with pytest.raises(OSError, match=f"Read-only file system: '{disk}/store"):
        sweep(CONFIGS, Store(disk / "store"), engine)
    assert len(attempts(tmp_path)) == 2
    assert sweep(CONFIGS[:2], Store(disk / "store"), engine).records == first.records  # nothing to write
    code, output = run(*TRAIN, "--out", disk / "run")
    assert code == 1
    assert f"error: {disk}/run: Read-only file system" in output
    set_read_only(disk, False)
    assert sweep(CONFIGS, Store(disk / "store"), engine).ran == 2


def test_a_run_folder_that_vanishes_is_told_and_not_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, run_epoch = tmp_path / "run", Training.run_epoch

    def vanish(training: Training) -> Epoch:
        if len(training.epochs) == 1:
            shutil.rmtree(folder)
        return run_epoch(training)

    monkeypatch.setattr(Training, "run_epoch", vanish)
    code, output = run(*TRAIN, "--out", folder)
    assert code == 1
    assert f"error: {folder}: was removed during the training" in output
    assert not folder.exists()
    monkeypatch.setattr(Training, "run_epoch", run_epoch)
    assert run(*TRAIN, "--out", folder)[0] == 0


def test_a_run_folder_that_is_replaced_gets_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, run_epoch = tmp_path / "run", Training.run_epoch

    def replaced(training: Training) -> Epoch:
        if len(training.epochs) == 1:
            folder.rename(tmp_path / "moved")
            folder.mkdir()
        return run_epoch(training)

    monkeypatch.setattr(Training, "run_epoch", replaced)
    code, output = run(*TRAIN, "--out", folder)
    assert code == 1
    assert f"error: {folder}: was removed or replaced during the training" in output
    assert not RunFolder(folder).record.exists()
