"""Tables as people's programs write them."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest

from bankgcn.files.checked import FileError
from bankgcn.files.tables import TextTable, read_table, write_csv
from refusals import refused


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


def test_empty_columns_without_a_name_at_the_end_are_left_out(tmp_path: Path) -> None:
    table = _table(tmp_path, b"a,b,,\n1,2,,\n3,,, \n")
    assert table.header == ("a", "b")
    assert table.rows == [["1", "2"], ["3", ""]]
    assert _table(tmp_path, b"a,\n1,\n2,x\n").header == ("a", "")  # it is not empty


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
        (b",\n,\n", None, "empty"),
        (b"a,b\n1,2\n3\n", 3, r"1 cell\(s\) where the header has 2"),
        (b"a,a\n1,2\n", None, "more than one column 'a': rename or remove one of them"),
        (b"a,,\n1,2,3\n", None, "more than one column without a name"),
        (b'a,b\n1,"2\n', 2, "unexpected end of data"),
        (b"a,b\n1,\xff\n", None, "UTF-8 .*: save it as UTF-8"),
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
    with refused(FileError, "'c'", "'a', 'b'"):
        _table(tmp_path, b"a,b\n1,2\n").column("c")


def test_a_table_goes_on_in_another_one_with_other_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("z,x\n3,4\n")
    both = read_table(tmp_path / "a.csv").followed_by(read_table(tmp_path / "b.csv"))
    assert both.header == ("x", "y", "z")
    assert both.rows == [["1", "2", ""], ["4", "", "3"]]


def test_rows_are_taken_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n\n2\n3\n")
    taken = read_table(tmp_path / "a.csv").take([2, 1])
    assert (taken.rows, taken.lines) == ([["3"], ["2"]], [5, 4])


def test_columns_are_written_as_csv() -> None:
    file = io.BytesIO()
    write_csv(file, [("n", [1, 2]), ("v", [1 / 3, None]), ("word", ["a,b", 'say "x"'])])
    assert file.getvalue() == b'n,v,word\n1,0.3333333333333333,"a,b"\n2,,"say ""x"""\n'


def test_cells_with_any_end_of_line_are_quoted_and_read_back(tmp_path: Path) -> None:
    cells = ["a\rb", "a\nb", "a\r\nb", "\r", "plain"]
    with (tmp_path / "t.csv").open("wb") as file:
        write_csv(file, [("text\r", cells), ("n", range(5))])
    assert (tmp_path / "t.csv").read_bytes().startswith(b'"text\r",n\n"a\rb",0\n"a\nb",1\n')
    table = read_table(tmp_path / "t.csv")
    assert (table.header[1], [row[0] for row in table.rows]) == ("n", cells)


def test_many_columns_take_time_in_proportion_to_their_number(tmp_path: Path) -> None:
    names = [f"column{number}" for number in range(40_000)]
    started = time.process_time()
    table = _table(tmp_path, f"{','.join(names)}\n{',' * 39_999}\n".encode())
    both = table.followed_by(table)
    assert [table.column(name) for name in names[-1_000:]] == [[""]] * 1_000
    assert both.header == tuple(names)
    assert time.process_time() - started < 5  # when each name was compared with all others: 22 seconds
    with refused(FileError, "'column39'", "39,960"):
        table.column("smiles")
