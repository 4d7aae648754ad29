"""Tables in every format, and what is refused before any work starts."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from bankgcn.cli.table_output import check_output, check_spreadsheet_safe, safe_cell, write_columns
from bankgcn.files.tables import Columns
from refusals import refused

COLUMNS: Columns = [("id", ["x", "ü,\n"]), ("predicted", ["a", None]), ("p_a", [1 / 3, None])]


def test_csv_has_all_digits_and_empty_cells(tmp_path: Path) -> None:
    write_columns(tmp_path / "t.CSV", COLUMNS)
    assert (tmp_path / "t.CSV").read_text() == 'id,predicted,p_a\nx,a,0.3333333333333333\n"ü,\n",,\n'


def test_json_lines_have_all_digits_and_null(tmp_path: Path) -> None:
    write_columns(tmp_path / "t.jsonl", COLUMNS)
    lines = (tmp_path / "t.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"id": "x", "predicted": "a", "p_a": 1 / 3}
    assert json.loads(lines[1]) == {"id": "ü,\n", "predicted": None, "p_a": None}


def test_parquet_keeps_types(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    check_output(tmp_path / "t.parquet")
    write_columns(tmp_path / "t.parquet", COLUMNS)
    table = parquet.read_table(tmp_path / "t.parquet")
    assert table.to_pydict() == dict(COLUMNS)
    assert str(table.schema.field("p_a").type) == "double"


def test_empty_columns_of_parquet_have_the_type_of_others(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_columns(tmp_path / "t.parquet", [("p_a", [None]), ("predicted", [None]), ("unreadable", [None])])
    types = [str(field.type) for field in parquet.read_schema(tmp_path / "t.parquet")]
    assert types == ["double", "string", "string"]


def test_a_table_may_have_no_rows(tmp_path: Path) -> None:
    write_columns(tmp_path / "t.csv", [("name", []), ("a", [])])
    assert (tmp_path / "t.csv").read_text() == "name,a\n"


def test_other_endings_are_refused_but_a_pipe_needs_none(tmp_path: Path) -> None:
    with refused(ValueError, "t.xlsx", "'.xlsx'", ".csv"):
        check_output(tmp_path / "t.xlsx")
    with refused(ValueError, "''"):
        check_output(tmp_path / "t")
    os.mkfifo(tmp_path / "pipe")
    check_output(tmp_path / "pipe")
    check_output(Path("-"))
    check_output(tmp_path / "t.npy", (".csv", ".npy"))


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with refused(ImportError, "pyarrow", "pip install 'bankgcn[parquet]'"):
        check_output(tmp_path / "t.parquet")


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    with refused(ValueError, "'predicted'", "--keep"):
        write_columns(tmp_path / "t.csv", [("predicted", ["a"]), ("predicted", ["b"])])
    assert not (tmp_path / "t.csv").exists()


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-", "+", "--1", "-1e"]
)
def test_text_that_would_be_a_formula_gets_an_apostrophe(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("cell", ["-1.5", "+3", "-.5e-3", "CCO", "a=b", "", "'=1", -1.5, 0, None])
def test_numbers_and_other_text_stay(cell: str | float | None) -> None:
    assert safe_cell(cell) is cell


def test_names_and_cells_of_a_table_are_made_safe_on_request(tmp_path: Path) -> None:
    columns: Columns = [("=id", ["=1+1", "-7"]), ("p_a", [-0.5, None])]
    write_columns(tmp_path / "t.csv", columns)
    assert (tmp_path / "t.csv").read_text() == "=id,p_a\n=1+1,-0.5\n-7,\n"
    write_columns(tmp_path / "t.csv", columns, spreadsheet_safe=True)
    assert (tmp_path / "t.csv").read_text() == "'=id,p_a\n'=1+1,-0.5\n-7,\n"
    check_spreadsheet_safe(Path("-"), True)
    with refused(ValueError, "--spreadsheet-safe", "CSV"):
        check_spreadsheet_safe(tmp_path / "t.parquet", True)
