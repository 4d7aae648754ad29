"""Tables of numbers in text: NumPy parses them in blocks; only a block with an error is parsed line by line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bankgcn.files.errors import FileError

Number = TypeVar("Number", np.int64, np.float32)

BLOCK_VALUES = 200_000  # small enough that looking through one block line by line takes well under a second
BLOCK_LINES = 20_000
SHOWN = 40  # characters of a bad value in a message


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
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")
