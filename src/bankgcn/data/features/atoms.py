"""The nine integer features that the Open Graph Benchmark gives an atom, and the bonds between atoms.

Each feature is the index of its value in a published list; a value that is not in the list has the last index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bankgcn.settings import pick

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rdkit.Chem import Atom, Mol


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


def atom_signals(features: NDArray[np.integer], kind: str) -> dict[str, Any]:
    """Keyword arguments of ``GraphSet.from_edges`` for the features of atoms.

    Args:
        features: The nine integers of each atom, shape ``(num_atoms, 9)``.
        kind: ``"raw"``: nine columns of integers, which the network takes directly or through its ``AtomEncoder``.
            ``"onehot"``: one column for each value of each feature, 174 in all, expanded batch by batch.
    """
    signals = pick(_SIGNALS, kind, "kind of atom features")(features)
    return {**signals, "feature_spec": {"kind": "atoms", "features": kind}}


_SIGNALS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "raw": lambda features: {"attributes": features.astype("float32")},
    "onehot": lambda features: {"labels": features, "label_widths": ATOM_FEATURE_WIDTHS},
}
