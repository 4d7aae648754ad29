"""Molecules in, graphs out, and no molecule lost in silence."""

from __future__ import annotations

import sys
from dataclasses import fields

import numpy as np
import pytest
import torch

from bankgcn.data import GraphError
from bankgcn.data.features import atom_arrays
from bankgcn.data.readers.molecules import Molecules, from_smiles, parse_smiles
from bankgcn.kernels import use_kernels
from molecule_examples import STRANGE
from refusals import refused

Chem = pytest.importorskip("rdkit.Chem")


def test_atoms_are_nodes_and_bonds_are_edges_in_both_directions() -> None:
    graphs = from_smiles(["CCO", "C", "C1CC1"])
    assert graphs.num_nodes.tolist() == [3, 1, 3]
    assert graphs.num_edges.tolist() == [2, 0, 3]
    edges = {tuple(edge) for edge in graphs.batch([2]).edge_index.T.tolist()}
    assert edges == {(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)}
    assert graphs.names == ("CCO", "C", "C1CC1")


def test_one_hot_channels_are_the_integers_spelled_out() -> None:
    raw, onehot = from_smiles(["C[NH3+]", "c1ccccc1"]), from_smiles(["C[NH3+]", "c1ccccc1"], features="onehot")
    assert (raw.num_features, onehot.num_features) == (9, 174)
    starts = np.cumsum([0, *onehot.label_widths[:-1]])
    expected = np.zeros((8, 174))
    expected[np.arange(8)[:, None], raw.batch().x.numpy().astype(int) + starts] = 1
    assert (onehot.batch().x.numpy() == expected).all()


def test_targets_may_be_any_sequence() -> None:
    for y in ([1, 0], np.array([1, 0]), np.array(["b", "a"]), ("b", "a")):
        assert from_smiles(["C", "CC"], y).y.tolist() == [1, 0]
    assert from_smiles(["C", "CC"], np.array([0.5, 1.5])).y.tolist() == [0.5, 1.5]
    assert from_smiles(["C", "CC"], torch.tensor([0.5, 1.5])).y.tolist() == [0.5, 1.5]
    assert from_smiles(["C", "CC"]).y is None


BAD = ["CC", "C1CC", "C(C)(C)(C)(C)C", "", float("nan"), "c1cccc1", "xyz", "CC)", "O"]


def test_unreadable_molecules_are_refused_by_place_and_reason(capfd: pytest.CaptureFixture) -> None:
    with pytest.raises(GraphError) as caught:
        from_smiles(BAD)
    message = str(caught.value)
    assert "7 of 9 molecules cannot be read" in message
    assert "molecule 1, 'C1CC': unclosed ring" in message
    assert "molecule 2, 'C(C)(C)(C)(C)C': Explicit valence for atom # 0 C, 5, is greater than permitted" in message
    assert "molecule 3, '': has no atoms" in message
    assert "molecule 4, 'nan': is not text" in message
    assert message.endswith("and 2 more")
    assert capfd.readouterr().err == ""  # RDKit writes past sys.stderr


def test_a_blank_within_a_molecule_is_not_the_start_of_a_name() -> None:
    with pytest.raises(GraphError, match="molecule 1, 'C C C': has a blank before 'C C', but a SMILES has none"):
        from_smiles(["CC", "C C C"])
    assert from_smiles(["CCO |$;;OH$|", " CC\t"]).num_nodes.tolist() == [3, 2]


def test_unreadable_molecules_are_skipped_on_request_with_a_note() -> None:
    graphs = from_smiles(BAD, range(9), skip_unreadable=True)
    assert graphs.names == ("CC", "O")
    assert graphs.classes == ("0", "8")
    assert "7 of 9 molecules could not be read and are left out" in graphs.notes[0]


