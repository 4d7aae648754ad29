"""``bankgcn evaluate``: the figures of the training again, and those of other data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 3, "--hidden", 16, "--layers", 2)


@pytest.fixture
def table(command: Command, folder: Path) -> Path:
    lines = [f"m{n},{'C' * n}O,no,{n}.5\nr{n},c1ccccc1{'C' * n},yes,{n}.25" for n in range(1, 16)]
    (folder / "own.csv").write_text("\n".join(["id,smiles,active,size", *lines]))
    return folder / "own.csv"


def test_the_test_graphs_have_the_assessment_of_the_record(command: Command, folder: Path, table: Path) -> None:
    code, trained, err = command("train", table, "--target", "active", *QUICK, "--out", "r")
    assert code == 0, err
    code, out, err = command("evaluate", "r", "--part", "test", "--json", "figures.json")
    assert code == 0, err
    record = json.loads((folder / "r" / "record.json").read_text())
    assert json.loads((folder / "figures.json").read_text()) == record["assessment"]
    assert out.splitlines()[0] == f"accuracy  {record['test_score']:.4f}  (3 graphs)"
    assert out.splitlines()[1:] == trained.splitlines()[2:-3]
    assert "class  graphs  recall  mistaken for" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_rows_without_a_target_are_left_out(command: Command, folder: Path, table: Path) -> None:
    assert command("train", table, "--target", "active", "--skip-unreadable", *QUICK, "--out", "r")[0] == 0
    (folder / "new.csv").write_text("id,smiles,active\n1,CCO,no\n2,CCC,\n3,oops,yes\n4,CO,no\n")
    code, out, err = command("evaluate", "r", "new.csv")
    assert code == 0, err
    assert "(2 graphs)" in out
    assert "note: 2 of 4 rows have no graph or no target" in err
    assert "yes         0       -" in out


def test_values_may_be_called_differently(command: Command, folder: Path, table: Path) -> None:
    assert command("train", table, "--target", "size", *QUICK, "--out", "r")[0] == 0
    (folder / "new.csv").write_text("smiles,mass\nCCO,1.5\nCCC,2\n")
    code, out, err = command("evaluate", "r", "new.csv", "--target", "mass")
    assert code == 0, err
    assert out.startswith("MAE  ")
    assert "MAE of the mean of the training graphs  " in out


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("smiles,active\nCCO,maybe\nC,no\n", [], "1 of 2 graphs have a class that no training graph has: maybe"),
        ("smiles,other\nCCO,1\n", [], "has no column 'active'; its columns are 'smiles', 'other'"),
        ("smiles,active\nCCO,\n", [], "new has no targets to compare with (--target NAME names their column)"),
        ("smiles,active\n", [], "has no molecules"),
        ("", [], "is empty: the first line must name the columns"),
        ("smiles,active,b\nCCO,yes,no\n", ["--target", "active,b"], "one class, but --target names active, b"),
    ],
)
def test_data_that_cannot_be_compared_is_refused(
    command: Command, folder: Path, table: Path, content: str, options: list[str], message: str
) -> None:
    assert command("train", table, "--target", "active", *QUICK, "--out", "r")[0] == 0
    (folder / "new.csv").write_text(content)
    code, out, err = command("evaluate", "r", "new.csv", *options)
    assert (code, out) == (1, "")
    assert message in err


def test_graphs_with_other_features_are_refused_with_both(command: Command, folder: Path, table: Path) -> None:
    assert command("train", table, "--target", "active", *QUICK, "--out", "r")[0] == 0
    code, _, err = command("evaluate", "r", "MUTAG")
    assert code == 1
    assert "the model was trained on the nine features of atoms (raw), but MUTAG has the node labels" in err
