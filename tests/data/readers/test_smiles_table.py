"""A CSV of molecules and a property, as people have it."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from bankgcn.cli.errors import with_flags
from bankgcn.data.edge_data import is_edge_note
from bankgcn.data.features.atoms import ATOM_FEATURES
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.molecule_tables import read_smiles_table
from bankgcn.data.sources import find_source
from bankgcn.files.checked import FileError
from bankgcn.tasks import kind_of
from refusals import refused

pytest.importorskip("rdkit")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "solubility.csv"
    path.write_text("SMILES,soluble\nCCO,yes\nc1ccccc1,no\nO,yes\n")
    return path


def test_columns_are_guessed_when_there_is_nothing_to_doubt(table: Path) -> None:
    graphs = read_smiles_table(table)
    assert graphs.name == "solubility"
    assert graphs.names == ("CCO", "c1ccccc1", "O")
    assert graphs.classes == ("no", "yes")
    assert graphs.y.tolist() == [1, 0, 1]


def test_a_column_with_a_usual_name_is_the_target(table: Path) -> None:
    table.write_text("id,Smiles,weight,Label\n1,C,16.04,5\n2,CC,30.07,7\n")
    assert read_smiles_table(table).classes == ("5", "7")
    assert read_smiles_table(table, ReadOptions(target="weight")).y.tolist() == pytest.approx([16.04, 30.07], rel=1e-6)


def test_columns_in_doubt_are_asked_for_with_their_names(table: Path) -> None:
    table.write_text("smiles,activity,HIV_active\nC,CI,0\n")
    with refused(FileError, "'activity', 'HIV_active'"):  # and not the column of the SMILES
        read_smiles_table(table)
    table.write_text("molecule,y\nC,0\n")
    with refused(FileError, "'smiles'", "'molecule', 'y'"):
        read_smiles_table(table)
    assert len(read_smiles_table(table, ReadOptions(smiles="molecule"))) == 1
    table.write_text("smiles,SMILES,y\nC,C,0\n")
    with pytest.raises(FileError, match="more than one column is called 'smiles'"):
        read_smiles_table(table)


def test_molecules_of_fewer_classes_keep_the_numbers_that_a_model_knows(table: Path) -> None:
    table.write_text("smiles,y\nC,yes\n")
    assert read_smiles_table(table, expected=Expected(classes=("no", "yes"))).y.tolist() == [1]
    with refused(FileError, "'y'", "'yes'", "no", at="solubility.csv:2"):
        read_smiles_table(table, expected=Expected(classes=("no",)))


def test_data_to_predict_needs_no_target(table: Path) -> None:
    assert read_smiles_table(table, expected=Expected(has_target=False)).y is None
    table.write_text("smiles\nC\n")
    assert read_smiles_table(table).y is None


def test_unreadable_molecules_refuse_the_file_by_line(table: Path) -> None:
    table.write_bytes(b"smiles,y\r\n\nC,0\r\n\nC1CC,0\r\n\nxyz,1\r\n\n")
    with pytest.raises(FileError) as caught:
        read_smiles_table(table)
    assert caught.value.line == 5
    assert "2 of 3 molecules" in str(caught.value)
    assert "line 5, 'C1CC': unclosed ring; line 7, 'xyz': syntax error" in str(caught.value)
    graphs = read_smiles_table(table, ReadOptions(skip_unreadable=True))
    assert graphs.y.tolist() == [0]
    assert graphs.notes[1] == "2 of 3 molecules could not be read and are left out; the first: " + (
        "line 5, 'C1CC': unclosed ring"
    )
    assert [row for row, _ in graphs.skipped] == [1, 2]


def test_missing_targets_refuse_the_file_by_line(table: Path) -> None:
    table.write_text("smiles,y\nC,0\nCC,\nCCC,NaN\nCCCC,1\n")
    with refused(FileError, "2 of 4 rows", "'y'") as caught:
        read_smiles_table(table)
    assert caught.value.line == 3
    graphs = read_smiles_table(table, ReadOptions(skip_missing=True))
    assert graphs.names == ("C", "CCCC")
    assert graphs.y.tolist() == [0, 1]
    assert graphs.notes[0] == "2 of 4 rows have no target in column 'y' and are left out"


def test_a_note_names_the_columns_of_the_targets(table: Path) -> None:
    table.write_text("smiles,y,z\nC,0,1\nCC,1,0\n")
    assert notes(read_smiles_table(table)) == ["the target is column 'y': no other was named"]
    assert notes(read_smiles_table(table, ReadOptions(target="z"))) == ["the target is column 'z'"]
    assert notes(read_smiles_table(table, ReadOptions(target="z,y"))) == ["the targets are columns 'z', 'y'"]
    assert notes(read_smiles_table(table, expected=Expected(has_target=False))) == []


def notes(graphs: GraphSet) -> list[str]:
    """The notes, without the one on bonds."""
    return [note for note in graphs.notes if not is_edge_note(note)]


def test_a_missing_target_at_the_end_of_a_long_table_is_found_in_one_pass(table: Path) -> None:
    lines = 0

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    table.write_text("smiles,y\n" + "C,0\n" * 999 + "C,\n")
    before = sys.gettrace()
    sys.settrace(count)
    try:
        with refused(FileError, "1 of 1,000 rows") as caught:
            read_smiles_table(table)
    finally:
        sys.settrace(before)
    assert caught.value.line == 1_001
    assert 1_000 < lines < 100_000  # of Python; a search that is quadratic in the rows has half a million


def test_a_word_among_numbers_is_refused_by_line_when_numbers_are_wanted(table: Path) -> None:
    table.write_text("smiles,y\nC1,0.0\nC,0.5\nCC,high\n")
    with refused(FileError, "'y'", "'high'") as caught:
        read_smiles_table(table, ReadOptions(skip_unreadable=True), Expected(task="values"))
    assert caught.value.line == 4


def test_several_columns_of_answers_are_labels_with_unknown_entries(table: Path) -> None:
    table.write_text("smiles,id,NR,SR\nC,x,1,0\nCC,y,,1\nO,z,0,NA\n")
    graphs = read_smiles_table(table, ReadOptions(target="NR, SR"))
    np.testing.assert_array_equal(graphs.y, np.array([[1, 0], [np.nan, 1], [0, np.nan]], np.float32))
    assert (graphs.targets, graphs.classes, graphs.y.dtype) == (("NR", "SR"), (), np.float32)
    assert kind_of(graphs.y) == "labels"


def test_several_columns_of_real_numbers_are_values(table: Path) -> None:
    table.write_text("smiles,a,b\nC,1,0.5\nCC,,1\n")
    graphs = read_smiles_table(table, ReadOptions(target="b,a"))
    assert graphs.targets == ("b", "a")
    assert kind_of(graphs.y) == "values"
    with refused(FileError, "'b'", 0.5, at="solubility.csv:2"):
        read_smiles_table(table, ReadOptions(target="b,a"), Expected(task="labels"))
    with refused(FileError, "2 targets", task="classes"):
        read_smiles_table(table, ReadOptions(target="b,a"), Expected(task="classes"))


def test_one_column_of_numbers_is_named(table: Path) -> None:
    table.write_text("smiles,logp\nC,1\nCC,2\n")
    assert read_smiles_table(table).targets == ()
    values = read_smiles_table(table, expected=Expected(task="values"))
    assert (values.y.tolist(), values.targets, values.y.dtype) == ([1, 2], ("logp",), np.float32)


def test_a_column_whose_name_has_a_comma_is_found_by_its_name(table: Path) -> None:
    table.write_text('smiles,"a,b",a,b\nC,0.5,1,2\n')
    assert read_smiles_table(table, ReadOptions(target="a,b")).targets == ("a,b",)
    assert read_smiles_table(table, ReadOptions(target="a, b")).targets == ("a", "b")


@pytest.mark.parametrize(
    ("target", "named"),
    [("a,c", ("'c'",)), ("a,,b", ("''",)), ("a,a", ("'a'", "more than once"))],
)
def test_a_list_of_columns_with_a_slip_is_refused(table: Path, target: str, named: tuple) -> None:
    table.write_text("smiles,a,b\nC,1,2\n")
    with refused(FileError, *named):
        read_smiles_table(table, ReadOptions(target=target))


def test_a_row_without_any_known_target_is_missing(table: Path) -> None:
    table.write_text("smiles,a,b\nC,1,\nCC,,\nO,,0\n")
    with refused(FileError, "1 of 3 rows", "'a', 'b'", at="solubility.csv:3"):
        read_smiles_table(table, ReadOptions(target="a,b"))
    graphs = read_smiles_table(table, ReadOptions(target="a,b", skip_missing=True))
    assert graphs.names == ("C", "O")


def test_a_word_in_one_of_several_columns_is_refused_with_its_place(table: Path) -> None:
    table.write_text("smiles,a,b\nC,1,\nxyz,,1\nO,0,high\n")
    with refused(FileError, "'b'", "'high'", at="solubility.csv:4"):
        read_smiles_table(table, ReadOptions(target="a,b", skip_unreadable=True))


@pytest.mark.parametrize("content", ["smiles,y\n", "smiles\n"])
def test_a_table_without_rows_is_refused(table: Path, content: str) -> None:
    table.write_text(content)
    with pytest.raises(FileError, match="has no molecules"):
        read_smiles_table(table)


@pytest.mark.datasets("ogbg_molhiv/HIV.csv", "ogbg_molhiv/raw/node-feat.csv.gz")
def test_features_are_those_that_the_benchmark_published(data_root: Path, tmp_path: Path) -> None:
    """Recomputed from the table of molecules, with its odd line ends: the same atoms in the same order."""
    folder = data_root / "ogbg_molhiv"
    num_molecules = 1_000
    head = (folder / "HIV.csv").read_bytes().split(b"\r\n\n")[: num_molecules + 1]
    sample = tmp_path / "HIV.csv"
    sample.write_bytes(b"\r\n\n".join(head) + b"\r\n\n")
    graphs = read_smiles_table(sample, ReadOptions(target="HIV_active", skip_unreadable=True))
    assert 0 < num_molecules - len(graphs) < 5  # RDKit has become stricter since

    with gzip.open(folder / "raw" / "num-node-list.csv.gz") as file:
        num_atoms = np.loadtxt(file, dtype=int, max_rows=num_molecules)
    with gzip.open(folder / "raw" / "node-feat.csv.gz") as file:
        published = np.loadtxt(file, dtype=int, delimiter=",", max_rows=num_atoms.sum())
    table = [row.split(b",")[0].decode() for row in head[1:]]
    kept = np.isin(table, graphs.names)
    assert graphs.num_nodes.tolist() == num_atoms[kept].tolist()
    differs = graphs.attributes != published[np.repeat(kept, num_atoms)]
    names = [feature.name for feature in ATOM_FEATURES]
    changed = {name for name, count in zip(names, differs.sum(0), strict=True) if count}
    assert changed <= {"hybridization", "radical electrons"}  # RDKit's own rules for odd atoms change with its versions
    assert differs.any(1).mean() < 1e-3


def test_the_molecules_are_no_target(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("smiles,y\nCCO,1\nC,0\n")
    for target in ("smiles", "y,smiles"):
        with pytest.raises(FileError, match="column 'smiles' holds the molecules: it cannot be the target"):
            read_smiles_table(tmp_path / "own.csv", ReadOptions(target=target))


def test_a_foreign_character_in_a_molecule_is_named_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "molecules.csv"
    path.write_text("smiles,y\nCC,0\nCC(é,1\n", encoding="utf-8")
    with refused(FileError, "1 of 2", "line 3", "'CC(é'", "'é'", at="molecules.csv:3"):
        read_smiles_table(path)
    assert read_smiles_table(path, ReadOptions(skip_unreadable=True)).names == ("CC",)


def test_decimal_commas_of_a_semicolon_table_are_read_with_a_note(table: Path) -> None:
    table.write_text("smiles;mp\nCCO;844,4\nCC;12\nC;-1,5e1\n")
    graphs = read_smiles_table(table)
    assert graphs.y.tolist() == pytest.approx([844.4, 12, -15])
    assert notes(graphs)[0] == "column 'mp' has decimal commas: 844,4 is read as 844.4"


def test_decimal_commas_stay_in_classes_and_beside_decimal_points(table: Path) -> None:
    table.write_text("smiles;kind\nCCO;1,2\nCC;1,3\n")
    assert read_smiles_table(table, expected=Expected(task="classes")).classes == ("1,2", "1,3")
    table.write_text("smiles;mp\nCCO;1.234\nCC;1,5\n")
    with refused(FileError, "'1,5'", at="solubility.csv:3"):
        read_smiles_table(table)


def test_the_only_column_with_smiles_in_its_name_has_the_molecules(table: Path) -> None:
    table.write_text("id,SMILES (RDKit),target\n1,CCO,a\n2,CC,b\n")
    assert read_smiles_table(table).names == ("CCO", "CC")
    table.write_text("SMILES (RDKit),SMILES (given),target\nCCO,OCC,a\n")
    with refused(FileError, "more than one column", "'smiles'"):
        read_smiles_table(table)


def test_classes_that_may_be_one_or_missing_have_notes_and_options(table: Path) -> None:
    table.write_text("smiles,active\nCCO,Yes\nCC,yes\nC,n.d.\nCCC,no\n")
    graphs = find_source(table).load()
    assert graphs.classes == ("Yes", "n.d.", "no", "yes")
    assert "'Yes' and 'yes'" in notes(graphs)[-2]
    assert 'missing_words="n.d."' in notes(graphs)[-1]
    assert "--missing-words n.d. and --skip-missing" in with_flags(notes(graphs)[-1])
    graphs = read_smiles_table(table, ReadOptions(ignore_case=True, missing_words="n.d.", skip_missing=True))
    assert graphs.classes == ("no", "yes")
    assert graphs.rows.tolist() == [0, 1, 3]
    with refused(FileError, "1 of 4 rows"):
        read_smiles_table(table, ReadOptions(missing_words="N.D."))
