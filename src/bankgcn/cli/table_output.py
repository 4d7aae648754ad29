"""Write a table in the format that the ending of its file names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from bankgcn.cli.output import is_standard_output, is_stream, open_output
from bankgcn.extras import require
from bankgcn.files.tables import Cell, Columns, write_csv

WORDS = ("id", "name", "class", "predicted", "unreadable")
"""The columns of words; others that have no cell are columns of numbers."""

SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe", help="In CSV, put ' before text that a spreadsheet would take for a formula (= + - @)."
    ),
]
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


def write_json_lines(file: BinaryIO, columns: Columns) -> None:
    """One object a row; an empty cell is ``null``."""
    names = [name for name, _ in columns]
    for row in zip(*(cells for _, cells in columns), strict=True):
        values = dict(zip(names, row, strict=True))
        file.write(json.dumps(values, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def write_parquet(file: BinaryIO, columns: Columns) -> None:
    """Write columns as a Parquet file; needs pyarrow. A column has the same type if all its cells are empty."""
    import pyarrow
    from pyarrow import parquet

    arrays = {name: pyarrow.array(list(cells)) for name, cells in columns}
    for name, array in arrays.items():
        if pyarrow.types.is_null(array.type):
            arrays[name] = array.cast(pyarrow.string() if name in WORDS else pyarrow.float64())
    parquet.write_table(pyarrow.table(arrays), file)


FORMATS: dict[str, Callable[[BinaryIO, Columns], None]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".jsonl": write_json_lines,
}
"""How a table is written, by the ending of its file."""


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
    if wanted and ending_of(path) != ".csv":
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
    names = [name for name, _ in columns]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"the table would have two columns {name!r}: choose the columns of the input to keep by --keep NAMES, "
                'separated by commas (--keep "" keeps none)'
            )
    if spreadsheet_safe:
        columns = [(str(safe_cell(name)), list(map(safe_cell, cells))) for name, cells in columns]
    with open_output(path) as file:
        FORMATS[ending_of(path)](file, columns)
