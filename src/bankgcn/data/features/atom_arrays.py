"""Atoms and bonds of molecules as arrays: asked from RDKit one by one, or decoded from the bytes of many molecules.

The features are defined in :mod:`bankgcn.data.features.atoms`, which asks RDKit for each of them. That takes several
times as long as reading the molecule. Its bytes hold all of them, and :mod:`bankgcn.kernels.molecules` decodes them.
RDKit does not document their layout. So each process first decodes some molecules with all that is known, and asks
RDKit for the same. If the two differ, it asks RDKit from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.features.atoms import (
    ATOM_FEATURES,
    BOND_FEATURES,
    BOND_STEREO,
    BOND_TYPES,
    OTHER_BOND,
    atom_features,
    bond_features,
    bonds,
)
from bankgcn.kernels import switched_on

if TYPE_CHECKING:
    from rdkit.Chem import Mol

WORTH_LOADING = 500  # molecules: asking RDKit for all of each takes about as long as loading the kernel
TRIALS = (
    "C",
    "CC(=O)O",
    "C#N",
    "c1ccc2[nH]ccc2c1",  # two rings that share a bond
    "C1CC2CC1CC2",
    "C12C3C4C1C5C2C3C45",  # more rings than independent ones
    "F/C=C/F",
    "F/C=C\\F",
    "N[C@@H](C)C(=O)O",
    "N[C@H](C)C(=O)O",
    "[Pt@SP1](F)(Cl)(Br)I",
    "[NH4+].[O-]S(=O)(=O)[O-]",
    "[W+6]",
    "[CH3]",
    "[O][O]",
    "[13CH3:7][2H]",
    "[NH3]->[Pt](Cl)Cl",
    "FS(F)(F)(F)(F)F",
    "FP(F)(F)(F)F",
    "[H][H]",
    "[U]" + "([H])" * 10,
    "C1" + "C" * 260 + "C1/C=C/C",  # more atoms than one byte can number
)
"""Molecules with each kind of value that the bytes may have."""


class AtomArrays(NamedTuple):
    """Atoms and bonds of some molecules, one molecule after another. Atoms are counted within their molecule."""

    num_atoms: NDArray[np.int64]  # (M,)
    num_bonds: NDArray[np.int64]  # (M,)
    features: NDArray[np.int64]  # (atoms, 9)
    ends: NDArray[np.int64]  # (bonds, 2)
    bond_features: NDArray[np.int64]  # (bonds, 4)

    @classmethod
    def of(cls, molecule: Mol) -> AtomArrays:
        """Those of one molecule, with what RDKit says of each feature: the definition."""
        features, ends = atom_features(molecule), bonds(molecule)
        return cls(
            np.array([len(features)]),
            np.array([len(ends)]),
            np.array(features, np.int64).reshape(-1, len(ATOM_FEATURES)),
            np.array(ends, np.int64).reshape(-1, 2),
            np.array(bond_features(molecule), np.int64).reshape(-1, len(BOND_FEATURES)),
        )

    @classmethod
    def join(cls, pieces: Sequence[AtomArrays]) -> AtomArrays:
        """The molecules of all pieces."""
        nothing = cls(*(np.empty(shape, np.int64) for shape in ((0,), (0,), (0, 9), (0, 2), (0, 4))))
        return cls(*(np.concatenate(parts) for parts in zip(*(pieces or [nothing]), strict=True)))

    def each(self) -> list[AtomArrays]:
        """The molecules one by one. A refused one has no rows."""
        atoms = np.cumsum(self.num_atoms.clip(0))[:-1]
        of_bonds = np.cumsum(self.num_bonds.clip(0))[:-1]
        return [
            AtomArrays(*parts)
            for parts in zip(
                self.num_atoms[:, None],
                self.num_bonds[:, None],
                np.split(self.features, atoms),
                np.split(self.ends, of_bonds),
                np.split(self.bond_features, of_bonds),
                strict=True,
            )
        ]


def to_bytes(molecule: Mol) -> bytes:
    """The bytes that RDKit writes of a molecule, without properties such as its name."""
    return molecule.ToBinary(0)


def decode_bytes(records: Sequence[bytes]) -> AtomArrays:
    """The molecules with these bytes; what the kernel refuses has -1 atoms and bonds, and no rows."""
    from bankgcn.kernels.molecules import decode

    starts = np.zeros(len(records) + 1, np.int64)
    np.cumsum([len(record) for record in records], out=starts[1:])
    codes = _codes()
    features, ends, of_bonds, counts = decode(np.frombuffer(b"".join(records), np.uint8), starts, *codes)
    return AtomArrays(counts[:, 0], counts[:, 1], features, ends, of_bonds)


def decodes(count: int) -> bool:
    """Whether to decode the bytes of so many molecules: a few are not worth the time to load and check the kernel."""
    loaded = bytes_are_known.cache_info().currsize > 0
    return switched_on() and (loaded or count >= WORTH_LOADING) and bytes_are_known()


@cache
def bytes_are_known() -> bool:
    """Whether this version of RDKit writes the bytes that the kernel knows: those of all trials are decoded right."""
    from rdkit.Chem import MolFromSmiles
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        read = [MolFromSmiles(smiles) for smiles in TRIALS]
    molecules = [molecule for molecule in read if molecule is not None]
    decoded = decode_bytes([to_bytes(molecule) for molecule in molecules])
    expected = AtomArrays.join([AtomArrays.of(molecule) for molecule in molecules])
    return all(map(np.array_equal, decoded, expected))


@cache
def _codes() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each byte that stands for a value, the feature: of atoms, shape ``(9, 256)``, and of bonds, ``(4, 256)``."""
    from rdkit import Chem

    signed = np.arange(256, dtype=np.uint8).view(np.int8).tolist()
    values: Mapping[str, Any] = {
        "chirality": _enum_names(Chem.ChiralType),
        "hybridization": _enum_names(Chem.HybridizationType),
        "formal charge": signed,
    }
    atoms = [[feature.place(value) for value in values.get(feature.name, range(256))] for feature in ATOM_FEATURES]
    of_bonds = [
        [BOND_TYPES.get(name, OTHER_BOND) for name in _enum_names(Chem.BondType)],
        [min(value, 1) for value in range(256)],
        [min(value, 1) for value in range(256)],
        [BOND_STEREO.get(name, 0) for name in _enum_names(Chem.BondStereo)],
    ]
    return np.array(atoms, np.int64), np.array(of_bonds, np.int64)


def _enum_names(kind: Any) -> list[str]:
    """The name of each number of one of RDKit's lists of values; nothing where it has none."""
    return [kind.values[number].name if number in kind.values else "" for number in range(256)]
