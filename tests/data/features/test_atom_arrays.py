"""Bytes that RDKit writes of molecules, beside what it answers for each of their atoms and bonds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bankgcn.data.features.atom_arrays import TRIALS, AtomArrays, bytes_are_known, decode_bytes, to_bytes
from molecule_examples import STRANGE

Chem = pytest.importorskip("rdkit.Chem")

ALL = [*STRANGE, *TRIALS]
REFUSED = ["*", "*CC"]  # with a label, whose bytes are not known


def _read(smiles: str) -> Any:
    molecule = Chem.MolFromSmiles(smiles)
    assert molecule is not None
    return molecule


@pytest.mark.parametrize("smiles", [smiles for smiles in ALL if smiles not in [*REFUSED, "C~C", "[CH3:500]C"]])
def test_a_decoded_molecule_has_the_features_that_rdkit_answers(smiles: str) -> None:
    molecule = _read(smiles)
    for decoded, expected in zip(decode_bytes([to_bytes(molecule)]), AtomArrays.of(molecule), strict=True):
        assert (decoded == expected).all()
        assert decoded.shape == expected.shape


def test_this_version_of_rdkit_writes_the_known_bytes() -> None:
    assert bytes_are_known()


def test_molecules_stay_apart_and_refused_ones_have_no_rows() -> None:
    molecules = [_read(smiles) for smiles in ALL]
    for molecule, decoded in zip(molecules, decode_bytes([to_bytes(one) for one in molecules]).each(), strict=True):
        if decoded.num_atoms[0] < 0:
            assert not len(decoded.features) + len(decoded.ends) + len(decoded.bond_features)
        else:
            assert all(map(np.array_equal, decoded, AtomArrays.of(molecule)))
    assert (decode_bytes([to_bytes(_read(smiles)) for smiles in REFUSED]).num_atoms < 0).all()


def _with_coordinates(molecule: Any) -> Any:
    from rdkit.Chem.rdDepictor import Compute2DCoords

    Compute2DCoords(molecule)
    return molecule


def _with_properties(molecule: Any) -> Any:
    molecule.SetProp("_Name", "two")
    molecule.GetAtomWithIdx(0).SetProp("note", "one")
    return molecule


GIVEN: list[Callable[[], Any]] = [
    lambda: _with_coordinates(_read("CC(=O)O")),
    lambda: _with_properties(_read("CC(=O)O")),
    lambda: Chem.MolFromSequence("AG"),  # whose atoms name their residues
    lambda: Chem.MolFromSmarts("[C,N]-[#6]"),
    lambda: Chem.MolFromSmiles("C1CC1", sanitize=False),
    lambda: Chem.Mol(),
]


@pytest.mark.parametrize("make", GIVEN)
def test_molecules_from_elsewhere_are_decoded_right_or_refused(make: Callable[[], Any]) -> None:
    molecule = make()
    decoded = decode_bytes([to_bytes(molecule)])
    if decoded.num_atoms[0] >= 0:
        assert all(map(np.array_equal, decoded, AtomArrays.of(molecule)))


def test_bytes_that_end_early_or_are_wrong_give_no_atom_that_is_not_there() -> None:
    generator = np.random.default_rng(0)
    for smiles in ("C/C=C/[C@H](N)c1cc[nH]c1", "[13CH3:7][NH3+]", "C" * 256):
        whole = to_bytes(_read(smiles))
        bonds_end = whole.rindex(b"\x42")
        cut = [whole[:length] for length in range(0, bonds_end, 1 + len(whole) // 200)]
        assert (decode_bytes(cut).num_atoms < 0).all()
        damaged = [bytearray(whole) for _ in range(500)]
        for record in damaged:
            record[generator.integers(len(whole))] = generator.integers(256)
        for one in decode_bytes([bytes(record) for record in damaged]).each():
            assert one.num_atoms[0] < 0 or ((one.ends >= 0) & (one.ends < one.num_atoms[0])).all()


def test_there_may_be_no_molecules() -> None:
    assert len(decode_bytes([]).num_atoms) == len(AtomArrays.join([]).features) == 0
