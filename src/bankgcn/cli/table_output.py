"""Tables that commands write: their formats, and how rows of any number become a table that is complete or absent."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple, Self

import numpy as np
import typer

from bankgcn.cli.output import is_standard_output, is_stream, open_output
from bankgcn.extras import require
from bankgcn.files.journal import Finish, Journal
from bankgcn.files.tables import Cell, Columns, write_csv

WORDS = ("id", "name", "class", "predicted", "set", "unseen", "unreadable")
"""The columns of words; others that have no cell are columns of numbers."""

SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe", help="In CSV, put ' before text that a spreadsheet would take for a formula (= + - @)."
    ),
]
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


GROUP = 65_536  # rows of a group in a Parquet file, whatever the blocks in which they come


def write_json_lines(file: BinaryIO, columns: Columns, header: bool = True) -> None:
    """One object a row; an empty cell is ``null``. The names of the columns are in each."""
    names = [name for name, _ in columns]
    for row in zip(*(cells for _, cells in columns), strict=True):
        values = dict(zip(names, row, strict=True))
        file.write(json.dumps(values, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def keep_rows(file: BinaryIO, columns: Columns, header: bool = True) -> None:
    """Rows as JSON, below the names of the columns, for formats that are written when all rows are there."""
    if header:
        file.write(json.dumps([name for name, _ in columns]).encode() + b"\n")
    for row in zip(*(cells for _, cells in columns), strict=True):
        file.write(json.dumps(row).encode() + b"\n")


def kept_rows(file: BinaryIO) -> tuple[list[str], Iterator[list[Cell]]]:
    """The names of the columns and the rows that :func:`keep_rows` wrote."""
    file.seek(0)
    return json.loads(file.readline()), map(json.loads, file)


def parquet_of_rows(rows: BinaryIO, file: BinaryIO) -> None:
    """Write rows that were kept as a Parquet file; needs pyarrow. All rows decide on the type of a column."""
    import pyarrow
    from pyarrow import parquet

    schema = _schema_of(rows)
    names, table = kept_rows(rows)
    with parquet.ParquetWriter(file, schema) as writer:
        while True:
            group = list(islice(table, GROUP))
            cells = zip(*group, strict=True) if group else ([] for _ in names)
            arrays = [pyarrow.array(list(column), one.type) for one, column in zip(schema, cells, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            if len(group) < GROUP:
                return


def _schema_of(rows: BinaryIO) -> Any:
    """The columns of kept rows, each of the type of its cells; without a cell, of words or of numbers."""
    import pyarrow

    names, table = kept_rows(rows)
    found: list[set[type]] = [set() for _ in names]
    for row in table:
        for kinds, cell in zip(found, row, strict=True):
            kinds.add(type(cell))
    fields = []
    for name, kinds in zip(names, found, strict=True):
        kinds -= {type(None)}
        kind = pyarrow.float64()
        if str in kinds or (not kinds and name in WORDS):
            kind = pyarrow.string()
        elif kinds and kinds <= {int, bool}:
            kind = pyarrow.int64() if int in kinds else pyarrow.bool_()
        fields.append(pyarrow.field(name, kind))
    return pyarrow.schema(fields)


def gzip_of_rows(rows: BinaryIO, file: BinaryIO) -> None:
    """Compress rows; equal rows become equal files."""
    rows.seek(0)
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        shutil.copyfileobj(rows, packed, 1 << 20)


class Format(NamedTuple):
    """How rows are written.

    Args:
        write: Writes columns to a file, with their names if no rows are there yet.
        finish: From what was written and the file to a file of the format, if that needs all rows.
    """

    write: Callable[[BinaryIO, Columns, bool], None]
    finish: Finish | None = None


FORMATS: dict[str, Format] = {
    ".csv": Format(write_csv),
    ".parquet": Format(keep_rows, parquet_of_rows),
    ".jsonl": Format(write_json_lines),
    ".csv.gz": Format(write_csv, gzip_of_rows),
}
"""How a table is written, by the ending of its file."""


def array_format(width: int) -> Format:
    """Columns of numbers alone, as an array of NumPy in single precision with as many columns as the width."""

    def write(file: BinaryIO, columns: Columns, header: bool) -> None:
        rows = np.array([cells for _, cells in columns], np.float32).reshape(width, -1)
        file.write(np.ascontiguousarray(rows.T).tobytes())

    def finish(rows: BinaryIO, file: BinaryIO) -> None:
        count = rows.seek(0, io.SEEK_END) // (4 * width)
        rows.seek(0)
        layout = {"descr": np.lib.format.dtype_to_descr(np.dtype(np.float32)), "fortran_order": False}
        np.lib.format.write_array_header_1_0(file, {**layout, "shape": (count, width)})
        shutil.copyfileobj(rows, file, 1 << 20)

    return Format(write, finish)


def check_output(path: Path, formats: tuple[str, ...] = tuple(FORMATS)) -> None:
    """Raise, before any work starts, if a table cannot be written to this path.

    Raises:
        ImportError: The format needs a library that is not installed.
        ValueError: The ending names no format.
    """
    if ending_of(path) not in formats:
        raise ValueError(
            f"{path}: cannot write a table with the ending {path.suffix!r}: expected {', '.join(formats)}, or - for "
            "CSV on standard output (--out)"
        )
    if ending_of(path) == ".parquet":
        require("pyarrow", "writing Parquet")


def check_spreadsheet_safe(path: Path, wanted: bool) -> None:
    """Raise if text shall be made safe for spreadsheets in a format that has no formulas."""
    if wanted and not ending_of(path).startswith(".csv"):
        raise ValueError(f"--spreadsheet-safe is for CSV; in {path}, text is text and cannot be a formula")


def safe_cell(cell: Cell) -> Cell:
    """Text that a spreadsheet might run as a formula, with an apostrophe before it; numbers and other text unchanged.

    Example:
        >>> [safe_cell(cell) for cell in ("=1+2", "-1.5", "-CCO", "CCO", -1.5, None)]
        ["'=1+2", '-1.5', "'-CCO", 'CCO', -1.5, None]
    """
    if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def ending_of(path: Path) -> str:
    """The ending in lower case; standard output, pipes and devices without an ending get CSV."""
    nameless = not path.suffix and (is_standard_output(path) or is_stream(path))
    if path.name.lower().endswith(".csv.gz"):
        return ".csv.gz"
    return ".csv" if nameless else path.suffix.lower()


def write_columns(path: Path, columns: Columns, spreadsheet_safe: bool = False) -> None:
    """Write columns in the format of the path.

    Args:
        path: The file.
        columns: The columns, with their names.
        spreadsheet_safe: Whether names and cells of CSV are made safe; see :func:`safe_cell`.

    Raises:
        ValueError: Two columns have one name.
    """
    rows = io.BytesIO()
    format = FORMATS[ending_of(path)]
    format.write(rows, checked_columns(columns, spreadsheet_safe), True)
    write_rows(path, rows, format.finish)


def checked_columns(columns: Columns, spreadsheet_safe: bool = False) -> Columns:
    """The columns, if no two have one name; see :func:`write_columns`."""
    names = [name for name, _ in columns]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"the table would have two columns {name!r}: choose the columns of the input to keep by --keep NAMES, "
                'separated by commas (--keep "" keeps none)'
            )
    if spreadsheet_safe:
        return [(str(safe_cell(name)), list(map(safe_cell, cells))) for name, cells in columns]
    return columns


def write_rows(path: Path, rows: BinaryIO, finish: Finish | None) -> None:
    """Write rows to the output, which appears complete or not at all."""
    with open_output(path) as file:
        if finish is not None:
            finish(rows, file)
        else:
            rows.seek(0)
            shutil.copyfileobj(rows, file, 1 << 20)


COLUMNS = "columns"  # what is noted of the first block: the names of its columns


class TableOutput:
    """A table that is written in blocks of rows.

    A file appears when it is complete. If there are several blocks, they are kept beside it, so that whoever is killed
    goes on with the same command; see :class:`~bankgcn.files.journal.Journal`. Standard output, pipes and devices get
    each block at once, unless the format needs all of them.

    Args:
        path: The file.
        format: How rows are written.
        made_from: What decides the content.
        overwrite: Whether to drop rows that are kept.
        spreadsheet_safe: See :func:`write_columns`.
    """

    def __init__(
        self,
        path: Path,
        format: Format,
        made_from: Mapping[str, Any],
        overwrite: bool = False,
        spreadsheet_safe: bool = False,
    ):
        self.path, self.format, self._safe = path, format, spreadsheet_safe
        self._open = ExitStack()
        self._journal: Journal | None = None
        self._first: tuple[bytes, Mapping[str, Any]] | None = None
        self._finishing = False
        if not (is_standard_output(path) or is_stream(path)):
            self._journal = self._open.enter_context(Journal(path, made_from, overwrite))
        elif format.finish is not None:
            self._kept: BinaryIO = self._open.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        elif is_standard_output(path):
            self._kept = self._open.enter_context(open_output(path))
        else:
            self._kept = self._open.enter_context(path.open("wb"))
        self.kept = [] if self._journal is None else self._journal.blocks.copy()
        """What was noted of the blocks that an earlier process wrote."""
        self._names: list[str] | None = self.kept[0][COLUMNS] if self.kept else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._open.__exit__(kind, error, trace)

    def keep(self) -> None:
        """Keep the first block, too, because something has ended the command before the table is complete."""
        if self._journal is not None and self._first is not None and not self._finishing:
            with suppress(OSError):  # the disk is full
                self._journal.append(*self._first)

    @property
    def kept_in(self) -> Path | None:
        """The file with the rows that no kill can take away, if there are any."""
        if self._journal is None or not self._journal.blocks:
            return None
        return self.path.with_name(self._journal.partial.name)

    def write(self, columns: Columns, noted: Mapping[str, Any]) -> None:
        """Add rows.

        Args:
            columns: The columns; those of all blocks are the same.
            noted: What to know of the block when the command goes on.
        """
        columns = checked_columns(columns, self._safe)
        names, begun = [name for name, _ in columns], self._names is not None
        if begun and names != self._names:
            raise ValueError(f"the columns of {self.path} would change from {self._names} to {names}")
        self._names, noted = names, noted if begun else {**noted, COLUMNS: names}
        if self._journal is None:
            self.format.write(self._kept, columns, not begun)
            self._kept.flush()
            return
        content = io.BytesIO()
        self.format.write(content, columns, not begun)
        if not begun:
            self._first = content.getvalue(), noted
            return
        if self._first is not None:
            self._journal.append(*self._first)
            self._first = None
        self._journal.append(content.getvalue(), noted)

    def finish(self) -> None:
        """Let the file appear."""
        self._finishing = True
        if self._journal is not None and self._first is None:
            self._journal.finish(self.format.finish)
        elif self._first is not None:
            write_rows(self.path, io.BytesIO(self._first[0]), self.format.finish)
        elif self.format.finish is not None:
            write_rows(self.path, self._kept, self.format.finish)
