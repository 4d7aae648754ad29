"""Read files that others may have put there: never a pipe or a device, and never more than a stated size."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from bankgcn.files.errors import FileError

MAX_CONFIG_BYTES = 1 << 20
"""Most bytes of a file of settings; those of a run have about 2,000."""
MAX_TABLE_BYTES = 256 << 20
"""Most bytes of a table of a run; the history of a million epochs has a third of it."""


def check_name(path: str | os.PathLike[str]) -> None:
    """Raise if a name is not in UTF-8: libraries and the files of runs cannot hold it.

    Raises:
        FileError: It has bytes that are no text.
    """
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        raise FileError("the name is not in UTF-8: rename it", path) from None


def read_regular(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """The content of a file.

    Raises:
        FileError: It is a pipe or a device, or has more bytes than allowed.
        OSError: It cannot be opened.
    """
    with open(path, "rb", opener=_open_at_once) as file:
        _check(os.fstat(file.fileno()), path, max_bytes)
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:  # it grew meanwhile
        raise _too_large(len(content), path, max_bytes)
    return content


def check_regular(path: str | os.PathLike[str], max_bytes: int | None = None) -> None:
    """Raise if the path is a pipe or a device, which might never end, or if the file is larger than allowed.

    A folder is left to ``open``, whose error says what it is.

    Raises:
        FileError: The path is such a file.
        OSError: There is none.
    """
    _check(os.stat(path), path, max_bytes)


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting: a pipe would wait for a writer, and the path may be one by now."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check(state: os.stat_result, path: str | os.PathLike[str], max_bytes: int | None) -> None:
    if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
        raise FileError("is no regular file but a pipe or a device", path)
    if max_bytes is not None and state.st_size > max_bytes and stat.S_ISREG(state.st_mode):
        raise _too_large(state.st_size, path, max_bytes)


def _too_large(size: int, path: str | os.PathLike[str], max_bytes: int) -> FileError:
    return FileError(f"has {size:,} bytes, more than the limit of {max_bytes:,}", Path(path))
