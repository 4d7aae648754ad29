"""The nine features against what chemistry says of small molecules."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.data.features.atoms import ATOM_FEATURE_WIDTHS, ATOM_FEATURES, atom_features, atom_signals, bonds
from refusals import refused

Chem = pytest.importorskip("rdkit.Chem")


def _named(smiles: str) -> list[dict[str, object]]:
    """The features of each atom, translated back from their places in the lists."""
    return [
        {
            feature.name: feature.values[place] if place < len(feature.values) else "other"
            for feature, place in zip(ATOM_FEATURES, atom, strict=True)
        }
        for atom in atom_features(Chem.MolFromSmiles(smiles))
    ]


def test_the_widths_are_those_of_the_published_lists() -> None:
    assert ATOM_FEATURE_WIDTHS == (119, 5, 12, 12, 10, 6, 6, 2, 2)


def test_methyl_ammonium() -> None:
    carbon, nitrogen = _named("C[NH3+]")
    assert carbon == {
        "atomic number": 6,
        "chirality": "CHI_UNSPECIFIED",
        "degree": 4,
        "formal charge": 0,
        "hydrogens": 3,
        "radical electrons": 0,
        "hybridization": "SP3",
        "is aromatic": False,
        "is in ring": False,
    }
    assert (nitrogen["atomic number"], nitrogen["formal charge"], nitrogen["hydrogens"]) == (7, 1, 3)


def test_benzene_is_an_aromatic_ring() -> None:
    for carbon in _named("c1ccccc1"):
        assert (carbon["hybridization"], carbon["is aromatic"], carbon["is in ring"]) == ("SP2", True, True)


def test_mirror_images_differ_in_chirality_only() -> None:
    left, right = _named("N[C@@H](C)C(=O)O"), _named("N[C@H](C)C(=O)O")
    assert left[1].pop("chirality") == "CHI_TETRAHEDRAL_CW"
    assert right[1].pop("chirality") == "CHI_TETRAHEDRAL_CCW"
    assert left == right


def test_a_radical_has_an_electron_to_spare() -> None:
    assert _named("[CH3]")[0]["radical electrons"] == 1


def test_what_a_list_does_not_have_takes_its_last_place() -> None:
    dummy, *_ = atom_features(Chem.MolFromSmiles("*C"))  # an unknown atom has number 0
    assert dummy[0] == ATOM_FEATURE_WIDTHS[0] - 1
    (charged,) = atom_features(Chem.MolFromSmiles("[W+6]"))
    assert charged[3] == ATOM_FEATURE_WIDTHS[3] - 1
    (planar, *_) = atom_features(Chem.MolFromSmiles("[Pt@SP1](F)(Cl)(Br)I"))
    assert planar[1] == ATOM_FEATURE_WIDTHS[1] - 1


def test_bonds_stand_once() -> None:
    assert bonds(Chem.MolFromSmiles("CC=O")) == [(0, 1), (1, 2)]


def test_features_stay_integers_or_become_channels() -> None:
    features = np.array(atom_features(Chem.MolFromSmiles("CO")))
    raw = atom_signals(features, "raw")["attributes"]
    assert raw.dtype == np.float32
    assert (raw == features).all()
    onehot = atom_signals(features, "onehot")
    assert onehot["labels"] is features
    assert onehot["label_widths"] == ATOM_FEATURE_WIDTHS
    assert onehot["feature_spec"] == {"kind": "atoms", "features": "onehot"}
    with refused(ValueError, "'onehot'"):
        atom_signals(features, "one-hot")
