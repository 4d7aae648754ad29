"""Tables in blocks have the rows, lines and columns of the whole table, and bounded memory."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from bankgcn.files import row_blocks
from bankgcn.files.checked import FileError
from bankgcn.files.row_blocks import csv_blocks, table_blocks
from bankgcn.files.tables import open_table
from refusals import refused

TABLE = "a;b;\n" + "".join(f'{n};"x\ny{n}";{"late" if n == 17 else ""}\n\n' for n in range(20))


@pytest.mark.parametrize(("rows", "characters"), [(1, 10**6), (7, 10**6), (100, 30), (100, 10**6)])
def test_blocks_are_the_whole_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, characters: int
) -> None:
    monkeypatch.setattr(row_blocks, "ROWS", rows)
    monkeypatch.setattr(row_blocks, "CHARACTERS", characters)
    (tmp_path / "t.csv").write_text(TABLE)
    whole = open_table(tmp_path / "t.csv")
    blocks = list(csv_blocks(tmp_path / "t.csv"))
    assert {table.header for table, _ in blocks} == {whole.header} == {("a", "b", "")}
    assert [row for table, _ in blocks for row in table.rows] == whole.rows
    assert [line for table, _ in blocks for line in table.lines] == whole.lines
    assert all(len(table.rows) <= rows for table, _ in blocks)
    shares = [share for _, share in blocks]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_what_comes_before_the_damage_of_a_compressed_file_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_blocks, "ROWS", 100)
    text = "a\n" + "".join(f"{n * 7919 % 100_003}\n" for n in range(200_000))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode())[:-200_000])
    blocks = table_blocks(tmp_path / "t.csv.gz")
    assert blocks is not None
    assert len(next(blocks)[0].rows) == 100
    with refused(FileError, "cannot be unpacked", at="t.csv.gz"):
        list(blocks)


def test_a_file_without_line_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_blocks, "LONGEST_LINE", 1000)
    (tmp_path / "t.csv").write_text("a\n" + "x" * 2000)
    with refused(FileError, "a line of more than 1,000 characters", at="t.csv:2"):
        list(csv_blocks(tmp_path / "t.csv"))
