"""Where data is looked for, and what is remembered of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bankgcn.data import cache
from bankgcn.data.cache import cache_folder, cached, data_roots
from bankgcn.data.graphs import GraphSet
from bankgcn.files.checked import FileError
from refusals import refused

LONG_AGO = time.time() - 1000


class Reads:
    """A reader that counts how often it is called."""

    def __init__(self, file: Path):
        self.file = file
        self.count = 0

    def __call__(self) -> GraphSet:
        self.count += 1
        return GraphSet.from_edges([2], [[0, 1], [1, 0]], attributes=[[float(self.file.read_text())], [0.0]])


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reads:
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "data" / "my set.txt"
    file.parent.mkdir()
    write(file, "1")
    return Reads(file)


def write(file: Path, text: str, when: float = LONG_AGO) -> None:
    file.write_text(text)
    os.utime(file, (when, when))


def value(graphs: GraphSet) -> float:
    assert graphs.attributes is not None
    return float(graphs.attributes[0, 0])


def entries() -> list[str]:
    return sorted(file.name for file in (cache_folder() / "sets").iterdir())


def test_the_second_time_nothing_is_read(reads: Reads) -> None:
    first, second = cached("my set", reads, [reads.file], {}), cached("my set", reads, [reads.file], {})
    assert reads.count == 1
    assert first.fingerprint == second.fingerprint
    np.testing.assert_array_equal(first.signals(), second.signals())
    assert len(entries()) == 1


def test_a_changed_file_is_read_again_and_its_old_entry_goes(reads: Reads) -> None:
    assert value(cached("my set", reads, [reads.file], {})) == 1
    write(reads.file, "2", LONG_AGO + 1)  # of the same size
    assert value(cached("my set", reads, [reads.file], {})) == 2
    write(reads.file, "30", LONG_AGO + 1)  # of the same time
    assert value(cached("my set", reads, [reads.file], {})) == 30
    assert len(entries()) == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no safe way to ask whether a process runs")
def test_what_a_killed_process_left_of_a_write_goes_with_the_next(reads: Reads) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    folder = cache_folder() / "sets"
    folder.mkdir(parents=True)
    for process, age in ((ended.pid, 4000), (ended.pid, 0), (os.getpid(), 4000)):
        write(folder / f".a.graphs.{process}-{age:x}.part", "half", time.time() - age)
    cached("my set", reads, [reads.file], {})
    left = [f".a.graphs.{ended.pid}-0.part", f".a.graphs.{os.getpid()}-fa0.part"]
    assert sorted(entries()) == sorted([*left, entries()[-1]])


def test_other_options_and_other_places_are_other_entries(reads: Reads, tmp_path: Path) -> None:
    cached("my set", reads, [reads.file], {"labels": True})
    cached("my set", reads, [reads.file], {"labels": False})
    copy = tmp_path / reads.file.name
    write(copy, "7")
    assert value(cached("my set", Reads(copy), [copy], {"labels": True})) == 7
    assert reads.count == 2
    assert len(entries()) == 3


def test_another_version_reads_again(reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    cached("my set", reads, [reads.file], {})
    monkeypatch.setattr(cache, "READERS_VERSION", cache.READERS_VERSION + 1)
    cached("my set", reads, [reads.file], {})
    assert reads.count == 2
    assert len(entries()) == 1


def test_a_damaged_entry_is_made_again(reads: Reads) -> None:
    cached("my set", reads, [reads.file], {})
    entry = cache_folder() / "sets" / entries()[0]
    for content in (b"", b"nonsense", entry.read_bytes()[:-60]):
        entry.write_bytes(content)
        assert value(cached("my set", reads, [reads.file], {})) == 1
    assert reads.count == 4
    cached("my set", reads, [reads.file], {})
    assert reads.count == 4


def test_a_file_that_has_just_been_written_is_not_trusted_to_have_settled(reads: Reads) -> None:
    write(reads.file, "1", time.time())
    cached("my set", reads, [reads.file], {})
    assert not (cache_folder() / "sets").exists()


def test_a_failure_leaves_nothing_in_the_cache(reads: Reads) -> None:
    write(reads.file, "nonsense")
    with pytest.raises(ValueError, match="could not convert"):
        cached("my set", reads, [reads.file], {})
    assert not (cache_folder() / "sets").exists()


def test_a_write_that_fails_leaves_nothing_half_written(reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert value(cached("my set", reads, [reads.file], {})) == 1
    assert entries() == []


def test_where_the_cache_cannot_be_written_files_are_read_each_time(
    reads: Reads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in the way").write_text("")
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "in the way"))
    assert value(cached("my set", reads, [reads.file], {})) == value(cached("my set", reads, [reads.file], {})) == 1
    assert reads.count == 2


def test_data_is_looked_for_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BANKGCN_DATA", str(tmp_path))
    (tmp_path / "asked").mkdir()
    assert data_roots(tmp_path / "asked") == (tmp_path / "asked", tmp_path, tmp_path / "cache" / "data")
    monkeypatch.delenv("BANKGCN_DATA")
    assert data_roots() == (tmp_path / "cache" / "data",)


def test_a_root_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BANKGCN_DATA", raising=False)
    with pytest.raises(FileError, match="nowhere: the data root is no folder"):
        data_roots(tmp_path / "nowhere")
    monkeypatch.setenv("BANKGCN_DATA", str(tmp_path / "gone"))
    with refused(FileError, "$BANKGCN_DATA", at="gone"):
        data_roots()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="about the folders of other systems")
def test_the_cache_folder_is_where_the_system_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BANKGCN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/bankgcn")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative is to be ignored")
    assert cache_folder() == Path.home() / ".cache" / "bankgcn"
