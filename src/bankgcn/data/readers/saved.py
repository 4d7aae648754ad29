"""Files that :meth:`GraphSet.save` wrote."""

from __future__ import annotations

from pathlib import Path

from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.reader import Reader
from bankgcn.files.tensors import is_array_file


def is_saved_set(path: Path) -> bool:
    """Whether a file begins as saved sets do, whatever it is called."""
    return path.is_file() and is_array_file(path)


READER = Reader(
    kind="a saved set",
    accepts="a saved GraphSet",
    read=lambda path, options, expected: GraphSet.load(path),
    sniff=is_saved_set,
    cached=False,  # the file is as fast as the cache
)
