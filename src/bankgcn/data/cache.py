"""The folders in which data is looked for, and the cache of parsed datasets."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

import bankgcn
from bankgcn.files.atomic import SHARED_AGE, remove_unfinished
from bankgcn.files.checked import FileError

if TYPE_CHECKING:
    from bankgcn.data.graphs import GraphSet

READERS_VERSION = 7  # raise it when a reader gives other graphs for the same file
SETTLED = 2.0  # seconds; on some file systems two writes within this time leave the same time stamp


def cache_folder() -> Path:
    """The cache folder of the user: ``$BANKGCN_CACHE``, or the system's, on Linux ``~/.cache/bankgcn``."""
    if chosen := os.environ.get("BANKGCN_CACHE"):
        return Path(chosen).expanduser()
    return user_cache_path("bankgcn", appauthor=False)


def data_roots(data_root: str | Path | None = None) -> tuple[Path, ...]:
    """The folders in which data is looked for, in order: the given one, ``$BANKGCN_DATA``, the user's cache folder.

    Raises:
        FileError: The given folder, or that of ``$BANKGCN_DATA``, does not exist.
    """
    roots = []
    if data_root is not None:
        roots.append(_existing_folder(data_root, "the data root is no folder"))
    if variable := os.environ.get("BANKGCN_DATA"):
        roots.append(_existing_folder(variable, "$BANKGCN_DATA is no folder"))
    return (*roots, cache_folder() / "data")


def download_root(data_root: str | Path | None = None) -> Path:
    """The folder to which downloads go: the given one, else the user's cache folder."""
    return cache_folder() / "data" if data_root is None else Path(data_root).expanduser()


def cached(name: str, read: Callable[[], GraphSet], files: Sequence[Path], options: Mapping[str, object]) -> GraphSet:
    """The graphs that ``read`` returns; from the cache if the same files were read with the same options before.

    The name of a cache file depends on the paths, sizes and modification times of the files, on the options, and on the
    version of the readers. A new cache file replaces older ones of the same files, and the parts of files that killed
    processes left are removed. If the cache cannot be written, the files are read each time.

    Args:
        name: Start of the name of the cache file, for people who look into the folder.
        read: Reads the files.
        files: The files that it reads.
        options: Its options. Different options must have a different ``repr``.
    """
    from bankgcn.data.graphs import GraphSet

    cache_file = _cache_file(name, files, options)
    if cache_file is None:
        return read()
    with contextlib.suppress(FileError, OSError):
        return GraphSet.load(cache_file, verify=False)  # we wrote it, and large sets are opened often
    graphs = read()
    settled = time.time() - max(file.stat().st_mtime for file in files) > SETTLED
    if settled and _cache_file(name, files, options) == cache_file:  # else a file may have changed while it was read
        _store(graphs, cache_file)
    return graphs


def _cache_file(name: str, files: Sequence[Path], options: Mapping[str, object]) -> Path | None:
    """The cache file for these files in their present state; ``None`` if the state of a file is unknown."""
    try:
        places = [str(file.resolve()) for file in files]
        states = [(file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    except OSError:
        return None
    source = _hash([places, {option: repr(value) for option, value in sorted(options.items())}])
    state = _hash([states, READERS_VERSION, bankgcn.__version__])
    stem = re.sub(r"[^\w.-]", "_", name)[:40]
    return cache_folder() / "sets" / f"{stem}-{source}-{state}.graphs"


def _store(graphs: GraphSet, cache_file: Path) -> None:
    same_source = cache_file.name.rpartition("-")[0]
    with contextlib.suppress(OSError):
        remove_unfinished(cache_file.parent, SHARED_AGE)
        graphs.save(cache_file)
        for older in cache_file.parent.glob(f"{same_source}-*.graphs"):
            if older != cache_file:
                older.unlink(missing_ok=True)


def _hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _existing_folder(path: str | Path, message: str) -> Path:
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise FileError(message, folder)
    return folder
