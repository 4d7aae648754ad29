"""Tables as people's programs write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankgcn.files.errors import FileError
from bankgcn.files.tables import TextTable, read_table


def _table(folder: Path, content: bytes) -> TextTable:
    path = folder / "table.csv"
    path.write_bytes(content)
    return read_table(path)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b"\r\n\n"])
@pytest.mark.parametrize("delimiter", [b",", b";", b"\t"])
def test_any_line_end_and_delimiter_gives_the_same_cells(tmp_path: Path, end: bytes, delimiter: bytes) -> None:
    rows = [b"smiles%sy", b"CCO%s1", b"C%s0"]
    table = _table(tmp_path, b"".join(row % delimiter + end for row in rows))
    assert table.header == ("smiles", "y")
    assert table.rows == [["CCO", "1"], ["C", "0"]]


def test_lines_are_those_of_the_file_even_with_blank_ones(tmp_path: Path) -> None:
    assert _table(tmp_path, b"a,b\r\n\n1,2\r\n\n3,4\r\n\n").lines == [3, 5]


def test_a_byte_order_mark_and_quotes_are_no_part_of_the_cells(tmp_path: Path) -> None:
    table = _table(tmp_path, b'\xef\xbb\xbfname,"x, y"\n"a ""b""","1\n2"\nc,3\n')
    assert table.header == ("name", "x, y")
    assert table.column("name") == ['a "b"', "c"]
    assert table.lines == [3, 4]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"", None, "empty"),
        (b"\n\n", None, "empty"),
        (b"a,b\n1,2\n3\n", 3, r"1 cell\(s\) where the header has 2"),
        (b"a,a\n1,2\n", None, "more than one column 'a'"),
        (b'a,b\n1,"2\n', 2, "unexpected end of data"),
        (b"a,b\n1,\xff\n", None, "UTF-8"),
        (b"a,b\n1,%s\n" % (b"x" * 200_000), 2, "field limit"),
    ],
)
def test_a_broken_table_is_refused_with_its_line(tmp_path: Path, content: bytes, line: int, message: str) -> None:
    with pytest.raises(FileError, match=message) as caught:
        _table(tmp_path, content)
    assert caught.value.line == line


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.csv: cannot be opened: No such file"):
        read_table(tmp_path / "none.csv")


def test_an_unknown_column_is_told_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no column 'c'; its columns are 'a', 'b'"):
        _table(tmp_path, b"a,b\n1,2\n").column("c")
