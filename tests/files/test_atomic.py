"""Files are written whole or not at all; links, pipes and devices stay what they are."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bankgcn.files.checked import atomic_write, files_of, remove_unfinished, visible

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders, and links need a privilege")


def write(path: Path, content: bytes = b"new") -> None:
    with atomic_write(path) as file:
        file.write(content)


@pytest.fixture
def dead_process() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_bytes(b"old")
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to("elsewhere/file")
    write(tmp_path / "first")
    assert (tmp_path / "first").readlink() == Path("second")
    assert (tmp_path / "second").readlink() == Path("elsewhere/file")
    assert (tmp_path / "elsewhere" / "file").read_bytes() == b"new"
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["file"]


def test_a_link_to_nothing_makes_the_file_that_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("deep/file")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "deep" / "file").read_bytes() == b"new"


def test_a_failed_write_through_a_link_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")

    def fail() -> None:
        with atomic_write(tmp_path / "link") as file:
            file.write(b"half")
            raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="disk is full"):
        fail()
    assert (tmp_path / "link").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(OSError, match="link"):
        write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(pipe)
    reader.join(timeout=5)
    assert read == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_is_written_to() -> None:
    ours, terminal = os.openpty()
    write(Path(os.ttyname(terminal)))
    assert os.read(ours, 10) == b"new"
    os.close(ours)
    os.close(terminal)


def test_an_open_pipe_can_be_named_as_a_device() -> None:
    """As in ``--out /dev/stdout | head``: the link leads to a name that is not there."""
    reading, writing = os.pipe()
    write(Path(f"/dev/fd/{writing}"))
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read() == b"new"


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError) as info:
        write(tmp_path)
    assert info.value.filename == str(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path, dead_process: int) -> None:
    kept = [f".a.csv.{os.getpid()}-0a1b2c3d.part", f".a.csv.{os.getppid()}-0a.part", ".mine.part", "a.csv"]
    for name in (*kept, f".a.csv.{dead_process}-0a1b2c3d.part"):
        (tmp_path / name).touch()
    remove_unfinished(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
    remove_unfinished(tmp_path / "missing")


def test_what_was_written_a_moment_ago_may_belong_to_another_machine(tmp_path: Path, dead_process: int) -> None:
    path = tmp_path / f".a.json.{dead_process}-0a.part"
    path.touch()
    remove_unfinished(tmp_path, min_age=60)
    assert path.exists()
    os.utime(path, (time.time() - 61,) * 2)
    remove_unfinished(tmp_path, min_age=60)
    assert not path.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_device_is_named() -> None:
    with pytest.raises(OSError, match="/dev/full") as caught:
        write(Path("/dev/full"), bytes(1 << 20))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "/dev/full")


def test_a_full_disk_is_named_and_the_old_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "file", b"old")

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="file") as caught:
        write(tmp_path / "file")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "file"))
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_written_is_named_by_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    with pytest.raises(OSError, match="plain") as caught:
        write(tmp_path / "plain" / "file")
    assert ".part" not in str(caught.value)


def test_a_file_keeps_the_permissions_of_the_one_that_it_replaces(tmp_path: Path) -> None:
    write(tmp_path / "file", b"old")
    (tmp_path / "file").chmod(0o640)
    write(tmp_path / "file")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    assert (tmp_path / "file").read_bytes() == b"new"


def test_the_longest_names_are_written_and_what_a_killed_process_left_of_them_is_removed(tmp_path: Path) -> None:
    name = "n" * 255
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    with atomic_write(tmp_path / name) as file:
        file.write(b"1")
        (unfinished,) = tmp_path.iterdir()
    left = tmp_path / unfinished.name.replace(f".{os.getpid()}-", f".{ended.pid}-")
    left.touch()
    os.utime(left, (0, 0))
    with atomic_write(tmp_path / name) as file:
        file.write(b"2")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_files_have_the_ending_in_any_case_and_no_dot_at_the_start(tmp_path: Path) -> None:
    for name in ("a.json", "b.JSON", ".c.json", "d.txt"):
        (tmp_path / name).touch()
    (tmp_path / "e.json").mkdir()
    (tmp_path / "f.json").symlink_to("absent")
    assert sorted(path.name for path in visible(tmp_path)) == ["a.json", "b.JSON", "d.txt", "e.json", "f.json"]
    assert sorted(path.name for path in files_of(tmp_path, (".json",))) == ["a.json", "b.JSON", "f.json"]
