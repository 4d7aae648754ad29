"""A library of any size from the molecules of a table."""

from __future__ import annotations

import csv
import gzip
import importlib
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

MOLECULES = ["C", "CC", "CCO", "c1ccccc1", "[Na+].[Cl-]"]


@pytest.fixture
def making() -> ModuleType:
    return importlib.import_module("make_library")


def written(making: ModuleType, path: Path, rows: int, seed: int = 0) -> bytes:
    making.write_library(path, MOLECULES, rows, seed)
    return path.read_bytes()


def test_each_pass_has_every_molecule_once_and_rows_have_ids(making: ModuleType, tmp_path: Path) -> None:
    written(making, tmp_path / "library.csv", 12)
    with (tmp_path / "library.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [f"M{number:09}" for number in range(1, 13)]
    smiles = [row["smiles"] for row in rows]
    assert sorted(smiles[:5]) == sorted(smiles[5:10]) == sorted(MOLECULES)
    assert max(Counter(smiles[10:]).values()) == 1


def test_the_seed_decides_the_rows(making: ModuleType, tmp_path: Path) -> None:
    one = written(making, tmp_path / "one.csv.gz", 50)
    assert one == written(making, tmp_path / "again.csv.gz", 50)
    assert one != written(making, tmp_path / "other.csv.gz", 50, seed=1)
    assert gzip.decompress(one) == written(making, tmp_path / "plain.csv", 50)


def test_a_smiles_file_has_the_same_rows(making: ModuleType, tmp_path: Path) -> None:
    table = written(making, tmp_path / "library.csv", 7).decode().splitlines()[1:]
    lines = written(making, tmp_path / "library.smi", 7).decode().splitlines()
    assert [line.split(" ")[::-1] for line in lines] == [row.split(",") for row in table]


def test_wrong_arguments_are_named(
    making: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    for arguments, message in (
        (["0", "--out", "a.csv"], "rows=0"),
        (["5", "--out", "a.txt"], "a.txt: expected a name that ends in .csv"),
        (["5", "--out", "a.csv", "--molecules", str(tmp_path / "none.csv")], "none.csv is not there"),
    ):
        monkeypatch.setattr(sys, "argv", ["make_library.py", *arguments])
        with pytest.raises(SystemExit):
            making.main()
        assert message in capsys.readouterr().err
