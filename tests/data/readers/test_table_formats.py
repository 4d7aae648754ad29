"""Parquet files and Excel workbooks give the graphs of the CSV with the same cells."""

from __future__ import annotations

import gzip
import sys
import zipfile
from datetime import date
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bankgcn.data.sources import load_source
from bankgcn.files import tables as table_formats
from bankgcn.files.checked import FileError
from bankgcn.files.tables import open_table
from refusals import refused

SMILES, VALUES = ["CCO", "CC", "CCCl", "c1ccccc1"], [1.5, None, 3.0, -0.25]


def workbook(path: Path, *sheets: list[list[object]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {number}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


@pytest.fixture
def rows() -> list[list[object]]:
    return [["SMILES (RDKit)", "logP"], *map(list, zip(SMILES, VALUES, strict=True))]


@pytest.fixture
def tables(tmp_path: Path, rows: list[list[object]]) -> dict[str, Path]:
    (tmp_path / "t.csv").write_text("SMILES (RDKit),logP\nCCO,1.5\nCC,\nCCCl,3.0\nc1ccccc1,-0.25\n")
    pq.write_table(pa.table({"SMILES (RDKit)": SMILES, "logP": VALUES}), tmp_path / "t.parquet")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    workbook(tmp_path / "t.xlsx", rows)
    return {ending: tmp_path / f"t.{ending}" for ending in ("csv", "csv.gz", "parquet", "xlsx")}


@pytest.mark.parametrize("ending", ["csv.gz", "parquet", "xlsx"])
def test_every_format_gives_the_same_graphs(tables: dict[str, Path], ending: str) -> None:
    expected = load_source(tables["csv"], skip_missing=True)
    graphs = load_source(tables[ending], skip_missing=True)
    assert graphs.fingerprint == expected.fingerprint
    assert graphs.name == "t"
    assert graphs.skipped == expected.skipped


def test_errors_name_the_rows_of_a_workbook_as_excel_does(tmp_path: Path, rows: list[list[object]]) -> None:
    path = workbook(tmp_path / "t.xlsx", [rows[0], [None, None], ["CCO", 1], ["C(", 2]])
    with refused(FileError, at="t.xlsx:4"):
        load_source(path)


def test_a_note_names_the_sheets_that_are_not_read(tmp_path: Path, rows: list[list[object]]) -> None:
    path = workbook(tmp_path / "t.xlsx", [*rows[:2], *rows[3:]], [["other"]], [])
    assert load_source(path).notes[0] == "the sheet 'sheet 0' is read; save others as files of their own: 'sheet 1'"


def test_cells_of_other_kinds_are_text(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", [["a", "b", "c"], [True, date(2024, 5, 1), 7]])
    assert [list(row) for row in open_table(path).rows] == [["True", "2024-05-01T00:00:00", "7"]]


def test_whole_numbers_with_missing_cells_stay_whole_in_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"y": [1, None, 0]}), tmp_path / "t.parquet")
    assert open_table(tmp_path / "t.parquet").column("y") == ["1", "", "0"]


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
def test_other_content_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    path.write_bytes(b"smiles,y\nCCO,1\n")
    with pytest.raises(FileError, match=rf"t\.{ending}: (cannot be read as Parquet|is no Excel workbook)"):
        load_source(path)


def test_a_zip_that_is_no_workbook_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        archive.writestr("a.txt", "b")
    with pytest.raises(FileError, match=r"t\.xlsx: cannot be read as an Excel workbook"):
        load_source(tmp_path / "t.xlsx")


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
def test_content_beyond_the_bound_is_refused(
    tables: dict[str, Path], ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_formats, "LARGEST", 10)
    with refused(FileError, 10, ".csv"):
        load_source(tables[ending])


@pytest.mark.parametrize(
    ("ending", "module", "extra"), [("parquet", "pyarrow", "parquet"), ("xlsx", "openpyxl", "excel")]
)
def test_a_missing_library_is_named_with_the_line_to_type(
    tables: dict[str, Path], ending: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with refused(ImportError, f"pip install 'bankgcn[{extra}]'"):
        load_source(tables[ending])
