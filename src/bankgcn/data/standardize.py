"""Molecules as RDKit holds them, standardised where a user wishes: the largest fragment, neutral where RDKit can.

A set of standardised molecules keeps their text as the user wrote it. Its feature spec says that its graphs are
standardised, and so does that of a model trained on it: whoever reads the text again does the same. Isotopes, the
handedness of atoms and the direction of double bonds stay; tautomers are not unified.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdkit.Chem import Mol

STANDARDIZE = "standardize"
"""The entry of the feature spec of standardised molecules. It is there only if it is true: older specs lack it."""


@dataclass(frozen=True)
class Changes:
    """Numbers of molecules that standardising changed."""

    molecules: int = 0  # in all
    fragments: int = 0  # that lost fragments, such as counter-ions and solvents
    charges: int = 0  # that have other charges

    def __add__(self, other: Changes) -> Changes:
        """The numbers of both together."""
        return Changes(self.molecules + other.molecules, self.fragments + other.fragments, self.charges + other.charges)

    def note(self, total: int) -> str:
        """How many of the molecules changed, in words.

        Example:
            >>> print(Changes(3, 2, 2).note(10))
            3 of 10 molecules changed when they were standardised: 2 lost fragments, 2 have other charges
        """
        if not self.molecules:
            return f"none of {total:,} molecules changed when they were standardised"
        done = [
            *([f"{self.fragments:,} lost fragments"] if self.fragments else []),
            *([f"{self.charges:,} {'has' if self.charges == 1 else 'have'} other charges"] if self.charges else []),
        ]
        return f"{self.molecules:,} of {total:,} molecules changed when they were standardised: {', '.join(done)}"


UNCHANGED = Changes()


def is_standardized(spec: Mapping[str, Any]) -> bool:
    """Whether graphs with this feature spec are standardised molecules."""
    return bool(spec.get(STANDARDIZE))


def standardized(molecule: Mol) -> tuple[Mol, Changes]:
    """The largest fragment of a molecule, with charges neutralised where RDKit can, and what changed.

    The atoms that remain keep their order. The size of a fragment is its number of atoms with hydrogens, then its mass.

    Example:
        >>> from rdkit import Chem
        >>> acid, changes = standardized(Chem.MolFromSmiles("CC(=O)[O-].[Na+]"))
        >>> Chem.MolToSmiles(acid), changes
        ('CC(=O)O', Changes(molecules=1, fragments=1, charges=1))
    """
    from rdkit import Chem
    from rdkit.Chem.MolStandardize import rdMolStandardize
    from rdkit.rdBase import BlockLogs

    several = len(Chem.GetMolFrags(molecule)) > 1
    if not several and not molecule.HasSubstructMatch(_charged_atom()):  # most molecules: they stay as RDKit read them
        return molecule, UNCHANGED
    with BlockLogs():
        largest = rdMolStandardize.LargestFragmentChooser().choose(molecule) if several else molecule
        charges = _charges(largest)
        neutral = rdMolStandardize.Uncharger().uncharge(largest) if any(charges) else largest
        # What RDKit derived from the charges and from the other fragments may be wrong by now.
        Chem.SanitizeMol(neutral)
        Chem.AssignStereochemistry(neutral, cleanIt=True, force=True)
    neutralised = _charges(neutral) != charges
    if not several and not neutralised:
        return molecule, UNCHANGED
    return neutral, Changes(1, int(several), int(neutralised))


def molecule_of(smiles: str, standardize: bool) -> Mol | None:
    """RDKit's molecule of a SMILES, standardised if the graphs are; ``None`` if RDKit cannot read it."""
    from rdkit.Chem import MolFromSmiles
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        molecule: Mol | None = MolFromSmiles(smiles)  # RDKit's type hints omit None
        return standardized(molecule)[0] if molecule is not None and standardize else molecule


@cache
def _charged_atom() -> Mol:
    """A query for an atom with a charge, which takes a tenth of the time of asking each atom."""
    from rdkit.Chem import MolFromSmarts

    return MolFromSmarts("[!+0]")


def _charges(molecule: Mol) -> list[int]:
    return [atom.GetFormalCharge() for atom in molecule.GetAtoms()]
