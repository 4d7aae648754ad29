"""Locks that the system releases when a process ends: on a folder, and on the runs of a sweep.

A lock is one of filelock on a file, which is removed when the lock is released. On a file system without locks nothing
is locked.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bankgcn.files.checked import FileError

if TYPE_CHECKING:
    from filelock import FileLock

LOCK = ".lock"
CLAIM = ".claim"
NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}
"""Errors of a file system without locks."""


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is created if needed. A thread that holds the lock may acquire it again.

    Raises:
        FileError: Another process, or another thread of this one, holds it; or there can be no such folder.
    """
    if folder.is_symlink() and not folder.exists():
        raise FileError("is a symbolic link that leads to nothing, or to itself: remove it", folder)
    folder.mkdir(parents=True, exist_ok=True)
    lock = _lock_on(folder / LOCK, reentrant=True)
    if lock.is_locked:
        yield
        return
    holder = _acquire(lock)
    if holder is not None:
        raise FileError(
            f"is in use: process {holder or 'unknown'} trains there; wait until it ends, or name another folder", folder
        )
    try:
        yield
    finally:
        _release(lock)


class Claims:
    """Names of which at most one process holds each: a lock for each name.

    Args:
        folder: Where the files of the locks are; it must exist.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._locks: dict[str, FileLock] = {}

    def take(self, name: str) -> bool:
        """Claim a name; false if somebody else holds it."""
        lock = _lock_on(self._folder / f".{name}{CLAIM}")
        if _acquire(lock) is not None:
            return False
        self._locks[name] = lock
        return True

    def release(self, name: str) -> None:
        """Give up a name that was claimed."""
        _release(self._locks.pop(name))

    def remove_dead(self) -> None:
        """Remove the files of killed processes."""
        for path in self._folder.glob(f".*{CLAIM}"):
            lock = _lock_on(path)
            if _acquire(lock) is None:
                _release(lock)

    def close(self) -> None:
        """Give up all names."""
        for name in list(self._locks):
            self.release(name)


def _lock_on(path: Path, reentrant: bool = False) -> FileLock:
    """The lock of a file, not yet acquired.

    Args:
        path: The file.
        reentrant: Whether the lock is the same object for all that lock the file in this process; it knows which
            thread holds it. Otherwise any thread may release the lock.
    """
    from filelock import FileLock  # it loads asyncio and more, which nobody needs who only reads a store

    return FileLock(
        path,
        blocking=False,
        is_singleton=reentrant,
        thread_local=reentrant,
        fallback_to_soft=False,  # a killed process would leave a soft lock behind
        on_acquired=_write_holder,
    )


def _acquire(lock: FileLock) -> str | None:
    """Acquire a lock; if somebody else holds it, the process and its machine, as far as they are known."""
    from filelock import Timeout

    while True:
        try:
            lock.acquire()
        except Timeout:
            try:
                return _read_holder(lock.lock_file)
            except FileNotFoundError:
                continue  # its last holder has removed it since it was opened
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
        return None


def _release(lock: FileLock) -> None:
    try:
        if sys.platform != "win32":  # there filelock removes the file, which cannot be removed while it is open
            Path(lock.lock_file).unlink(missing_ok=True)
    finally:
        lock.release()


def _write_holder(descriptor: int) -> None:
    """Name this process in a locked file. The first byte stays blank: it is the one that Windows locks."""
    with suppress(OSError):  # a full disk: the name is for people only
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f" {os.getpid()} on {socket.gethostname()}".encode())


def _read_holder(path: str) -> str:
    """What the holder of a lock wrote.

    Raises:
        FileNotFoundError: The lock was released.
    """
    with open(path, "rb", buffering=0) as file:
        file.seek(1)
        return file.read(1000).decode(errors="replace")
