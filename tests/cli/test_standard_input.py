"""``-`` is standard input for all commands that read graphs."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bankgcn.cli import app
from bankgcn.cli.settings import guess_ending, source_argument
from csv_rows import rows

pytest.importorskip("rdkit")

TABLE = "smiles;mp\n" + "".join(f"{'C' * n};{n * 10},5\n" for n in range(1, 31))
QUICK = ("--epochs", 2, "--hidden", 8, "--layers", 2)


def run(*arguments: object, given: bytes | str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)
    return result.exit_code, result.stdout, result.stderr


def test_a_run_on_standard_input_finds_its_graphs_again(folder: Path) -> None:
    code, _, err = run("train", "-", *QUICK, "--out", "run", given=gzip.compress(TABLE.encode()))
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


@pytest.fixture
def trained(folder: Path) -> Path:
    """A run on the table, in a file."""
    (folder / "m.csv").write_text(TABLE)
    code, _, err = run("train", "m.csv", *QUICK, "--out", "run", given="")
    assert code == 0, err
    return folder


@pytest.mark.parametrize(("command", "ending"), [("explain", ".csv"), ("report", ".html")])
def test_a_model_is_explained_on_standard_input_as_on_the_file(trained: Path, command: str, ending: str) -> None:
    pytest.importorskip("plotly")
    for name, source, given in (("file", "m.csv", ""), ("stdin", "-", TABLE)):
        code, _, err = run(command, "run", source, "--out", f"{name}{ending}", given=given)
        assert code == 0, err
    file, stdin = ((trained / f"{name}{ending}").read_text() for name in ("file", "stdin"))
    assert re.sub(r"\bstdin-[0-9a-f]{16}\b", "m", stdin) == file
    assert len(file.splitlines()) > 30


def test_models_are_compared_on_standard_input(folder: Path) -> None:
    grid = ("--models", "mlp,gcn", "--runs", 1, "--weight-decays", 0, "--gammas", 0, "--store", "s")
    code, out, err = run("compare", "-", *QUICK, *grid, given=TABLE)
    assert code == 0, err
    assert out.startswith("Models on stdin-")
    records = {path: path.stat().st_mtime_ns for path in folder.rglob("s/*.json")}
    assert len(records) == 2
    for words, given in ((("compare", "-", *QUICK, *grid), TABLE), (("compare", "--store", "s"), "")):
        code, again, err = run(*words, given=given)
        assert (code, again) == (0, out), err
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("s/*.json")} == records  # no run is repeated
    code, _, err = run("compare", "-", *QUICK, *grid, given=TABLE.replace("10,5", "11,5"))
    assert (code, "s holds a comparison with source = " in err) == (1, True)


def test_settings_are_searched_on_standard_input(folder: Path) -> None:
    pytest.importorskip("optuna")
    words = ("tune", "-", *QUICK, "--trials", 2, "--picture", "none", "--out", "s")
    code, out, err = run(*words, given=TABLE)
    assert code == 0, err
    for repeated, given in ((words, TABLE), (("tune", "--out", "s", "--picture", "none"), "")):
        code, again, err = run(*repeated, given=given)
        assert (code, again) == (0, out), err
    (typed,) = (shlex.split(line)[1:] for line in out.splitlines() if line.startswith("bankgcn train "))
    code, _, err = run(*typed, given="")
    assert code == 0, err
    assert (folder / "s" / "best" / "record.json").exists()


READING = [
    ("data", "describe", "-"),
    ("compare", "-", "--models", "mlp"),
    ("tune", "-", "--trials", 1),
    ("explain", "run", "-"),
    ("report", "run", "-"),
]


@pytest.mark.parametrize("words", READING)
def test_empty_and_unreadable_standard_input_are_errors(trained: Path, words: tuple) -> None:
    before = sorted(trained.rglob("*"))
    code, _, err = run(*words, given=" \n")
    assert (code, "standard input is empty: expected graphs" in err) == (1, True)
    code, _, err = run(*words, given=b"\x00\xff\xfe")
    assert (code, "is not text in UTF-8" in err) == (1, True)
    assert sorted(trained.rglob("*")) == before


def test_closed_standard_input_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ValueError, match="standard input is empty"):
        source_argument("-")


@pytest.mark.parametrize("command", ["train", "compare", "tune"])
def test_test_graphs_do_not_come_from_standard_input(trained: Path, command: str) -> None:
    code, _, err = run(command, "m.csv", "--test", "-", given=TABLE)
    assert (code, "only SOURCE can be standard input: write these graphs to a file" in err) == (1, True)


@pytest.mark.parametrize("command", ["train", "compare", "tune", "predict", "evaluate", "embed", "explain", "report"])
def test_the_help_says_so(command: str) -> None:
    _, out, _ = run(command, "--help", given="")
    assert "'-' is standard input." in " ".join(out.split())


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
