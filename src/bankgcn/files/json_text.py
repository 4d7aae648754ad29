"""Read JSON that bankgcn wrote, from files that may be damaged or made by somebody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bankgcn.files.regular import read_regular

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
    content = read_regular(path, MAX_BYTES)
    try:
        return parse_json(content)
    except ValueError as error:
        raise ValueError(f"is not a complete JSON file ({error})") from error
