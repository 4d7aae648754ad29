"""Tables of any length in blocks of rows: what is held of a file does not grow with it.

A block is a :class:`TextTable` with the columns of the whole file. Its rows are bounded in number and in characters,
and depend on the file alone.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TextIO, TypeVar

from bankgcn.extras import require
from bankgcn.files.archives import LARGEST, Stream, open_stream, plain_ending
from bankgcn.files.checked import FileError
from bankgcn.files.tables import (
    DELIMITERS,
    NumberedRow,
    TextTable,
    cell_text,
    numbered_rows,
    opened_parquet,
    table_below,
    trimmed_width,
)

ROWS = 2000  # about a second of work for a worker, and ten megabytes of atoms and bonds
CHARACTERS = 8 << 20
LONGEST_LINE = 64 << 20  # characters: a file without line ends must not fill the memory

Item = TypeVar("Item")
Blocks = Iterator[tuple[TextTable, float]]
"""Tables, and the share of the file that was read with each."""


def in_blocks(items: Iterable[Item], size: Callable[[Item], int]) -> Iterator[list[Item]]:
    """The items in lists of bounded number and size; the size of an item is that of its text."""
    block: list[Item] = []
    total = 0
    for item in items:
        block.append(item)
        total += size(item)
        if len(block) >= ROWS or total >= CHARACTERS:
            yield block
            block, total = [], 0
    if block:
        yield block


def csv_blocks(path: Path) -> Blocks:
    """The rows of a CSV file; see :func:`bankgcn.files.tables.read_table`."""
    with open_content(path) as content:
        delimiter, rows = _csv_rows(content, path)
        _, names = next(rows, (0, []))
        if names and not names[-1].strip():  # all rows decide on such columns, which are rare
            width = _trimmed_width(path)
            names, rows = names[:width], _trimmed(rows, len(names), width)
        yield from _tables(path, names, rows, delimiter, content)


def _csv_rows(content: Stream, path: Path) -> tuple[str, Iterator[NumberedRow]]:
    text = as_text(content, newline="")
    lines = bounded_lines(text, path)
    first = next(lines, "")
    delimiter = max(DELIMITERS, key=first.count)
    return delimiter, numbered_rows(csv.reader(chain([first], lines), delimiter=delimiter, strict=True), path)


def _trimmed_width(path: Path) -> int:
    """Number of columns up to the last that has a name or a cell that is not empty."""
    with open_content(path) as content:
        _, rows = _csv_rows(content, path)
        return max(trimmed_width(row) for _, row in rows)


def _trimmed(rows: Iterator[NumberedRow], length: int, width: int) -> Iterator[NumberedRow]:
    """Rows without the cells behind the width; those of a wrong length stay as they are, to be refused."""
    return ((line, row[:width] if len(row) == length else row) for line, row in rows)


def parquet_blocks(path: Path) -> Blocks:
    """The rows of a Parquet file; see :func:`bankgcn.files.tables.read_parquet`.

    A block has :data:`ROWS` rows at most. The bytes of a group of rows are read together.
    """
    require("pyarrow", "reading Parquet")
    with opened_parquet(path) as parquet:
        total, names = parquet.metadata.num_rows, list(parquet.schema_arrow.names)

        def rows() -> Iterator[NumberedRow]:
            number = 0
            for batch in parquet.iter_batches(ROWS):
                columns = [[cell_text(value) for value in column.to_pylist()] for column in batch.columns]
                for row in zip(*columns, strict=True):
                    number += 1
                    yield number, list(row)

        done = 0
        for table, _ in _tables(path, names, rows(), "", None):
            done += len(table.rows)
            yield table, done / max(total, 1)


def _tables(
    path: Path, names: list[str], rows: Iterator[NumberedRow], delimiter: str, content: Stream | None
) -> Blocks:
    """Rows below their names as tables; a file without rows is one table without rows."""
    empty = True
    for block in in_blocks(rows, lambda row: sum(map(len, row[1]))):
        empty = False
        yield table_below(path, names, block, delimiter), share_read(content)
    if empty:
        yield table_below(path, names, [], delimiter), 1.0


TABLE_BLOCKS: Mapping[str, Callable[[Path], Blocks]] = {
    ".csv": csv_blocks,
    ".tsv": csv_blocks,
    ".parquet": parquet_blocks,
}
"""How tables are read in blocks, by the endings of their names; others are read as a whole."""


def table_blocks(path: Path) -> Blocks | None:
    """A table in blocks; ``None`` if its format has none."""
    read = TABLE_BLOCKS.get(plain_ending(path))
    return None if read is None else read(path)


def open_content(path: Path, whole: bool = False) -> Stream:
    """The content of a file to be read in pieces.

    Args:
        path: The file.
        whole: Whether all of it will be held, so that it may not unpack to any number of bytes.

    Raises:
        FileError: It cannot be opened.
    """
    try:
        return open_stream(path, LARGEST if whole else None)
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", path) from error


def share_read(content: Stream | None) -> float:
    """How much of a file was read."""
    return 0.0 if content is None else min(1.0, content.position / max(content.size, 1))


def as_text(content: Stream, encoding: str = "utf-8-sig", newline: str | None = None) -> TextIO:
    """A stream of bytes as text."""
    return io.TextIOWrapper(io.BufferedReader(content, 1 << 18), encoding=encoding, newline=newline)


def bounded_lines(text: TextIO, path: Path) -> Iterator[str]:
    """The lines of a text.

    Raises:
        FileError: It is not in UTF-8, or has a line that is too long to be one; the message names the line.
    """
    number = 1
    while True:
        try:
            line = text.readline(LONGEST_LINE)
        except UnicodeDecodeError as error:
            reason = f"is not text in UTF-8 ({error.reason}): save it as UTF-8"
            raise FileError(reason, path, number if number > 1 else None) from error
        if not line:
            return
        if len(line) == LONGEST_LINE:
            raise FileError(f"has a line of more than {LONGEST_LINE:,} characters", path, number)
        yield line
        number += 1
