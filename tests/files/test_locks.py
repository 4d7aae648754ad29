"""One process at a time in a folder."""

from __future__ import annotations

import errno
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from bankgcn.files.checked import FileError
from bankgcn.files.locks import LOCK, Claims, lock_folder
from refusals import refused

HOLD = """
import sys
from pathlib import Path
from bankgcn.files.locks import Claims, lock_folder
claims = Claims(Path(sys.argv[1]))
with lock_folder(Path(sys.argv[1])):
    assert claims.take("run")
    print(flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_holder(folder: Path) -> Iterator[subprocess.Popen]:
    """A process that holds the lock of a folder and claims the name "run" in it."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        try:
            yield other
        finally:
            other.kill()


def test_another_process_is_named_and_its_lock_ends_when_it_is_killed(tmp_path: Path) -> None:
    with other_holder(tmp_path) as other:
        holder = f"{other.pid} on {socket.gethostname()}"
        with refused(FileError, f"process {holder}") as info:
            lock_folder(tmp_path).__enter__()
        assert info.value.path == str(tmp_path)
    assert (tmp_path / LOCK).exists()
    with lock_folder(tmp_path):
        assert (tmp_path / LOCK).read_text() == f" {os.getpid()} on {socket.gethostname()}"
    Claims(tmp_path).remove_dead()
    assert list(tmp_path.iterdir()) == []


def test_a_claim_ends_when_its_process_is_killed(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    with other_holder(tmp_path):
        assert not claims.take("run")
        assert claims.take("another run")
        claims.remove_dead()
        assert sorted(file.name for file in tmp_path.glob(".*.claim")) == [".another run.claim", ".run.claim"]
    assert claims.take("run")
    claims.close()
    assert list(tmp_path.glob(".*.claim")) == []


def test_a_lock_file_without_a_name_is_held_by_an_unknown_process(tmp_path: Path) -> None:
    with FileLock(tmp_path / LOCK), pytest.raises(FileError, match="process unknown trains there"):
        lock_folder(tmp_path).__enter__()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no file systems without locks")
@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_locks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def fail(descriptor: int, operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", fail)
    with lock_folder(tmp_path), lock_folder(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / LOCK).mkdir()
    with pytest.raises(OSError, match=re.escape(str(tmp_path / LOCK))):
        lock_folder(tmp_path).__enter__()


def test_the_holder_may_take_the_lock_once_more(tmp_path: Path) -> None:
    with lock_folder(tmp_path / "a" / ".."):
        with lock_folder(tmp_path):
            pass
        assert (tmp_path / LOCK).exists()


def test_an_error_releases_the_lock(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="diverged"), lock_folder(tmp_path):
            raise RuntimeError("diverged")


def test_of_many_threads_one_at_a_time_holds_the_lock(tmp_path: Path) -> None:
    inside, taken, most = 0, 0, 0
    start = threading.Barrier(8)

    def compete() -> None:
        nonlocal inside, taken, most
        start.wait()
        for _ in range(50):
            try:
                with lock_folder(tmp_path):
                    inside += 1
                    taken += 1
                    most = max(most, inside)
                    inside -= 1
            except FileError:
                pass

    threads = [threading.Thread(target=compete) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken > 0
    assert most == 1
