"""Tables of every format that is read: CSV files, Parquet files and Excel workbooks, all as text."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, BinaryIO

from bankgcn.extras import require
from bankgcn.files.archives import LARGEST, open_plain, plain_ending
from bankgcn.files.checked import FileError
from bankgcn.files.tables import TextTable, read_table, table_of_rows


def open_table(path: Path) -> TextTable:
    """Read a table by the ending of its name; it may be compressed.

    Raises:
        FileError: It cannot be read.
        ImportError: The library for its format is not installed.
    """
    return TABLE_FORMATS.get(plain_ending(path), read_table)(path)


def read_parquet(path: Path) -> TextTable:
    """Read a Parquet file. Messages count its rows from 1.

    Raises:
        FileError: It is no Parquet file.
        ImportError: pyarrow is not installed.
    """
    require("pyarrow", "reading Parquet")
    import pyarrow.parquet
    from pyarrow import ArrowException

    with _opened(path) as file:
        try:
            parquet = pyarrow.parquet.ParquetFile(file)
            groups = range(parquet.metadata.num_row_groups)
            _check_size(sum(parquet.metadata.row_group(group).total_byte_size for group in groups), path)
            table = parquet.read()
        except (ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise FileError(f"cannot be read as Parquet: {reason}", path) from error
    columns = [[cell_text(value) for value in column.to_pylist()] for column in table.columns]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return table_of_rows(path, [(0, list(table.column_names)), *enumerate(rows, start=1)], delimiter="")


def read_workbook(path: Path) -> TextTable:
    """Read the first sheet of an Excel workbook. Messages name its rows as Excel does.

    Cells with formulas have the values that Excel saved. A note names the other sheets that hold something.

    Raises:
        FileError: It is no workbook, or unpacks to too many bytes.
        ImportError: openpyxl is not installed.
    """
    require("openpyxl", "reading .xlsx")
    import openpyxl

    with _opened(path) as file:
        _check_workbook(file, path)
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            first, *others = book.worksheets
            rows = [(number, _row(cells)) for number, cells in enumerate(first.iter_rows(values_only=True), start=1)]
            names = [
                sheet.title for sheet in others if any(any(_row(row)) for row in sheet.iter_rows(values_only=True))
            ]
        except Exception as error:  # openpyxl lets the errors of zipfile, of XML and of its own conversions through
            raise FileError(f"cannot be read as an Excel workbook: {error}", path) from error
    notes: tuple[str, ...] = ()
    if names:
        notes = (
            f"the sheet {first.title!r} is read; save others as files of their own: {', '.join(map(repr, names))}",
        )
    return table_of_rows(path, _rectangular([(number, row) for number, row in rows if any(row)]), "", notes)


def cell_text(value: Any) -> str:
    """A value as text; nothing is the empty text, and real numbers have as many digits as it takes.

    Example:
        >>> [cell_text(value) for value in (None, 3, 3.0, 0.1, True, "a")]
        ['', '3', '3.0', '0.1', 'True', 'a']
    """
    if value is None:
        return ""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value)


TABLE_FORMATS: Mapping[str, Callable[[Path], TextTable]] = {
    ".csv": read_table,
    ".tsv": read_table,
    ".parquet": read_parquet,
    ".xlsx": read_workbook,
}
"""How tables are read, by the endings of their names."""


def _opened(path: Path) -> BinaryIO:
    try:
        return open_plain(path)
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", path) from error


def _row(cells: tuple[Any, ...]) -> list[str]:
    return [cell_text(cell) for cell in cells]


def _rectangular(rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Rows of equal lengths: Excel does not store empty cells at the end of a row."""
    width = max((len(row) for _, row in rows), default=0)
    return [(number, [*row, *[""] * (width - len(row))]) for number, row in rows]


def _check_workbook(file: BinaryIO, path: Path) -> None:
    """Raise unless the file is a zip, as workbooks are, and unpacks to no more than is read of a compressed file."""
    try:
        with zipfile.ZipFile(file) as archive:
            total = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError) as error:
        raise FileError(
            f"is no Excel workbook of the format .xlsx ({error}): save it as .xlsx or .csv", path
        ) from error
    _check_size(total, path)


def _check_size(total: int, path: Path) -> None:
    if total > LARGEST:
        raise FileError(f"unpacks to {total:,} bytes, more than the limit of {LARGEST:,}: save it as .csv", path)
