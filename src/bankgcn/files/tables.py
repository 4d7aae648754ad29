"""Tables: CSV files with a line of column names, Parquet files and Excel workbooks, all as text; and tables of numbers.

NumPy parses tables of numbers in blocks; only a block with an error is parsed line by line.
"""

from __future__ import annotations

import csv
import io
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from bankgcn.extras import require
from bankgcn.files.archives import LARGEST, open_plain, plain_ending
from bankgcn.files.checked import FileError

DELIMITERS = ",;\t"
SHOWN = 40  # names of columns in a message

Cell = str | int | float | None
Columns = list[tuple[str, Sequence[Cell]]]
"""The columns of a table to write, with their names; ``None`` is an empty cell."""
NumberedRow = tuple[int, list[str]]
"""The cells of a row, and the line of the file on which it ends."""


@dataclass(frozen=True)
class TextTable:
    """The cells of a table as text, and where its rows are.

    Args:
        path: The file.
        header: Names of the columns.
        rows: The cells of each row.
        lines: The line of the file on which each row ends.
        delimiter: What separates the cells in the file; empty if it is no text.
        notes: What a user should know about the file.
    """

    path: Path
    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]
    delimiter: str = ","
    notes: tuple[str, ...] = ()

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each column by its name; a search in the header would be slow in a table of many columns."""
        return {name: place for place, name in reversed([*enumerate(self.header)])}  # the first of equal names

    def column(self, name: str) -> list[str]:
        """The cells of a column, by its exact name."""
        if name not in self.places:
            raise FileError(f"has no column {name!r}; its columns are {self.listed()}", self.path)
        place = self.places[name]
        return [row[place] for row in self.rows]

    def take(self, rows: Sequence[int]) -> TextTable:
        """The table with these rows only."""
        return replace(self, rows=[self.rows[row] for row in rows], lines=[self.lines[row] for row in rows])

    def followed_by(self, other: TextTable) -> TextTable:
        """The rows of both tables, with the columns of both; cells that a table lacks are empty."""
        header = tuple(dict.fromkeys((*self.header, *other.header)))
        rows = []
        for table in (self, other):
            places = [table.places.get(name) for name in header]
            rows += [["" if place is None else row[place] for place in places] for row in table.rows]
        return replace(self, header=header, rows=rows, lines=[*self.lines, *other.lines])

    def listed(self) -> str:
        """The names of the columns, for an error message."""
        more = f" and {len(self.header) - SHOWN:,} more" if len(self.header) > SHOWN else ""
        return ", ".join(map(repr, self.header[:SHOWN])) + more


def read_table(path: Path) -> TextTable:
    """Read a CSV file. Commas, semicolons or tabs separate its cells: whichever is most frequent in the header.

    The file may be compressed; see :mod:`bankgcn.files.archives`.

    Blank lines are skipped, so line ends of ``CR LF LF`` do no harm. Empty columns without a name at the end of the
    table, as spreadsheets write them, are left out.

    Raises:
        FileError: The file cannot be read, is empty, names a column twice, or has a row of another length than the
            header.
    """
    try:
        with io.TextIOWrapper(open_plain(path), encoding="utf-8-sig", newline="") as file:
            delimiter = max(DELIMITERS, key=file.readline().count)
            file.seek(0)
            numbered = list(numbered_rows(csv.reader(file, delimiter=delimiter, strict=True), path))
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", path) from error
    except UnicodeDecodeError as error:
        raise FileError(f"is not text in UTF-8 ({error.reason}): save it as UTF-8", path) from error
    return table_of_rows(path, numbered, delimiter)


def table_of_rows(
    path: Path, numbered: Sequence[NumberedRow], delimiter: str = ",", notes: tuple[str, ...] = ()
) -> TextTable:
    """A table from rows of cells, each with its line; the first one names the columns.

    Raises:
        FileError: There is no row, a column is named twice, or a row has another length than the first.
    """
    if not numbered:
        raise FileError("is empty: the first line must name the columns", path)
    if not numbered[0][1][-1].strip():
        check_lengths(path, numbered[0][1], numbered[1:])
        width = max(trimmed_width(row) for _, row in numbered)
        numbered = [(line, row[:width]) for line, row in numbered]
    return table_below(path, numbered[0][1], numbered[1:], delimiter, notes)


def table_below(
    path: Path, names: Sequence[str], rows: Sequence[NumberedRow], delimiter: str = ",", notes: tuple[str, ...] = ()
) -> TextTable:
    """A table from the names of its columns and its rows; see :func:`table_of_rows`."""
    if not names:
        raise FileError("is empty: the first line must name the columns", path)
    check_lengths(path, names, rows)
    header = tuple(name.strip() for name in names)
    for name, count in Counter(header).items():
        if count > 1:
            shown = f"column {name!r}" if name else "column without a name"
            raise FileError(f"has more than one {shown}: rename or remove one of them", path)
    return TextTable(path, header, [row for _, row in rows], [line for line, _ in rows], delimiter, notes)


def check_lengths(path: Path, names: Sequence[str], rows: Sequence[NumberedRow]) -> None:
    """Raise unless each row has a cell for each name."""
    for line, row in rows:
        if len(row) != len(names):
            raise FileError(f"has {len(row)} cell(s) where the header has {len(names)}", path, line)


def trimmed_width(row: Sequence[str]) -> int:
    """Number of cells up to the last that is not empty."""
    return max((place for place, cell in enumerate(row, start=1) if cell.strip()), default=0)


class _Lines:
    """Ends rows by a line feed. The writer ends them by both characters, because it quotes cells with either then."""

    def __init__(self, file: TextIO):
        self.file = file

    def write(self, row: str) -> None:
        self.file.write(f"{row[:-2]}\n")


def write_csv(file: BinaryIO, columns: Columns, header: bool = True) -> None:
    """Write columns as CSV in UTF-8, below their names unless these are written already.

    Real numbers have as many digits as it takes to read them back unchanged.
    """
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    table = csv.writer(_Lines(text))
    if header:
        table.writerow([name for name, _ in columns])
    table.writerows(zip(*(cells for _, cells in columns), strict=True))
    text.flush()
    text.detach()


def number_cells(numbers: NDArray[np.floating]) -> list[float | None]:
    """Numbers with the fewest digits that give them back in their own precision; ``None`` for NaN.

    Example:
        >>> import numpy as np
        >>> number_cells(np.array([0.1, np.nan], np.float32))
        [0.1, None]
    """
    return [None if number != number else float(str(number)) for number in numbers]


def numbered_rows(reader: Any, path: Path) -> Iterator[NumberedRow]:
    """The rows of a reader of :mod:`csv` that are not blank, each with the line on which it ends.

    Raises:
        FileError: A row cannot be read; the message names the line on which it starts, too, if it is another.
    """
    start = 1
    try:
        for row in reader:
            start = reader.line_num + 1
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        began = f"; the row starts on line {start}" if start < reader.line_num else ""
        raise FileError(f"cannot be read as a table: {error}{began}", path, reader.line_num) from error


Number = TypeVar("Number", np.int64, np.float32)

BLOCK_VALUES = 200_000  # small enough that looking through one block line by line takes well under a second
BLOCK_LINES = 20_000
SHOWN_CHARACTERS = 40  # characters of a bad value in a message


def parse_table(content: bytes, where: Path, dtype: type[Number], *, columns: int | None = None) -> NDArray[Number]:
    r"""The rows of comma-separated numbers in ``content``, one a line, shape ``(lines, columns)``.

    Blanks around a number, a byte order mark, and blank lines at the very end are allowed.

    Args:
        content: The text.
        where: Its path in error messages.
        dtype: ``np.int64`` or ``np.float32``; real numbers must be finite.
        columns: How many numbers each line has; as many as the first one if not given.

    Raises:
        FileError: The text is empty, or a line is blank, has another length, or holds no number of that type. The
            error names the line.

    Example:
        >>> parse_table(b"1, 2\n3, 4\n", Path("A.txt"), np.int64)
        array([[1, 2],
               [3, 4]])
    """
    lines = content.removeprefix(b"\xef\xbb\xbf").rstrip().decode("latin-1").split("\n")  # latin-1 takes any byte
    if lines == [""]:
        raise FileError("is empty", where)
    expected = columns or lines[0].count(",") + 1
    table = np.empty((len(lines), expected), dtype)
    step = max(1, min(BLOCK_LINES, BLOCK_VALUES // expected))
    for start in range(0, len(lines), step):
        block = lines[start : start + step]
        values = _parse(block, dtype, expected)
        if values is None:
            raise _fault(block, start, where, dtype, expected)
        table[start : start + step] = values
    return table


def _parse(lines: list[str], dtype: type[Number], columns: int) -> NDArray[Number] | None:
    """The numbers of some lines, or ``None`` if any line is wrong."""
    if not any(line.strip() for line in lines):  # loadtxt would warn of an empty input
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # before NumPy 2.3, 1.5 as a whole number is 1
            values = np.loadtxt(lines, dtype=dtype, delimiter=",", comments=None, ndmin=2)
    except (ValueError, OverflowError, DeprecationWarning):
        return None
    if values.shape != (len(lines), columns) or not np.isfinite(values).all():  # loadtxt leaves out blank lines
        return None
    return values


def _fault(lines: list[str], start: int, where: Path, dtype: type[Number], columns: int) -> FileError:
    """The error that names the first bad line of a block that could not be parsed."""
    bad = next(number for number, line in enumerate(lines) if _parse([line], dtype, columns) is None)
    cells = lines[bad].split(",")
    line = start + bad + 1
    if not lines[bad].strip():
        return FileError("the line is blank", where, line)
    kind = "a whole number" if dtype is np.int64 else "a finite number"
    wrong = [cell.strip() for cell in cells if _parse([cell], dtype, 1) is None]
    if wrong:
        return FileError(f"{_shown(wrong[0])} is not {kind}", where, line)
    return FileError(f"has {len(cells)} value(s) where {columns} should be", where, line)


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "...")


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
    with opened_parquet(path) as parquet:
        groups = range(parquet.metadata.num_row_groups)
        _check_size(sum(parquet.metadata.row_group(group).total_byte_size for group in groups), path)
        table = parquet.read()
    columns = [[cell_text(value) for value in column.to_pylist()] for column in table.columns]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return table_of_rows(path, [(0, list(table.column_names)), *enumerate(rows, start=1)], delimiter="")


@contextmanager
def opened_parquet(path: Path) -> Iterator[Any]:
    """A Parquet file of pyarrow.

    Raises:
        FileError: It is no Parquet file, or what is read of it is damaged.
    """
    import pyarrow.parquet
    from pyarrow import ArrowException

    with _opened(path) as file:
        try:
            yield pyarrow.parquet.ParquetFile(file)
        except (ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise FileError(f"cannot be read as Parquet: {reason}", path) from error


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
