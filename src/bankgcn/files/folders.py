"""What is in a folder."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path


def visible(folder: Path) -> Iterator[Path]:
    """The entries of a folder whose names do not start with a dot, which macOS and notebooks add."""
    return (path for path in folder.iterdir() if not path.name.startswith("."))


def files_of(folder: Path, suffixes: Collection[str]) -> Iterator[Path]:
    """The visible files with one of these endings, in lower or upper case; also a broken link, which cannot be read."""
    return (path for path in visible(folder) if path.suffix.lower() in suffixes and not path.is_dir())
