"""A file in blocks is complete or absent, and a kill at any moment costs the last block."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from bankgcn.files.checked import FileError
from bankgcn.files.journal import Journal
from refusals import refused

MADE_FROM = {"model": "a", "level": 0.9}
BLOCKS = [bytes([letter]) * length for letter, length in zip(b"abcdefgh", (5, 1, 0, 70_000, 3, 3, 9, 2), strict=True)]


def write(path: Path, stop_after: int = len(BLOCKS)) -> None:
    with Journal(path, MADE_FROM) as journal:
        for number in range(len(journal.blocks), stop_after):
            journal.append(BLOCKS[number], {"number": number})
        if stop_after == len(BLOCKS):
            journal.finish(None)


def killed(work: Callable[[], None], operation: str, before: int) -> bool:
    """Do the work in a process that kills itself before its call of this operation; whether it was killed."""
    child = os.fork()
    if not child:
        calls = [0]
        real = getattr(os, operation)

        def counted(*arguments: object, **options: object) -> object:
            calls[0] += 1
            if calls[0] == before:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        setattr(os, operation, counted)
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize(("operation", "most"), [("fsync", 19), ("replace", 2), ("unlink", 4), ("truncate", 2)])
def test_whoever_goes_on_after_any_kill_ends_with_the_same_bytes(tmp_path: Path, operation: str, most: int) -> None:
    path = tmp_path / "t.csv"
    for before in range(1, most + 1):
        path.write_bytes(b"the one before")
        write(path, stop_after=before % 4)
        kills = [killed(lambda: write(path), operation, before) for _ in range(2)]
        assert path.read_bytes() == b"".join(BLOCKS) or any(kills)
        write(path)
        assert path.read_bytes() == b"".join(BLOCKS)
        assert {file.name for file in tmp_path.iterdir()} <= {"t.csv", ".t.csv.claim"}


def test_bytes_that_follow_the_last_whole_block_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write(path, stop_after=3)
    for name, torn in ((".partial", b"half a bl"), (".journal", b'{"bytes": 99, "noted": {}}\n')):
        with path.with_name(f"t.csv{name}").open("ab") as file:
            file.write(torn)
    with Journal(path, MADE_FROM) as journal:
        assert journal.blocks == [{"number": 0}, {"number": 1}, {"number": 2}]
    write(path)
    assert path.read_bytes() == b"".join(BLOCKS)


def test_blocks_whose_bytes_are_lost_are_written_again(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write(path, stop_after=5)
    os.truncate(path.with_name("t.csv.partial"), 5000)  # as after a power failure
    with Journal(path, MADE_FROM) as journal:
        assert len(journal.blocks) == 3
    write(path)
    assert path.read_bytes() == b"".join(BLOCKS)


def test_rows_that_were_made_from_something_else_are_refused_unless_they_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write(path, stop_after=2)
    with refused(FileError, "model: a, now b", "repeat that command", overwrite=True, at="t.csv.partial"):
        Journal(path, {**MADE_FROM, "model": "b"})
    with Journal(path, {"model": "b"}, overwrite=True) as journal:
        assert journal.blocks == []
        journal.append(b"new", {})
        journal.finish(lambda rows, file: file.write(rows.read() * 2) and None)
    assert path.read_bytes() == b"newnew"


def test_a_file_with_a_name_of_255_bytes_is_written(tmp_path: Path) -> None:
    path = tmp_path / f"{'a' * 251}.csv"
    write(path, stop_after=2)
    write(path)
    assert path.read_bytes() == b"".join(BLOCKS)
    assert list(tmp_path.iterdir()) == [path]


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with Journal(path, MADE_FROM) as journal:
        journal.append(b"a", {})
        with refused(FileError, "another process writes this file"):
            Journal(path, MADE_FROM)
    with Journal(path, MADE_FROM) as journal:
        assert len(journal.blocks) == 1


def test_a_full_disk_costs_the_last_block_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    write(path, stop_after=2)
    with Journal(path, MADE_FROM) as journal, monkeypatch.context() as full:
        full.setattr(os, "fsync", lambda file: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space left") as error:
            journal.append(BLOCKS[2], {"number": 2})
        assert error.value.filename == str(path.with_name("t.csv.partial"))
        assert len(journal.blocks) == 2
    write(path)
    assert path.read_bytes() == b"".join(BLOCKS)
