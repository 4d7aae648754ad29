"""Files with the states of unfinished runs, in a folder for many runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bankgcn.files.checksums import content_hash

SUFFIX = ".checkpoint"


def checkpoint_path(folder: Path, key: str, depends_on: Any) -> Path:
    """The file for the state of a run.

    Args:
        folder: The folder.
        key: The key of the run.
        depends_on: What else the run depends on, as JSON can hold it. With another value, the file has another name: a
            run never resumes from a state that it would not have reached itself.
    """
    return folder / f"{key}.{content_hash(depends_on)[:10]}{SUFFIX}"


def remove_checkpoints(folder: Path, key: str) -> None:
    """Remove all states of a run: its record is stored."""
    for path in folder.glob(f"{key}.*{SUFFIX}"):
        path.unlink(missing_ok=True)
