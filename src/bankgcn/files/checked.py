"""Files that are complete or absent when written, and checked when read: JSON, flat TOML, and their checksums.

What is read may be damaged or made by somebody else. A pipe or a device is never read, and never more than a stated
size. Checksums find damage, not forgery: whoever can write a file can write its checksum. Settings in TOML may be
edited by hand: that they differ from their checksum is for the reader to note. The checksum is their last line, so that
a file that is cut short has lost it and is refused.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import re
import secrets
import socket
import stat
import sys
import time
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO

from bankgcn.messages import Spelling, spelled

SHARED_AGE = 3600.0
"""Seconds without a change after which an unfinished file in a folder that machines may share has no writer."""

LONGEST_STEM = 200  # bytes; the rest of the name of an unfinished file has at most 40

_UNFINISHED = re.compile(r"\..+\.(\d{1,9})-([0-9a-f]+)\.part")
_MACHINE = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
"""Stands in the names of unfinished files: the number of a process means something on its own machine alone."""


class FileError(ValueError):
    """A file that cannot be read, or whose content is invalid.

    Args:
        message: What is wrong; a :class:`~bankgcn.messages.Message` if it names options.
        path: The file.
        line: The line in it, counted from 1, if one line is to blame.

    Example:
        >>> print(FileError("'x' is not a number", "MUTAG_A.txt", 3))
        MUTAG_A.txt:3: 'x' is not a number
    """

    def __init__(self, message: str, path: str | PathLike[str], line: int | None = None):
        self.message = message
        self.path = fspath(path)
        self.line = line
        super().__init__(message, self.path, line)

    def __str__(self) -> str:
        return f"{self._where}: {self.message}"

    def spelled(self, spelling: Spelling) -> str:
        """The message with its place, as a front spells options."""
        return f"{self._where}: {spelled(self.message, spelling)}"

    @property
    def _where(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


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


SHA256 = "sha256"
"""Name of the field that holds the checksum of the fields beside it."""
CURE = "restore it from a copy, or make it again"
"""What to do with a damaged file."""


def content_hash(values: Any) -> str:
    """SHA-256 of values that JSON can hold. The order of names does not matter, and 1 equals 1.0.

    Raises:
        ValueError: A number is not finite, or the values are nested too deeply.
    """
    try:
        text = json.dumps(canonical(values), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(value: Any) -> Any:
    """A value as :func:`content_hash` sees it: equal values are the same JSON."""
    if isinstance(value, Mapping):
        return {str(name): canonical(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def with_checksum(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, and after them a field with their checksum."""
    return {**values, SHA256: content_hash(values)}


def without_checksum(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields without the checksum, which is compared if there is one.

    Raises:
        ValueError: The fields were changed after they were written.
    """
    rest = {name: value for name, value in values.items() if name != SHA256}
    if SHA256 in values and values[SHA256] != content_hash(rest):
        raise ValueError("was changed after it was written: its content differs from its checksum")
    return rest


def hash_of_parts(parts: Iterable[bytes | memoryview]) -> str:
    """SHA-256 of byte strings, each after its length: no two lists of parts have the same bytes."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


MAX_JSON_BYTES = 256 << 20  # of a JSON file; the split of ten million graphs has half of it


def parse_json(text: bytes | str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: The text is not JSON, or nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_json(path: Path) -> Any:
    """The value in a JSON file.

    Raises:
        ValueError: The file is not a complete JSON file.
        FileError: It is too large, or no regular file.
        OSError: It cannot be opened.
    """
    content = read_regular(path, MAX_JSON_BYTES)
    try:
        return parse_json(content)
    except ValueError as error:
        raise ValueError(f"is not a complete JSON file ({error})") from error


Value = str | int | float | bool


EDITABLE = f"# edit it as you like; the last line, {SHA256}, tells whether it was changed or cut short"
"""A line of every file of settings that :func:`write_toml` writes."""


class TomlSettings(dict[str, Value]):
    """The settings of a file.

    Args:
        path: The file.
        text: Its content.
        values: Its fields.
    """

    def __init__(self, path: Path, text: str, values: Mapping[str, Value]):
        super().__init__({name: value for name, value in values.items() if name != SHA256})
        self.path = path
        self.changed = SHA256 in values and values[SHA256] != content_hash(self)
        """Whether they differ from the checksum of the file."""
        self._text = text

    def place(self, name: str) -> str:
        """The file and the line of a setting, for messages."""
        match = re.search(rf"^[ \t]*[\"']?{re.escape(name)}[\"']?[ \t]*=", self._text, re.MULTILINE)
        return f"{self.path}:{self._text.count(chr(10), 0, match.start()) + 1}" if match else str(self.path)


def read_toml(path: Path) -> TomlSettings:
    """The settings of a file. A file that was written by hand needs no checksum.

    Raises:
        FileError: The file is missing, no regular file, too large, not TOML or cut short, holds no settings, or has a
            value that is a table or a list.
    """
    try:
        text = read_regular(path, MAX_CONFIG_BYTES).decode()
        content = tomllib.loads(text)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", path) from error
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, or nested too deeply
        raise FileError(f"is not TOML: {error}", path) from error
    for key, value in content.items():
        if not isinstance(value, Value):
            raise FileError(f"{key} is {value!r}, expected a number, a word, true or false", path)
    if not content:
        raise FileError("holds no settings: it is empty or cut short", path)
    if EDITABLE in text and SHA256 not in content:
        end = len(text.splitlines())
        raise FileError(f"is cut short: it ends without {SHA256}; {CURE}, or remove the line {EDITABLE!r}", path, end)
    return TomlSettings(path, text, content)


def write_toml(path: Path, settings: Mapping[str, Value], comment: str) -> None:
    """Write settings, below a comment."""
    complete = with_checksum(settings)
    lines = [f"# {comment}", EDITABLE, *(f"{key} = {_written(value)}" for key, value in complete.items())]
    with atomic_write(path) as file:
        file.write("\n".join([*lines, ""]).encode())


def _written(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):  # TOML escapes strings as JSON does, and one further character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


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
    remove_unfinished(target.parent, SHARED_AGE, short_name(target.name))
    # In the same folder, because a rename is atomic only within one file system.
    unfinished = target.with_name(f".{short_name(target.name)}.{os.getpid()}-{_MACHINE}{secrets.token_hex(4)}.part")
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


def short_name(name: str) -> str:
    """What the name of a file beside another begins with: that of the other, if it leaves room for the rest.

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
