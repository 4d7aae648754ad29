"""One process at a time in a folder."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bankgcn.files.errors import FileError
from bankgcn.files.folder_lock import LOCK, lock_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such locks")

HOLD = """
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(descriptor, fcntl.LOCK_EX)
os.write(descriptor, f"{os.getpid()} on elsewhere".encode())
print(flush=True)
sys.stdin.read()
"""


def test_another_process_is_named_and_its_lock_ends_when_it_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path / LOCK)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(FileError, match=f"is in use: process {other.pid} on elsewhere trains there") as info:
            lock_folder(tmp_path).__enter__()
        assert info.value.path == str(tmp_path)
        other.kill()
    assert (tmp_path / LOCK).exists()
    with lock_folder(tmp_path):
        assert (tmp_path / LOCK).read_text().startswith(f"{os.getpid()} on ")
    assert list(tmp_path.iterdir()) == []


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
