"""Read and write flat TOML: one setting a line."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from bankgcn.files.atomic import atomic_write
from bankgcn.files.errors import FileError

Value = str | int | float | bool


def read_toml(path: Path) -> dict[str, Value]:
    """The settings of a file.

    Raises:
        FileError: The file is missing, is not TOML, or has a value that is a table or a list.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", path) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"is not TOML: {error}", path) from error
    for key, value in content.items():
        if not isinstance(value, Value):
            raise FileError(f"{key} is {value!r}, expected a number, a word, true or false", path)
    return content


def write_toml(path: Path, settings: Mapping[str, Value], comment: str) -> None:
    """Write settings, below a comment."""
    lines = [f"# {comment}", *(f"{key} = {_written(value)}" for key, value in settings.items())]
    with atomic_write(path) as file:
        file.write("\n".join([*lines, ""]).encode())


def _written(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):  # TOML escapes strings as JSON does, and one further character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
