"""A lock on a folder, so that two processes never write one run at the same time."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bankgcn.files.errors import FileError

LOCK = ".lock"

_held: dict[Path, int] = {}
"""The thread of this process that holds the lock of each folder."""


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is created if needed.

    The system releases the lock when the process ends, even if it is killed. A thread that holds the lock may acquire
    it again. On Windows, and on file systems without locks, nothing is locked.

    Raises:
        FileError: Another process, or another thread of this one, holds it.
    """
    place = folder.resolve()
    if _held.get(place) == threading.get_ident():
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = _acquire(folder)
    _held[place] = threading.get_ident()
    try:
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()} on {socket.gethostname()}".encode())
        yield
    finally:
        del _held[place]
        (folder / LOCK).unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(folder: Path) -> int:
    """The descriptor of the locked file."""
    while True:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        if not _lock(descriptor):
            holder = os.read(descriptor, 1000).decode(errors="replace")
            os.close(descriptor)
            raise FileError(
                f"is in use: process {holder or 'unknown'} trains there; wait until it ends, or name another folder",
                folder,
            )
        if _is_file_of(descriptor, folder / LOCK):
            return descriptor
        os.close(descriptor)  # its last holder has removed it since it was opened


def _is_file_of(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


if sys.platform == "win32":

    def _lock(descriptor: int) -> bool:
        return True

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        """Whether nobody else holds the lock."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass  # a file system without locks
        return True
