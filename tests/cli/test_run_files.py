"""Files of a run that are not what they should be: pipes, huge files. Commands refuse them and never wait."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from run_files import FILES

Command = Callable[..., tuple[int, str, str]]

READING = {
    "config.toml": [("train", "--out", "{run}")],
    "history.csv": [("report", "{run}")],
    "model.safetensors": [("predict", "{run}", "MUTAG"), ("evaluate", "{run}", "--part", "test"), ("report", "{run}")],
    "record.json": [("train", "--out", "{run}")],
    "split.json": [("evaluate", "{run}", "--part", "test"), ("report", "{run}")],
    "test_predictions.csv": [],  # it is written for people; no command reads it
    "validation.safetensors": [("predict", "{run}", "MUTAG", "--interval", "0.5"), ("report", "{run}")],
}
"""The commands that read each file of a run."""


@pytest.fixture(autouse=True)
def _no_waiting() -> Iterator[None]:
    """A command that waits for a pipe is interrupted."""

    def end(*_: object) -> None:
        raise TimeoutError("the command waits")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_every_file_of_a_run_has_its_commands_here() -> None:
    assert READING.keys() == FILES


@pytest.mark.parametrize("file", sorted(FILES))
def test_a_pipe_among_the_files_of_a_run_is_refused(command: Command, mutag_run: Path, file: str) -> None:
    (mutag_run / file).unlink()
    os.mkfifo(mutag_run / file)
    for words in READING[file]:
        code, out, err = command(*(word.format(run=mutag_run) for word in words))
        assert code == 1, (words, out)
        assert f"{file}: is no regular file but a pipe or a device" in err.replace("\n", " "), words


@pytest.mark.parametrize("file", ["config.toml", "history.csv", "record.json", "split.json"])
def test_a_huge_file_among_those_of_a_run_is_refused(command: Command, mutag_run: Path, file: str) -> None:
    with (mutag_run / file).open("wb") as sparse:
        sparse.truncate(6 << 30)
    for words in READING[file]:
        code, out, err = command(*(word.format(run=mutag_run) for word in words))
        assert code == 1, (words, out)
        assert f"{file}: has 6,442,450,944 bytes, more than the limit of" in err.replace("\n", " "), words


def test_a_report_goes_on_without_a_record_that_is_a_pipe(command: Command, mutag_run: Path) -> None:
    (mutag_run / "record.json").unlink()
    os.mkfifo(mutag_run / "record.json")
    assert command("report", mutag_run)[0] == 0


def test_settings_in_a_pipe_are_refused(command: Command, folder: Path) -> None:
    os.mkfifo(folder / "pipe.toml")
    code, _, err = command("train", "--config", "pipe.toml")
    assert code == 1
    assert "pipe.toml: is no regular file but a pipe or a device" in err
