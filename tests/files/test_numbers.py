"""Tables of numbers in text."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.files import tables
from bankgcn.files.checked import FileError
from bankgcn.files.tables import parse_table
from refusals import refused

TABLE = Path("table.txt")


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=3, max_size=3), min_size=1, max_size=20))
def test_integers_come_back_exactly(rows: list[list[int]]) -> None:
    text = "\n".join(", ".join(map(str, row)) for row in rows)
    assert parse_table(text.encode(), TABLE, np.int64).tolist() == rows


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_floats_come_back_exactly(values: list[float]) -> None:
    text = "\n".join(map(repr, values))
    assert parse_table(text.encode(), TABLE, np.float32)[:, 0].tolist() == values


def test_blocks_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BLOCK_LINES", 3)
    rows = [[i, -i] for i in range(10)]
    text = "".join(f"{a},{b}\n" for a, b in rows).encode()
    assert parse_table(text, TABLE, np.int64).tolist() == rows
    with refused(FileError, "'x'", at="table.txt:9"):
        parse_table(text.replace(b"8,-8", b"8,x"), TABLE, np.int64)


def test_windows_line_ends_byte_order_marks_and_last_blank_lines_are_allowed() -> None:
    assert parse_table(b"\xef\xbb\xbf1 ,2\r\n 3,\t4\r\n\r\n\n", TABLE, np.int64).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "table.txt: is empty"),
        (b" \n\n", "table.txt: is empty"),
        (b"1\n\n2", "table.txt:2: the line is blank"),
        (b"\n1", "table.txt:1: the line is blank"),
        (b"1,2\n3", "table.txt:2: has 1 value(s) where 2 should be"),
        (b"1,2\n3,4,5", "table.txt:2: has 3 value(s) where 2 should be"),
        (b"1,2\n3,", "table.txt:2: '' is not a finite number"),
        (b"1\ntwo", "table.txt:2: 'two' is not a finite number"),
        (b"1 2", "table.txt:1: '1 2' is not a finite number"),
        (b"1\nnan", "table.txt:2: 'nan' is not a finite number"),
        (b"1\n2\n-inf", "table.txt:3: '-inf' is not a finite number"),
        (b"1e39", "table.txt:1: '1e39' is not a finite number"),
        (b"0x1F", "table.txt:1: '0x1F' is not a finite number"),
        (b"# 1", "table.txt:1: '# 1' is not a finite number"),
        (b"1\n\xff\xfe", "table.txt:2: 'ÿþ' is not a finite number"),
        (b"9" * 100, f"table.txt:1: '{'9' * 40}...' is not a finite number"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(content: bytes, message: str) -> None:
    with pytest.raises(FileError) as caught:
        parse_table(content, TABLE, np.float32)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", [b"1.0", b"9223372036854775808", b"1e3"])
def test_a_whole_number_is_no_other_number(text: bytes) -> None:
    with pytest.raises(FileError, match="is not a whole number"):
        parse_table(text, TABLE, np.int64)


@pytest.mark.filterwarnings("ignore")
def test_a_number_that_an_older_numpy_rounds_with_a_warning_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def loadtxt(lines: list[str], **options: object) -> np.ndarray:
        warnings.warn("parsing an integer via a float is deprecated", DeprecationWarning, stacklevel=2)
        return np.array([[int(float(line))] for line in lines])

    monkeypatch.setattr(np, "loadtxt", loadtxt)
    with refused(FileError, "'1.5'", at="table.txt:1"):
        parse_table(b"1.5", TABLE, np.int64)


def test_a_given_number_of_columns_is_kept() -> None:
    with refused(FileError, "3 value", 2, at="table.txt:1"):
        parse_table(b"1,2,3", TABLE, np.int64, columns=2)
