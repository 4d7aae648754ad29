"""Read JSON that bankgcn wrote, from files that may be damaged or made by somebody else."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from bankgcn.files.errors import FileError

MAX_BYTES = 256 << 20  # of a JSON file; the split of ten million graphs has half of it


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
    check_regular(path)
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise FileError(f"has {size:,} bytes, more than the limit of {MAX_BYTES:,}", path)
    try:
        return parse_json(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"is not a complete JSON file ({error})") from error


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise a ``FileError`` if the path is a pipe or a device: reading from it might never end.

    A folder is left to ``open``, whose error says what it is.
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FileError("is no regular file but a pipe or a device", path)
