"""Reads the files of a dataset into memory, with limits on their size: from a folder, a zip, or a compressed file.

Nothing is unpacked to disk, unless :func:`unpack` is called.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol

from bankgcn.files.checked import FileError, check_regular

MAX_MEMBERS = 10_000
MAX_BYTES = 4 << 30  # of all members together, unpacked; the largest TU set stays far below
MAX_RATIO = 200  # zip bombs exceed 1000; indicator files of real datasets reach 100
RATIO_MATTERS_FROM = 64 << 20  # smaller members may have any ratio

_DRIVE = re.compile(r"^[A-Za-z]:")
# The errors of zipfile and its decompressors for damaged input.
_READ_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,  # encrypted, or a compression that Python does not know
    ValueError,
    IndexError,
)


class Files(Protocol):
    """Named files in a folder or an archive."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names relative to the root, with single forward slashes."""

    def read(self, name: str) -> bytes:
        """The content of a file."""

    def where(self, name: str) -> Path:
        """The path of a file in messages."""


class Folder:
    """The files of a folder, and of its subfolders with the given names.

    Args:
        path: The folder.
        inside: Names of subfolders, such as PyG's ``raw``.
    """

    def __init__(self, path: Path, inside: Sequence[str] = ()):
        self.path = path
        try:
            folders = [path, *(path / name for name in inside if (path / name).is_dir())]
            files = [file for folder in folders for file in folder.iterdir() if file.is_file()]
        except OSError as error:
            raise FileError(f"cannot be listed: {error.strerror}", path) from error
        self.names = tuple(sorted(file.relative_to(path).as_posix() for file in files))

    def read(self, name: str) -> bytes:
        """The content of a file."""
        file = self.where(name)
        try:
            size = file.stat().st_size
            if size > MAX_BYTES:
                raise FileError(f"has {size:,} bytes, more than the limit of {MAX_BYTES:,}", file)
            return file.read_bytes()
        except OSError as error:
            raise FileError(f"cannot be read: {error.strerror}", file) from error

    def where(self, name: str) -> Path:
        """The path of a file."""
        return self.path / name


class Archive:
    """The members of a zip, checked before any is unpacked, and never written to disk.

    Args:
        path: The zip file.
        max_bytes: Most bytes that all its members may unpack to.
        max_members: Most members that it may have.

    Raises:
        FileError: It is no zip, truncated, encrypted, too large, or names a member outside its own folder.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES, max_members: int = MAX_MEMBERS):
        self.path = path
        try:
            check_regular(path)  # a pipe would wait for a writer
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
        except FileError:
            raise
        except _READ_ERRORS as error:
            raise FileError(f"not a readable zip file: {_reason(error)}", path) from error
        if len(members) > max_members:
            raise FileError(f"has {len(members):,} members, more than the limit of {max_members:,}", path)
        total = sum(member.file_size for member in members)
        if total > max_bytes:
            raise FileError(f"unpacks to {total:,} bytes, more than the limit of {max_bytes:,}", path)
        self._members: dict[str, zipfile.ZipInfo] = {}
        for member in members:
            if not member.filename.endswith("/"):
                self._add(member)
        self.names = tuple(sorted(self._members))

    def _add(self, member: zipfile.ZipInfo) -> None:
        name = _safe_name(member.filename, self.path)
        if name in self._members:
            raise FileError(f"has two members {name!r}", self.path)
        if member.flag_bits & 0x1:
            raise FileError(f"member {name!r} is encrypted", self.path)
        if member.file_size > max(RATIO_MATTERS_FROM, MAX_RATIO * member.compress_size):
            raise FileError(
                f"member {name!r} claims to unpack from {member.compress_size:,} to {member.file_size:,} bytes: "
                f"more than {MAX_RATIO} times its size",
                self.path,
            )
        self._members[name] = member

    def read(self, name: str) -> bytes:
        """The content of a member, whose checksum is verified."""
        member = self._members[name]
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(member) as stream:
                content = stream.read(member.file_size + 1)  # never more than was declared, whatever the stream holds
        except _READ_ERRORS as error:
            raise FileError(f"cannot be unpacked: {_reason(error)}", self.where(name)) from error
        if len(content) != member.file_size:
            raise FileError(
                f"unpacks to {len(content):,} bytes instead of the declared {member.file_size:,}", self.where(name)
            )
        return content

    def where(self, name: str) -> Path:
        """The zip's path followed by the member's."""
        return self.path / name


def check_archive(path: Path) -> None:
    """Unpack all members of a zip once, and keep nothing.

    Raises:
        FileError: It is no zip that may be read, or a member is damaged.
    """
    archive = Archive(path)
    for name in archive.names:
        archive.read(name)


def unpack(archive: Archive, folder: Path) -> None:
    """Write all members to a new folder, atomically, without the top folder that they share, if any.

    Raises:
        FileError: A member cannot be unpacked, or the folder is there already.
    """
    tops = {name.partition("/")[0] for name in archive.names}
    top = f"{tops.pop()}/" if len(tops) == 1 else ""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as unfinished:
        root = Path(unfinished) / "content"
        for name in archive.names:
            file = root / name.removeprefix(top)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(archive.read(name))
        try:
            os.replace(root, folder)
        except OSError as error:  # such as a folder that is there already
            raise FileError(f"cannot be written: {error.strerror}", folder) from error


def _safe_name(name: str, archive: Path) -> str:
    """A member's name with single slashes (TU zips double them), refused if it leads out of the archive."""
    path = PurePosixPath(name.replace("\\", "/"))
    if not path.parts:
        raise FileError(f"a member has no name but {name!r}", archive)
    if path.is_absolute() or _DRIVE.match(name) or ".." in path.parts:
        raise FileError(f"member {name!r} points outside the archive", archive)
    return str(path)


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    return str(error) or type(error).__name__


