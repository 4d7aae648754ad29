"""SD files: molecules as RDKit writes them, with their data fields."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdkit import Chem

from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.molecule_tables import read_sd_file, sd_file
from bankgcn.data.readers.molecules import from_smiles
from bankgcn.files.checked import FileError
from refusals import refused

MOLECULES = {"ethanol": ("CCO", {"logp": "-0.1", "active": "no"}), "benzene": ("c1ccccc1", {"active": "yes"})}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "molecules.sdf"
    with Chem.SDWriter(str(file)) as writer:
        for name, (smiles, fields) in MOLECULES.items():
            molecule = Chem.MolFromSmiles(smiles)
            molecule.SetProp("_Name", name)
            for key, value in fields.items():
                molecule.SetProp(key, value)
            writer.write(molecule)
    return file


def test_molecules_are_those_of_their_smiles(path: Path) -> None:
    graphs = read_sd_file(path, ReadOptions(target="active"))
    expected = from_smiles(["CCO", "c1ccccc1"], ["no", "yes"], with_bonds=False)
    assert graphs.fingerprint == expected.fingerprint
    assert (graphs.names, graphs.classes) == (("CCO", "c1ccccc1"), ("no", "yes"))


def test_names_and_data_fields_are_the_columns(path: Path) -> None:
    table = sd_file(path, ReadOptions()).table
    assert table.header == ("name", "logp", "active")
    assert table.rows == [["ethanol", "-0.1", "no"], ["benzene", "", "yes"]]


def test_a_value_may_look_like_the_start_of_a_field(path: Path) -> None:
    path.write_text(path.read_text().replace("\nno\n", "\n>10 (n<3)\n"))
    assert sd_file(path, ReadOptions()).table.column("active") == [">10 (n<3)", "yes"]


def test_text_that_is_not_utf_8_is_latin_1(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\nno\n", b"\n\xe9\n").replace(b"\nyes\n", b"\n\xe8\n"))
    assert read_sd_file(path, ReadOptions(target="active")).classes == ("è", "é")


def test_fields_that_a_molecule_lacks_are_missing_targets(path: Path) -> None:
    with refused(FileError, "1 of 2 rows", "'logp'"):
        read_sd_file(path, ReadOptions(target="logp"))
    assert read_sd_file(path, ReadOptions(target="logp", skip_missing=True)).skipped == (
        (1, "no target in column 'logp'"),
    )
    assert read_sd_file(path, ReadOptions(target="logp", fill_missing="2.5")).y.tolist() == pytest.approx([-0.1, 2.5])


def test_hydrogens_are_no_nodes(tmp_path: Path) -> None:
    molecule = Chem.AddHs(Chem.MolFromSmiles("CO"))
    (tmp_path / "h.sdf").write_text(Chem.MolToMolBlock(molecule) + "\n$$$$\n")
    assert read_sd_file(tmp_path / "h.sdf").num_nodes.tolist() == [2]


def test_unreadable_molecules_are_named_by_their_line_or_skipped(path: Path) -> None:
    first, second = path.read_text().split("$$$$\n")[:2]
    path.write_text(f"{first}$$$$\n{second.replace('V2000', 'nonsense')}$$$$\n")
    with refused(FileError, "1 of 2 molecules", at=f"molecules.sdf:{len(first.splitlines()) + 2}"):
        read_sd_file(path, ReadOptions(target="active"))
    graphs = read_sd_file(path, ReadOptions(skip_unreadable=True), Expected(has_target=False))
    assert graphs.skipped == ((1, "is no molecule in the SD format"),)
    assert "line" in graphs.notes[0]
    assert "'benzene'" in graphs.notes[0]


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.sdf").write_text("\n")
    with pytest.raises(FileError, match="is empty: expected molecules"):
        read_sd_file(tmp_path / "none.sdf")


def test_a_molecule_that_rdkit_stumbles_over_is_named_by_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rdkit import Chem

    ring = Chem.MolFromSmiles("C1" + "C" * 1_500 + "C1", sanitize=False)
    for molecule, reason in ((ring, "has 1,502 atoms in one system of rings"), (Chem.MolFromSmiles("C"), "broken")):
        (tmp_path / "x.sdf").write_text(Chem.MolToMolBlock(molecule, kekulize=False, forceV3000=True) + "\n$$$$\n")
        with refused(FileError, "1 of 1 molecules", reason, at="x.sdf:1"):
            read_sd_file(tmp_path / "x.sdf", expected=Expected(has_target=False))
        monkeypatch.setattr(Chem, "MolToSmiles", lambda molecule: (_ for _ in ()).throw(RuntimeError("broken")))
