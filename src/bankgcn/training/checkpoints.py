"""Files with the states of unfinished runs, in a folder for many runs."""

from __future__ import annotations

import contextlib
from collections.abc import Container
from pathlib import Path
from typing import Any

from bankgcn.files.checked import content_hash

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


def remove_checkpoints(folder: Path, keys: Container[str]) -> None:
    """Remove all states of runs whose records are stored. One that cannot be removed stays: it does no harm."""
    for path in folder.glob(f"*{SUFFIX}"):
        if path.name.partition(".")[0] in keys:
            with contextlib.suppress(OSError):
                path.unlink()
