"""Reading graphs: with their progress, and from standard input, ``-``."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from typing import TYPE_CHECKING

from bankgcn.data.catalog import cache_folder
from bankgcn.files.archives import LARGEST
from bankgcn.files.checked import atomic_write

if TYPE_CHECKING:  # PyTorch is loaded when graphs are read
    from bankgcn.data.graphs import GraphSet
    from bankgcn.data.options import Expected, ReadOptions
    from bankgcn.data.sources import Source

STANDARD_INPUT = "-"
FROM_STANDARD_INPUT = "'-' is standard input."
"""A sentence for the help of such arguments."""
_SIGNATURES = {
    b"PAR1": ".parquet",
    b"PK\x03\x04": ".zip",
    b"\x1f\x8b": ".csv.gz",
    b"BZh": ".csv.bz2",
    b"\xfd7zXZ": ".csv.xz",
    b"[": ".json",
    b"<": ".graphml",
}
"""How files of some formats begin."""
_GML = re.compile(rb"(?:(?:Creator|Version|#)[^\n]*\n\s*)*graph\s*\[")


def load_graphs(source: Source, options: ReadOptions, expected: Expected) -> GraphSet:
    """:meth:`Source.load`, with the progress of readers that report it."""
    from bankgcn.cli.progress import Progress

    with Progress(f"reading {source.name}") as progress:
        return source.load(options, expected, progress=progress.update)


def source_argument(source: str | None) -> str | None:
    """The source that an argument names. The content of standard input is kept in a file, which a run can read again.

    The file is in the folder ``stdin`` of the cache folder; its name depends on its content alone.

    Raises:
        ValueError: Standard input is closed or empty, or has more bytes than are held in memory.
    """
    if source != STANDARD_INPUT:
        return source
    content = sys.stdin.buffer.read(LARGEST + 1) if sys.stdin else b""  # None: the shell has closed it
    if not content.strip():
        raise ValueError("standard input is empty: expected graphs or a table of molecules")
    if len(content) > LARGEST:
        raise ValueError(f"standard input has more than {LARGEST:,} bytes: write it to a file")
    path = cache_folder() / "stdin" / f"stdin-{hashlib.sha256(content).hexdigest()[:16]}{guess_ending(content)}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(content)
    return str(path)


def guess_ending(content: bytes) -> str:
    r"""The ending of a file with this content; a table of molecules in CSV if nothing else is likely.

    Example:
        >>> [guess_ending(text) for text in (b"smiles,y\nCCO,1", b"CCO ethanol\n", b'{"nodes": []}\n')]
        ['.csv', '.smi', '.jsonl']
    """
    text = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"PK") and b"xl/workbook.xml" in text:
        return ".xlsx"
    for start, ending in _SIGNATURES.items():
        if text.startswith(start):
            return ending
    if text.startswith(b"{"):
        return ".jsonl" if _is_json(text.partition(b"\n")[0]) else ".json"
    if _GML.match(text):
        return ".gml"
    if b"M  END" in text:
        return ".sdf"
    header = text.partition(b"\n")[0].lower()
    named = b"smiles" in header or (b"graph" in header and b"source" in header)
    return ".csv" if named or b"," in header or b";" in header else ".smi"


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
