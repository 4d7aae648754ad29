"""Compressed files: their content is read without unpacking them to disk, up to a bound on its size."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from bankgcn.files.archives import MAX_RATIO, RATIO_MATTERS_FROM, Archive
from bankgcn.files.errors import FileError
from bankgcn.files.regular import check_regular

LARGEST = 1 << 30  # bytes of the content: it is held in memory, and a few kilobytes can unpack to any number
UNSUPPORTED = (".zst", ".tar", ".tgz", ".7z", ".rar", ".lz4", ".br")
_PIECE = 1 << 20
_OPENERS: dict[str, Callable[[Path], Any]] = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
_ERRORS = (EOFError, zlib.error, lzma.LZMAError, OSError)  # of damaged content; a damaged gzip or bz2 is an OSError


def plain_name(path: Path) -> str:
    """The name of the content: without the ending of the compression, or that of the only member of a zip.

    Example:
        >>> plain_name(Path("molecules.csv.gz")), plain_name(Path("molecules.csv"))
        ('molecules.csv', 'molecules.csv')
    """
    if path.suffix.lower() == ".zip":
        member = only_member(path)
        return path.name if member is None else PurePosixPath(member).name
    return path.stem if path.suffix.lower() in _OPENERS else path.name


def plain_ending(path: Path) -> str:
    """The ending of the content in lower case, such as ``.csv`` for ``molecules.csv.gz``."""
    return PurePosixPath(plain_name(path)).suffix.lower()


def plain_stem(path: Path) -> str:
    """The name of a file without the endings of its format and its compression, as text that every file can hold."""
    return os.fsencode(PurePosixPath(plain_name(path)).stem).decode(errors="replace")


def only_member(path: Path) -> str | None:
    """The only file in a zip; ``None`` if there are several, or if it is no zip."""
    try:
        names = Archive(path).names
    except FileError:
        return None
    kept = [name for name in names if not name.startswith("__MACOSX/")]  # which macOS adds
    return kept[0] if len(kept) == 1 else None


def beginning(path: Path, size: int) -> bytes:
    """The first bytes of the content of a file; none if it cannot be read."""
    try:
        check_regular(path)
        opener = _OPENERS.get(path.suffix.lower())
        with open_plain(path) if opener is None else opener(path) as file:
            return file.read(size)
    except (FileError, *_ERRORS):
        return b""


def open_plain(path: Path, largest: int = LARGEST) -> BinaryIO:
    """The content of a file, unpacked if the file is compressed by gzip, bzip2 or xz, or is a zip of one file.

    Raises:
        OSError: The file cannot be opened.
        FileError: It is damaged, or unpacks to more than ``largest`` bytes, or to so many times its size that it is
            made to fill the memory.
    """
    check_regular(path)
    ending = path.suffix.lower()
    if ending == ".zip" and (member := only_member(path)) is not None:
        return io.BytesIO(Archive(path, max_bytes=largest).read(member))
    if ending not in _OPENERS:
        return path.open("rb")
    with path.open("rb") as packed_file:  # an error about the file itself is not one about its content
        size = packed_file.seek(0, io.SEEK_END)
    largest = min(largest, max(RATIO_MATTERS_FROM, MAX_RATIO * size))
    content = io.BytesIO()
    try:
        with _OPENERS[ending](path) as packed:
            while content.tell() <= largest and (piece := packed.read(_PIECE)):
                content.write(piece)
    except _ERRORS as error:
        raise FileError(f"cannot be unpacked: {error}", path) from error
    if content.tell() > largest:
        raise FileError(f"unpacks to more than {largest:,} bytes: unpack it first", path)
    content.seek(0)
    return content
