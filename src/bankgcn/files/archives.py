"""Read the files of a dataset from a zip or a folder into memory, with limits on their size."""

from __future__ import annotations

import lzma
import os
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol

from bankgcn.files.errors import FileError
from bankgcn.files.regular import check_regular

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
