"""SMILES files with and without names of columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankgcn.data.options import ReadOptions
from bankgcn.data.readers.molecule_tables import read_smiles_file, smiles_file
from bankgcn.files.checked import FileError
from refusals import refused


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "molecules.smi"


def test_a_line_is_a_molecule_and_its_name(path: Path) -> None:
    path.write_text("CCO ethanol, 95 %\n\nc1ccccc1\tbenzene\n".replace("\t", " "))
    table = smiles_file(path, ReadOptions()).table
    assert table.header == ("smiles", "name")
    assert table.rows == [["CCO", "ethanol, 95 %"], ["c1ccccc1", "benzene"]]
    assert table.lines == [1, 3]
    graphs = read_smiles_file(path)
    assert (graphs.num_nodes.tolist(), graphs.y, graphs.names) == ([3, 6], None, ("CCO", "c1ccccc1"))


def test_a_line_of_names_gives_targets(path: Path) -> None:
    path.write_text("SMILES\tid\tactive\nCCO\ta\tno\nc1ccccc1\tb\tyes\n")
    graphs = read_smiles_file(path)
    assert (graphs.y.tolist(), graphs.classes) == ([0, 1], ("no", "yes"))
    assert read_smiles_file(path, ReadOptions(target="id")).classes == ("a", "b")


def test_columns_without_names_are_numbered(path: Path) -> None:
    path.write_text("CCO\ta\t0.5\nC\tb\n")
    assert smiles_file(path, ReadOptions()).table.header == ("smiles", "name", "column3")
    with refused(FileError, "1 of 2 rows", "'column3'", at="molecules.smi:2"):
        read_smiles_file(path, ReadOptions(target="column3"))
    assert read_smiles_file(path, ReadOptions(target="column3", fill_missing="1.5")).y.tolist() == [0.5, 1.5]


def test_unreadable_lines_are_named_or_skipped(path: Path) -> None:
    path.write_text("CCO\noops\nC\n")
    with refused(FileError, "1 of 3 molecules", at="molecules.smi:2"):
        read_smiles_file(path)
    graphs = read_smiles_file(path, ReadOptions(skip_unreadable=True))
    assert graphs.rows.tolist() == [0, 2]
    assert [row for row, _ in graphs.skipped] == [1]


def test_a_line_that_lacks_its_molecule_is_unreadable(path: Path) -> None:
    path.write_text("smiles\tid\tactive\nC\ta\tyes\t\n\tN\tno\n")
    assert smiles_file(path, ReadOptions()).table.rows == [["C", "a", "yes"], ["", "N", "no"]]
    with refused(FileError, "1 of 2 molecules", at="molecules.smi:3"):
        read_smiles_file(path, ReadOptions(target="active"))


def test_a_file_without_molecules_or_with_too_many_cells_is_refused(path: Path) -> None:
    path.write_text("\n \n")
    with pytest.raises(FileError, match="is empty: expected a molecule on each line"):
        read_smiles_file(path)
    path.write_text("smiles\tid\nC\ta\tb\n")
    with refused(FileError, "3 cell", 2, at="molecules.smi:2"):
        read_smiles_file(path)
    with refused(FileError, at="none.smi", cause=FileNotFoundError):
        read_smiles_file(path.with_name("none.smi"))
