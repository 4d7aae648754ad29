"""Read and write flat TOML: one setting a line, and above them their checksum.

The checksum stands first: a file that is cut short has lost its settings, or differs from its checksum.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from bankgcn.files.atomic import atomic_write
from bankgcn.files.checksums import SHA256, content_hash, without_checksum
from bankgcn.files.errors import FileError
from bankgcn.files.regular import MAX_CONFIG_BYTES, read_regular

Value = str | int | float | bool


def read_toml(path: Path) -> dict[str, Value]:
    """The settings of a file. A file that was written by hand needs no checksum.

    Raises:
        FileError: The file is missing, no regular file, too large or not TOML, holds no settings, differs from its
            checksum, or has a value that is a table or a list.
    """
    try:
        content = tomllib.loads(read_regular(path, MAX_CONFIG_BYTES).decode())
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
    try:
        return without_checksum(content)
    except ValueError as error:
        raise FileError(f"{error}; if you changed it, remove its line {SHA256}", path) from error


def write_toml(path: Path, settings: Mapping[str, Value], comment: str) -> None:
    """Write settings, below a comment."""
    complete = {SHA256: content_hash(settings), **settings}
    lines = [
        f"# {comment}",
        f"# {SHA256} is the checksum of the settings: remove its line to change them",
        *(f"{key} = {_written(value)}" for key, value in complete.items()),
    ]
    with atomic_write(path) as file:
        file.write("\n".join([*lines, ""]).encode())


def _written(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):  # TOML escapes strings as JSON does, and one further character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
