"""Files that :meth:`GraphSet.save` wrote."""

from __future__ import annotations

from pathlib import Path

from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.reader import Reader
from bankgcn.files.arrays import MAGIC


def is_saved_set(path: Path) -> bool:
    """Whether a file begins as saved sets do, whatever it is called."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


READER = Reader(
    kind="a saved set",
    accepts="a saved GraphSet",
    read=GraphSet.load,
    sniff=is_saved_set,
    cached=False,  # the file is as fast as the cache
)
