"""The ids of molecules go with them from the table through a run to what is shown of it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bankgcn.cli.model_input import examine
from bankgcn.cli.open_input import read_input
from bankgcn.data.combine import join
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.molecule_tables import read_smiles_table
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.spec import RunSpec
from refusals import refused

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 2, "--hidden", 8, "--layers", 1)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_table(path: Path, column: str = "Compound ID") -> Path:
    lines = [f"M{n}A,{'C' * n}O,0,{n}\nM{n}B,c1ccccc1{'C' * n},1,{n}" for n in range(1, 16)]
    path.write_text("\n".join([f"{column},smiles,active,batch", *lines]) + "\n")
    return path


@pytest.mark.parametrize("column", ["id", "ID", "Name", "compound", "Compound ID", "compound_id", "molecule-name"])
def test_a_usual_column_with_different_cells_holds_the_ids(tmp_path: Path, column: str) -> None:
    table = write_table(tmp_path / "own.csv", column)
    graphs = read_smiles_table(table, ReadOptions(target="active"))
    assert graphs.ids is not None
    assert graphs.ids[:2] == ("M1A", "M1B")
    assert graphs.names is not None
    assert graphs.names[0] == "CO"  # the molecule, by which it is drawn and split
    assert graphs[[3]].ids == ("M2B",)
    assert join([graphs[:1], graphs[2:3]]).ids == ("M1A", "M2A")
    graphs.save(tmp_path / "set.graphs")
    assert GraphSet.load(tmp_path / "set.graphs").ids == graphs.ids


def test_other_columns_hold_no_ids_unless_they_are_named(tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text("name,code,smiles,y\na,p,C,0\na,q,CC,1\n")
    assert read_smiles_table(table, ReadOptions(target="y")).ids is None  # two molecules have one name
    assert read_smiles_table(table, ReadOptions(target="y", id="code")).ids == ("p", "q")
    table.write_text("id,smiles,y\na,C,0\n,CC,1\n")
    assert read_smiles_table(table).ids is None  # one has none
    with refused(ValueError, "'code'", "'id', 'smiles', 'y'"):
        read_smiles_table(table, ReadOptions(id="code"))


def test_ids_are_no_targets(tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text("id,smiles,active\n1,C,0\n2,CC,1\n")
    assert read_smiles_table(table).classes == ("0", "1")
    assert read_smiles_table(table, ReadOptions(target="id"), Expected(task="values")).y.tolist() == [1, 2]


def test_ids_change_neither_the_key_of_a_run_nor_the_fingerprint(tmp_path: Path) -> None:
    assert "reader" not in RunSpec(dataset="own.csv").to_dict()
    assert RunSpec(dataset="own.csv", reader=ReadOptions(id="code")).to_dict()["reader"] == {"id": "code"}
    graphs = read_smiles_table(write_table(tmp_path / "a.csv"), ReadOptions(target="active"))
    others = read_smiles_table(write_table(tmp_path / "b.csv", "other"), ReadOptions(target="active"))
    assert (others.ids, others.fingerprint) == (None, graphs.fingerprint)


def test_ids_reach_the_predictions_and_what_explain_and_report_show(command: Command, folder: Path) -> None:
    write_table(folder / "own.csv", "code")
    code, _, err = command("train", "own.csv", "--target", "active", "--id", "code", *QUICK, "--out", "r")
    assert code == 0, err
    tested = rows(folder / "r" / "test_predictions.csv")
    table = rows(folder / "own.csv")
    assert [row["id"] for row in tested] == [table[int(row["graph"])]["code"] for row in tested]
    first = tested[0]["id"]
    code, _, err = command("explain", "r", "--part", "test", "--graphs", first, "--out", "e.json")
    assert code == 0, err
    assert [entry["name"] for entry in json.loads((folder / "e.json").read_text())] == [first]
    ensemble = Ensemble.load(folder / "r")
    shown = examine(ensemble, read_input(ensemble, None, None, {}, part="test"))  # what explain and report show
    assert list(shown.names) == [row["id"] for row in tested]
    assert list(shown.smiles) == [row["name"] for row in tested]
    (folder / "new.csv").write_text("smiles,id\nCCO,x7\nCCC,x8\n")  # another table has other ids
    code, _, err = command("explain", "r", "new.csv", "--graphs", "x8", "--out", "e.csv")
    assert code == 0, err
    assert {row["name"] for row in rows(folder / "e.csv")} == {"x8"}
    code, _, err = command("explain", "r", "new.csv", "--id", "nothing")
    assert (code, "has no column 'nothing'" in err) == (1, True)
