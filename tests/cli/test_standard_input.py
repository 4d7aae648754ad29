"""``-`` is standard input for all commands that read graphs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bankgcn.cli import app
from bankgcn.cli.reading import guess_ending
from csv_rows import rows

pytest.importorskip("rdkit")

TABLE = "smiles;mp\n" + "".join(f"{'C' * n};{n * 10},5\n" for n in range(1, 31))


def run(*arguments: object, given: bytes | str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)
    return result.exit_code, result.stdout, result.stderr


def test_a_run_on_standard_input_finds_its_graphs_again(folder: Path) -> None:
    quick = ("--epochs", 2, "--hidden", 8, "--layers", 2, "--out", "run")
    code, _, err = run("train", "-", *quick, given=gzip.compress(TABLE.encode()))
    assert code == 0, err
    assert "column 'mp' has decimal commas: 10,5 is read as 10.5" in err
    (folder / "m.csv").write_text(TABLE)
    assert run("predict", "run", "m.csv", "--out", "file.csv", given="")[0] == 0
    code, out, err = run("predict", "run", "-", "--out", "-", given=TABLE)
    assert (code, out) == (0, (folder / "file.csv").read_text()), err
    assert [row["mp"] for row in rows(folder / "file.csv")[:2]] == ["10,5", "20,5"]
    code, out, err = run("predict", "run", "--part", "test", "--out", "part.csv", given="")
    assert (code, out.splitlines()[0]) == (0, "3 predictions are in part.csv"), err
    for command in (("evaluate", "run", "-"), ("embed", "run", "-"), ("data", "describe", "-")):
        code, _, err = run(*command, given=TABLE)
        assert code == 0, err


def test_empty_standard_input_is_an_error(folder: Path) -> None:
    code, _, err = run("data", "describe", "-", given=" \n")
    assert (code, "standard input is empty" in err) == (1, True)


@pytest.mark.parametrize(
    ("content", "ending"),
    [
        ("smiles\nCCO\n", ".csv"),
        ("id\tSMILES\n1\tCCO\n", ".csv"),
        ("graph\tsource\ttarget\n", ".csv"),
        ("name;structure\n", ".csv"),
        ("CCO\tethanol\n", ".smi"),
        ("CCO\n", ".smi"),
        (json.dumps({"nodes": []}) + "\n" + json.dumps({"nodes": []}), ".jsonl"),
        (json.dumps({"nodes": []}, indent=1), ".json"),
        ("\ufeff[{}]", ".json"),
        ('<?xml version="1.0"?><graphml/>', ".graphml"),
        ('Creator "igraph"\nVersion 1\ngraph\n[ ]', ".gml"),
        ("graph [ ]", ".gml"),
        ("ethanol\n  RDKit\n\nM  END\n$$$$\n", ".sdf"),
        ("PAR1", ".parquet"),
        ("PK\x03\x04 xl/workbook.xml", ".xlsx"),
    ],
)
def test_the_format_is_guessed_from_the_content(content: str, ending: str) -> None:
    assert guess_ending(content.encode()) == ending