LARGEST = 1 << 30  # bytes of the content: it is held in memory, and a few kilobytes can unpack to any number
UNSUPPORTED = (".zst", ".tar", ".tgz", ".7z", ".rar", ".lz4", ".br")
_PIECE = 1 << 20
_OPENERS: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
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


class Stream(io.RawIOBase):
    """The content of a file, unpacked while it is read; see :func:`open_stream`."""

    def __init__(self, path: Path, largest: int | None = None):
        super().__init__()
        check_regular(path)
        self.path = path
        self._left = largest if path.suffix.lower() in (*_OPENERS, ".zip") else None
        self._file = path.open("rb")
        self.size = os.fstat(self._file.fileno()).st_size
        """Bytes of the file, as it is stored."""
        self.position = 0
        """How many of them were read so far."""
        try:
            self._content = self._unpacked()
        except FileError:
            self._file.close()
            raise
        except _READ_ERRORS as error:
            self._file.close()
            raise self._damaged(error) from error

    def _unpacked(self) -> Any:
        ending = self.path.suffix.lower()
        if ending == ".zip" and (member := only_member(self.path)) is not None:
            return zipfile.ZipFile(self._file).open(member)
        opener = _OPENERS.get(ending)
        return self._file if opener is None else opener(self._file)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes; see :class:`io.RawIOBase`."""
        try:
            piece = self._content.read(len(buffer))
        except _READ_ERRORS as error:
            raise self._damaged(error) from error
        self.position = self._file.tell()
        if self._left is not None:
            self._left -= len(piece)
            if self._left < 0:
                raise FileError("unpacks to too many bytes to be read as a whole: unpack it first", self.path)
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._content.close()
            self._file.close()
        super().close()

    def _damaged(self, error: Exception) -> Exception:
        packed = self.path.suffix.lower() in (*_OPENERS, ".zip")
        return FileError(f"cannot be unpacked: {_reason(error)}", self.path) if packed else error


def open_stream(path: Path, largest: int | None = None) -> Stream:
    """The content of a file as :func:`open_plain` has it, to be read in pieces.

    Args:
        path: The file.
        largest: Most bytes that it may unpack to, if whoever reads it holds all of them.

    Raises:
        OSError: The file cannot be opened.
        FileError: It is damaged. What comes before the damage can be read.
    """
    return Stream(path, largest)
