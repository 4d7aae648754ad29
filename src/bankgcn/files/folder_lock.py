"""Locks that the system releases when a process ends: on a folder, and on the runs of a sweep.

A lock is a ``flock`` on a file, which is removed when the lock is released. On Windows, and on file systems without
locks, nothing is locked.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bankgcn.files.errors import FileError

LOCK = ".lock"
CLAIM = ".claim"

_held: dict[Path, int] = {}
"""The thread of this process that holds the lock of each folder."""


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is created if needed. A thread that holds the lock may acquire it again.

    Raises:
        FileError: Another process, or another thread of this one, holds it.
    """
    place = folder.resolve()
    if _held.get(place) == threading.get_ident():
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    lock = _acquire(folder / LOCK)
    if isinstance(lock, str):
        raise FileError(
            f"is in use: process {lock or 'unknown'} trains there; wait until it ends, or name another folder", folder
        )
    _held[place] = threading.get_ident()
    try:
        yield
    finally:
        del _held[place]
        _release(folder / LOCK, lock)


class Claims:
    """Names of which at most one process holds each: a lock for each name.

    Args:
        folder: Where the files of the locks are; it must exist.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._locks: dict[str, int] = {}

    def take(self, name: str) -> bool:
        """Claim a name; false if somebody else holds it."""
        lock = _acquire(self._path(name))
        if isinstance(lock, str):
            return False
        self._locks[name] = lock
        return True

    def release(self, name: str) -> None:
        """Give up a name that was claimed."""
        _release(self._path(name), self._locks.pop(name))

    def remove_dead(self) -> None:
        """Remove the files of killed processes."""
        for path in self._folder.glob(f".*{CLAIM}"):
            lock = _acquire(path)
            if isinstance(lock, int):
                _release(path, lock)

    def close(self) -> None:
        """Give up all names."""
        for name in list(self._locks):
            self.release(name)

    def _path(self, name: str) -> Path:
        return self._folder / f".{name}{CLAIM}"


def _acquire(path: Path) -> int | str:
    """The descriptor of the locked file; if somebody else holds the lock, the process and its machine."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if not _lock(descriptor):
            holder = os.read(descriptor, 1000).decode(errors="replace")
            os.close(descriptor)
            return holder
        if _is_file_of(descriptor, path):
            break
        os.close(descriptor)  # its last holder has removed it since it was opened
    with suppress(OSError):  # a full disk: the name of the holder is for people only
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()} on {socket.gethostname()}".encode())
    return descriptor


def _release(path: Path, descriptor: int) -> None:
    try:
        path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


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
