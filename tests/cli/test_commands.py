"""The list of commands, which needs no PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from bankgcn.cli.commands import COMMANDS, load_command

Command = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_is_the_first_line_of_the_help(name: str) -> None:
    assert load_command(name).help.splitlines()[0] == COMMANDS[name].summary


def test_the_help_lists_all_commands_and_fits_80_columns_and_narrower(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (80, 60, 40):
        monkeypatch.setenv("COLUMNS", str(width))
        for option in ("--help", "-h"):
            code, out, _ = command(option)
            assert code == 0
            assert max(map(len, out.splitlines())) <= width
            assert all(f" {name} " in out for name in COMMANDS)
    for name in ("train", "predict", "data"):
        assert command(name, "-h") == command(name, "--help")


def test_a_wrong_command_names_the_one_that_was_meant(command: Command) -> None:
    code, _, err = command("trian")
    assert code == 2
    assert "train" in err


def test_help_and_version_load_no_pytorch() -> None:
    for option in ("--help", "-h", "--version"):
        code = (
            "import sys; from bankgcn.cli import app\n"
            f"try: app([{option!r}])\n"
            "except SystemExit: print('torch' in sys.modules, 'numpy' in sys.modules, file=sys.stderr)"
        )
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert result.stderr.split() == ["False", "False"]


@pytest.mark.slow
def test_help_takes_less_than_half_a_second() -> None:
    def seconds() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "bankgcn", "--help"], check=True, capture_output=True, env=os.environ)
        return time.perf_counter() - start

    assert min(seconds() for _ in range(5)) < 0.5