def test_long_molecules_are_shortened_in_messages() -> None:
    with pytest.raises(GraphError, match=r"'C{60}\.\.\.'"):
        from_smiles(["C" * 500 + "("])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([],), {}, "no molecules"),
        ((["xyz"],), {"skip_unreadable": True}, "no molecules"),
        ((["C"], [1, 2]), {}, "1 molecules but 2 targets"),
        ((["xyz", "C"], [0, None]), {"skip_unreadable": True}, "molecule 1: there is no target"),
        ((["C"],), {"features": "embedded"}, "expected one of raw, onehot"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_smiles(*arguments, **options)


def test_without_rdkit_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with refused(ImportError, "pip install 'bankgcn[molecules]'"):
        from_smiles(["C"])


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("[CH99999999]", "'[CH99999999]' has 99999999 hydrogens, and an atom may have 9"),
        ("[CH256]", "'[CH256]' has 256 hydrogens, and an atom may have 9"),  # RDKit reads it as [C]
        ("[CH" + "9" * 5_000 + "]", "hydrogens, and an atom may have 9"),  # Python refuses to convert it
        ("[#999H65536] |LO:0:1.2.3|", "'[#999H65536]' has 65536 hydrogens"),
        ("[#999] |LO:0:1.2.3|", "'[#999]' has 999 as the number of its element, and the largest is 118"),
        ("[C+256]", "'[C+256]' has 256 charges, and an atom may have 15"),  # RDKit reads it without a charge
        ("[C" + "-" * 16 + "]", "has 16 charges"),
        ("[U]" + "([H])" * 10, "atom # 0 has 10 hydrogens, and an atom may have 9"),
    ],
)
def test_molecules_that_cannot_be_are_unreadable(smiles: str, reason: str) -> None:
    with refused(GraphError, "1 of 2 molecules") as caught:
        from_smiles(["CC", smiles])
    assert reason in str(caught.value)
    assert from_smiles(["CC", smiles], skip_unreadable=True).names == ("CC",)


def test_numbers_that_molecules_have_are_read() -> None:
    chiral = "[Os@OH12](F)(Cl)(Br)(I)(N)O"  # the 12th order of six neighbours, not 12 hydrogens
    assert from_smiles(["[ReH9-2]", "[C-15]", "[#118]", chiral, "[CH3:1234]C"]).num_nodes.tolist() == [1, 1, 1, 7, 2]


def test_whatever_rdkit_raises_is_an_unreadable_molecule(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(molecule: object) -> list:
        raise RuntimeError("Pre-condition Violation\n\tbad valence\n\tViolation occurred on line 1 in file x.cpp")

    for way in ("to_bytes", "AtomArrays.of"):
        monkeypatch.setattr(f"bankgcn.data.readers.molecules.{way}", fail)
    with refused(GraphError, "molecule 0", "'CC'", "bad valence"):
        from_smiles(["CC"])


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("with_bonds", [False, True])
def test_decoded_molecules_are_those_that_rdkit_describes_atom_by_atom(with_bonds: bool, standardize: bool) -> None:
    given = [*BAD, *STRANGE, "[CH256]", "[U]" + "([H])" * 10, Chem.MolFromSmiles("CC(=O)[O-].[Na+]"), "CCO"]
    decoded = parse_smiles(given, with_bonds, standardize)
    with use_kernels(False):
        plain = parse_smiles(given, with_bonds, standardize)
    for field in fields(Molecules):
        one, other = getattr(decoded, field.name), getattr(plain, field.name)
        assert np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other, field.name


def test_blocks_of_molecules_join_to_the_same_set(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = parse_smiles([*STRANGE, *BAD], with_bonds=True)
    monkeypatch.setattr("bankgcn.data.readers.molecules.AT_ONCE", 3)
    assert (parse_smiles([*STRANGE, *BAD], with_bonds=True).bonds == whole.bonds).all()
    assert [one.place for one in whole.unreadable] == sorted(one.place for one in whole.unreadable)


def test_a_version_of_rdkit_with_another_layout_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = from_smiles(STRANGE).fingerprint
    real = atom_arrays.to_bytes
    monkeypatch.setattr(atom_arrays, "to_bytes", lambda molecule: real(molecule)[:30] + b"\0" + real(molecule)[30:])
    atom_arrays.bytes_are_known.cache_clear()
    try:
        assert not atom_arrays.bytes_are_known()
        assert from_smiles(STRANGE).fingerprint == expected
    finally:
        atom_arrays.bytes_are_known.cache_clear()


@pytest.mark.parametrize(
    ("smiles", "character"),
    [("Cé", "'é' (U+00E9)"), ("C(=O\u2013C", "'\u2013' (U+2013)"), ("C\ud800", "U+D800"), ("C\0C", "U+0000")],
)
def test_other_characters_than_those_of_smiles_are_named(smiles: str, character: str) -> None:
    with refused(GraphError, "molecule 1", character):
        from_smiles(["CC", smiles])
