"""The nine integer features that the Open Graph Benchmark gives an atom, and the bonds between atoms with theirs.

Each feature is the index of its value in a published list; a value that is not in the list has the last index. Bonds
have four features, which RDKit computes, and which follow from the files of the Open Graph Benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bankgcn.settings import pick

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rdkit.Chem import Atom, Bond, Mol

    from bankgcn.data.graphs import GraphSet


@dataclass(frozen=True)
class AtomFeature:
    """One of the nine features: the list of its values, and how RDKit computes it."""

    name: str
    values: tuple[object, ...]  # the index of a value is the feature
    read: Callable[[Atom], object]
    has_other: bool = True  # one more index, for any other value

    @property
    def width(self) -> int:
        """Number of values that the feature can have."""
        return len(self.values) + self.has_other

    def place(self, value: object) -> int:
        """The feature of an atom with this value: its place in the list, or the last one."""
        return self.values.index(value) if value in self.values else len(self.values)


HYBRIDIZATIONS = ("SP", "SP2", "SP3", "SP3D", "SP3D2")
CHIRALITIES = ("CHI_UNSPECIFIED", "CHI_TETRAHEDRAL_CW", "CHI_TETRAHEDRAL_CCW", "CHI_OTHER")
FALSE_TRUE = (False, True)

ATOM_FEATURES = (
    AtomFeature("atomic number", tuple(range(1, 119)), lambda atom: atom.GetAtomicNum()),
    AtomFeature("chirality", CHIRALITIES, lambda atom: atom.GetChiralTag().name),
    AtomFeature("degree", tuple(range(11)), lambda atom: atom.GetTotalDegree()),  # with the hydrogens left out
    AtomFeature("formal charge", tuple(range(-5, 6)), lambda atom: atom.GetFormalCharge()),
    AtomFeature("hydrogens", tuple(range(9)), lambda atom: atom.GetTotalNumHs()),
    AtomFeature("radical electrons", tuple(range(5)), lambda atom: atom.GetNumRadicalElectrons()),
    AtomFeature("hybridization", HYBRIDIZATIONS, lambda atom: atom.GetHybridization().name),
    AtomFeature("is aromatic", FALSE_TRUE, lambda atom: atom.GetIsAromatic(), has_other=False),
    AtomFeature("is in ring", FALSE_TRUE, lambda atom: atom.IsInRing(), has_other=False),
)
ATOM_FEATURE_WIDTHS = tuple(feature.width for feature in ATOM_FEATURES)  # 119, 5, 12, 12, 10, 6, 6, 2, 2

_PLACES = tuple(
    (feature.read, {value: place for place, value in enumerate(feature.values)}, len(feature.values))
    for feature in ATOM_FEATURES
)


def atom_features(molecule: Mol) -> list[list[int]]:
    """The nine features of each atom of an RDKit molecule, in the order of its atoms."""
    return [[places.get(read(atom), other) for read, places, other in _PLACES] for atom in molecule.GetAtoms()]


def bonds(molecule: Mol) -> list[tuple[int, int]]:
    """The two atoms of each bond; every bond once."""
    return [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]


BOND_TYPES = {"SINGLE": 0, "DOUBLE": 1, "TRIPLE": 2, "AROMATIC": 3}
OTHER_BOND = len(BOND_TYPES)
BOND_STEREO = {"STEREOE": 1, "STEREOTRANS": 1, "STEREOZ": 2, "STEREOCIS": 2}  # other values say nothing of the shape


class BondFeature(NamedTuple):
    """One of the features of a bond: its name, its values, and which of them a bond has, as an index."""

    name: str
    values: tuple[str, ...]
    read: Callable[[Bond], int]


BOND_FEATURES = (
    BondFeature(
        "type",
        ("single", "double", "triple", "aromatic", "other"),
        lambda bond: BOND_TYPES.get(bond.GetBondType().name, OTHER_BOND),
    ),
    BondFeature("conjugated", ("no", "yes"), lambda bond: int(bond.GetIsConjugated())),
    BondFeature("in ring", ("no", "yes"), lambda bond: int(bond.IsInRing())),
    BondFeature("stereo", ("none", "E", "Z"), lambda bond: BOND_STEREO.get(bond.GetStereo().name, 0)),
)
BOND_FEATURE_WIDTHS = tuple(len(feature.values) for feature in BOND_FEATURES)
BOND_SPEC = {"kind": "bonds"}


def bond_features(molecule: Mol) -> list[list[int]]:
    """The features of each bond of an RDKit molecule, in the order of :func:`bonds`.

    Where RDKit states cis or trans in place of Z or E, these refer to atoms that it chose; they count as Z and E.
    """
    return [[feature.read(bond) for feature in BOND_FEATURES] for bond in molecule.GetBonds()]


def bond_signals(features: NDArray[np.integer]) -> dict[str, Any]:
    """Keyword arguments of ``GraphSet.from_edges`` for the four integers of each bond, shape ``(num_bonds, 4)``.

    Every bond is an edge in one direction; then all are edges in the other one.
    """
    return {
        "edge_labels": np.concatenate([features, features]),
        "edge_label_widths": BOND_FEATURE_WIDTHS,
        "edge_spec": BOND_SPEC,
    }


def atom_signals(features: NDArray[np.integer], kind: str) -> dict[str, Any]:
    """Keyword arguments of ``GraphSet.from_edges`` for the features of atoms.

    Args:
        features: The nine integers of each atom, shape ``(num_atoms, 9)``.
        kind: ``"raw"``: nine columns of integers, which the network takes directly or through its ``AtomEncoder``.
            ``"onehot"``: one column for each value of each feature, 174 in all, expanded batch by batch.
    """
    signals = pick(_SIGNALS, kind, "kind of atom features")(features)
    return {**signals, "feature_spec": {"kind": "atoms", "features": kind}}


def with_atoms(graphs: GraphSet, kind: str) -> GraphSet:
    """The same molecules with the features of their atoms in another form: ``"raw"`` or ``"onehot"``.

    Graphs of another kind stay as they are, and atoms with a value that the published lists do not have.
    """
    spec, columns = graphs.feature_spec, len(ATOM_FEATURE_WIDTHS)
    if spec.get("kind") != "atoms" or spec["features"] == kind:
        return graphs
    values = graphs.labels if spec["features"] == "onehot" else graphs.attributes
    if values is None or values.shape[1] != columns or not ((values >= 0) & (values < ATOM_FEATURE_WIDTHS)).all():
        return graphs
    signals = atom_signals(values.astype(np.int64), kind)
    return graphs.with_signals(**signals | {"feature_spec": {**spec, "features": kind}})


_SIGNALS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "raw": lambda features: {"attributes": features.astype("float32")},
    "onehot": lambda features: {"labels": features, "label_widths": ATOM_FEATURE_WIDTHS},
}
