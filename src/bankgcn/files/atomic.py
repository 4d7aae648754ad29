"""Atomic writes: a file is either complete or absent. And what is in a folder."""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import re
import secrets
import socket
import stat
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

SHARED_AGE = 3600.0
"""Seconds without a change after which an unfinished file in a folder that machines may share has no writer."""

LONGEST_STEM = 200  # bytes; the rest of the name of an unfinished file has at most 40

_UNFINISHED = re.compile(r"\..+\.(\d{1,9})-([0-9a-f]+)\.part")
_MACHINE = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
"""Stands in the names of unfinished files: the number of a process means something on its own machine alone."""


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which is renamed to ``path`` when the block ends without an error.

    Until then an older file at ``path`` stays, and after an error nothing is left behind. What a killed process left of
    the same file is removed. Missing folders are created.
    The new file has the permissions of the old one. A symbolic link stays: the file that it points to is replaced. A
    pipe or a device cannot be replaced and is written to directly.
    """
    if _is_stream(path):
        with _naming(path), open(path, "wb") as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_unfinished(target.parent, SHARED_AGE, _stem(target.name))
    # In the same folder, because a rename is atomic only within one file system.
    unfinished = target.with_name(f".{_stem(target.name)}.{os.getpid()}-{_MACHINE}{secrets.token_hex(4)}.part")
    try:
        with _naming(path, unfinished), open(unfinished, "xb") as file:
            if target.exists():
                os.chmod(unfinished, stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def is_unfinished(path: Path) -> bool:
    """Whether the name is one under which :func:`atomic_write` writes."""
    return _UNFINISHED.fullmatch(path.name) is not None


def remove_unfinished(folder: Path, min_age: float = 0.0, name: str | None = None) -> None:
    """Remove the unfinished files of killed processes. Files of running processes stay.

    Args:
        folder: Where to look.
        min_age: Seconds without a change before a file of another machine is removed; ``SHARED_AGE`` where other
            machines may write, as the numbers of their processes mean nothing here.
        name: Only what was to become a file of this name, which is not too long; all by default.
    """
    for path in folder.glob(".*.part" if name is None else f".{glob.escape(name)}.*.part"):
        match = _UNFINISHED.fullmatch(path.name)
        if match is None or _is_alive(int(match[1])):
            continue
        with suppress(OSError):  # not ours to remove, or gone already
            if match[2].startswith(_MACHINE) or time.time() - path.stat().st_mtime >= min_age:
                path.unlink()


def _stem(name: str) -> str:
    """What the name of an unfinished file begins with: that of the file, if it leaves room for the rest.

    File systems allow 255 bytes. Of a longer name the hash remains, so that names with one beginning stay apart.
    """
    encoded = os.fsencode(name)
    return name if len(encoded) <= LONGEST_STEM else hashlib.sha256(encoded).hexdigest()


@contextmanager
def _naming(path: str | os.PathLike[str], unfinished: Path | None = None) -> Iterator[None]:
    """Make system errors name the file that the caller asked for; the error of a full disk names none."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename in (None, str(unfinished)):
            error.filename = os.fspath(path)
        raise


def _is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether ``path`` is a pipe or a device, which can be written to but not replaced."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    return not stat.S_ISREG(mode)


def _is_alive(process: int) -> bool:
    """Whether a process of this number runs on this machine."""
    if sys.platform == "win32":
        return True  # os.kill would end the process, so unfinished files stay
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it runs, as another user
    return True


def visible(folder: Path) -> Iterator[Path]:
    """The entries of a folder whose names do not start with a dot, which macOS and notebooks add."""
    return (path for path in folder.iterdir() if not path.name.startswith("."))


def files_of(folder: Path, suffixes: Collection[str]) -> Iterator[Path]:
    """The visible files with one of these endings, in lower or upper case; also a broken link, which cannot be read."""
    return (path for path in visible(folder) if path.suffix.lower() in suffixes and not path.is_dir())
