"""Where data is looked for, and sets that were parsed before."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import bankgcn
from bankgcn.data.graphs import GraphSet
from bankgcn.files.atomic import SHARED_AGE, remove_unfinished
from bankgcn.files.errors import FileError

READERS_VERSION = 4  # to be raised when a reader reads the same file differently
SETTLED = 2.0  # seconds; some file systems tell two writes within this time apart by nothing but the size


def cache_folder() -> Path:
    """The user's folder for what can be made again: ``$BANKGCN_CACHE``, or where the system keeps such things."""
    if chosen := os.environ.get("BANKGCN_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "bankgcn" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "bankgcn"
    shared = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(shared) if os.path.isabs(shared) else Path.home() / ".cache") / "bankgcn"


def data_roots(data_root: str | Path | None = None) -> tuple[Path, ...]:
    """The folders in which data is looked for, in order: the given one, ``$BANKGCN_DATA``, the user's cache folder.

    Raises:
        FileError: The folder that was asked for is not there.
    """
    roots = []
    if data_root is not None:
        roots.append(_existing(Path(data_root).expanduser(), "the data root is no folder"))
    if told := os.environ.get("BANKGCN_DATA"):
        roots.append(_existing(Path(told).expanduser(), "$BANKGCN_DATA is no folder"))
    return (*roots, cache_folder() / "data")


def download_root(data_root: str | Path | None = None) -> Path:
    """The folder to which downloads go: the given one, else the user's cache folder, which is always writable."""
    return cache_folder() / "data" if data_root is None else Path(data_root).expanduser()


def cached(name: str, read: Callable[[], GraphSet], files: Sequence[Path], options: Mapping[str, object]) -> GraphSet:
    """What ``read`` returns, from the cache if the same files were read in the same way before.

    An entry is named by where the files are, their sizes and times of change, the options, and the version of the
    readers; it is written atomically and replaces older ones of the same files. What a killed process left of a write
    is removed with the next one. Where the cache cannot be written, files are simply read each time.

    Args:
        name: What the entry is called, for whoever looks into the folder.
        read: Reads the files.
        files: What it reads.
        options: How it reads them. Their ``repr`` must tell different ones apart.
    """
    entry = _entry(name, files, options)
    if entry is None:
        return read()
    with contextlib.suppress(FileError, OSError):
        return GraphSet.load(entry)
    graphs = read()
    newest = max(file.stat().st_mtime for file in files)
    if (
        time.time() - newest > SETTLED and _entry(name, files, options) == entry
    ):  # else it may have changed while being read
        _store(graphs, entry)
    return graphs


def _entry(name: str, files: Sequence[Path], options: Mapping[str, object]) -> Path | None:
    """The file of the cache for these files in their present state; ``None`` if they cannot be looked at."""
    try:
        places = [str(file.resolve()) for file in files]
        states = [(file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    except OSError:
        return None
    how = {option: repr(value) for option, value in sorted(options.items())}
    where = _hash([places, how])
    state = _hash([states, READERS_VERSION, bankgcn.__version__])
    stem = re.sub(r"[^\w.-]", "_", name)[:40]
    return cache_folder() / "sets" / f"{stem}-{where}-{state}.graphs"


def _store(graphs: GraphSet, entry: Path) -> None:
    same_files = entry.name.rpartition("-")[0]
    with contextlib.suppress(OSError):
        remove_unfinished(entry.parent, SHARED_AGE)
        graphs.save(entry)
        for older in entry.parent.glob(f"{same_files}-*.graphs"):
            if older != entry:
                older.unlink(missing_ok=True)


def _hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _existing(folder: Path, complaint: str) -> Path:
    if not folder.is_dir():
        raise FileError(complaint, folder)
    return folder
