"""Commands run in a folder of their own, in single precision as for a user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from bankgcn.cli import app

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _double_precision: None) -> Path:
    """An empty folder that commands run in."""
    torch.set_default_dtype(torch.float32)
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BANKGCN_DATA", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def command(folder: Path) -> Command:
    """Run ``bankgcn`` with arguments: exit code, output, and what it says on the way."""

    def run(*arguments: object) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        return result.exit_code, result.stdout, result.stderr

    return run


@pytest.fixture
def mutag_run(command: Command, folder: Path) -> Path:
    """A short run on MUTAG, in ``runs/one``."""
    code, _, err = command("train", "--epochs", 3, "--hidden", 16, "--layers", 2, "--out", "runs/one")
    assert code == 0, err
    return folder / "runs" / "one"
