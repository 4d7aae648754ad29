"""Which molecules are refused before RDKit works on them: no molecules at all, or too large.

RDKit reads counts of hydrogens and charges modulo 256, so that ``[CH256]`` is a bare carbon, and looks for rings in
time and memory that grow with the square of their size: a ring of 10,000 atoms takes 3.5 GB, and a net of 400 atoms
with ten bonds each ends the process. The limits are far above what such molecules have, and below what hurts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdkit.Chem import Mol

MAX_ATOMS = 10_000
MAX_RINGS = 1_000  # independent ones: bonds - atoms + parts
MAX_RING_SYSTEM = (1_000, 400)  # atoms and independent rings of rings that share bonds; C720 has 720 and 361
MAX_CHARACTERS = 40 * MAX_ATOMS  # of a SMILES, with coordinates after it
MAX_HYDROGENS = 9  # of one atom: in OpenSMILES, the number is one digit
MAX_CHARGE = 15  # OpenSMILES, too
MAX_ELEMENT = 118

ADVICE = "leave it out, or give it as a graph in JSON lines"
HARMLESS = 2 * MAX_RING_SYSTEM[1]  # characters: a SMILES spends one on each atom, and two on each ring

_FOREIGN = re.compile(r"[^\t -~]")  # neither printable ASCII nor the tab before an extension
_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_HYDROGENS = re.compile(r"(?<!@[TO])H(\d+)")  # @TH1 and @OH12 are chiralities
_CHARGE = re.compile(r"[+-](\d+)")
_SIGNS = re.compile(r"\+{2,}|-{2,}")
_ELEMENT = re.compile(r"#(\d+)")


def wrong_text(smiles: str) -> str | None:
    """Why a text cannot be a SMILES, before RDKit reads it; ``None`` if it may be one."""
    words = smiles.split(maxsplit=1)
    if len(words) > 1 and not words[1].startswith("|"):  # an extended SMILES; RDKit ignores anything else as a name
        return f"has a blank before {_shortened(words[1])!r}, but a SMILES has none"
    if foreign := _FOREIGN.search(smiles.strip()):
        letter = foreign[0]
        return f"has the character {letter!r} (U+{ord(letter):04X}), which no SMILES has: write it in plain ASCII"
    if len(smiles) > MAX_CHARACTERS:
        return f"has {len(smiles):,} characters, and a SMILES may have {MAX_CHARACTERS:,}: {ADVICE}"
    for bracket in _BRACKETS.findall(words[0] if words else ""):
        if reason := _wrong_counts(bracket):
            return f"{_shortened(bracket)!r} has {reason}"
    return None


def _wrong_counts(bracket: str) -> str | None:
    """What is wrong with the numbers of an atom in brackets."""
    for pattern, limit, what in (
        (_HYDROGENS, MAX_HYDROGENS, "hydrogens, and an atom may have"),
        (_CHARGE, MAX_CHARGE, "charges, and an atom may have"),
        (_ELEMENT, MAX_ELEMENT, "as the number of its element, and the largest is"),
    ):
        for digits in pattern.findall(bracket):
            if len(digits.lstrip("0")) > len(str(limit)) or int(digits) > limit:
                return f"{_shortened(digits)} {what} {limit}"
    signs = max(map(len, _SIGNS.findall(bracket)), default=0)
    return f"{signs} charges, and an atom may have {MAX_CHARGE}" if signs > MAX_CHARGE else None


def too_large(molecule: Mol) -> str | None:
    """Why a molecule is too large for RDKit's search for rings; ``None`` if it is not.

    Args:
        molecule: The molecule, before RDKit checked its chemistry.
    """
    atoms = molecule.GetNumAtoms()
    if atoms > MAX_ATOMS:
        return f"has {atoms:,} atoms, and a molecule may have {MAX_ATOMS:,}: {ADVICE}"
    bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    systems = ring_systems(atoms, bonds)
    rings = sum(own for _, own in systems)
    if rings > MAX_RINGS:
        return f"has {rings:,} rings, and a molecule may have {MAX_RINGS:,}: {ADVICE}"
    for sizes in systems:
        for count, limit, what in zip(sizes, MAX_RING_SYSTEM, ("atoms", "rings"), strict=True):
            if count > limit:
                return f"has {count:,} {what} in one system of rings, which may have {limit:,}: {ADVICE}"
    return None


def implausible(molecule: Mol) -> str | None:
    """Why no such molecule exists, though RDKit has read it; ``None`` if it may."""
    for atom in molecule.GetAtoms():
        hydrogens, charge = atom.GetTotalNumHs(), atom.GetFormalCharge()
        if hydrogens > MAX_HYDROGENS:
            return f"atom # {atom.GetIdx()} has {hydrogens} hydrogens, and an atom may have {MAX_HYDROGENS}"
        if abs(charge) > MAX_CHARGE:
            return f"atom # {atom.GetIdx()} has the charge {charge}, and an atom may have {MAX_CHARGE}"
    return None


def ring_systems(num_atoms: int, bonds: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Numbers of atoms and of independent rings of each part that stays connected when any one bond is cut.

    Example:
        >>> ring_systems(5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)])  # a triangle with a tail
        [(3, 1)]
    """
    parent, depth, closures = _spanning_forest(num_atoms, bonds)
    joined_to = list(range(num_atoms))  # towards the first atom of its ring system

    def first(atom: int) -> int:
        while joined_to[atom] != atom:
            joined_to[atom] = joined_to[joined_to[atom]]
            atom = joined_to[atom]
        return atom

    for begin, end in closures:  # the bond and the paths up to where they meet are one ring
        one, other = first(begin), first(end)
        while one != other:
            if depth[one] < depth[other]:
                one, other = other, one
            joined_to[one] = parent[one]
            one = first(one)
    atoms, rings = Counter(map(first, range(num_atoms))), Counter(first(begin) for begin, _ in closures)
    return [(atoms[top], count) for top, count in rings.items()]


def _spanning_forest(
    num_atoms: int, bonds: Sequence[tuple[int, int]]
) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Parent and depth of each atom in a tree of each part, and the bonds that are in no tree: each closes a ring."""
    neighbors: list[list[int]] = [[] for _ in range(num_atoms)]
    for begin, end in bonds:
        neighbors[begin].append(end)
        neighbors[end].append(begin)
    parent, depth = [-1] * num_atoms, [-1] * num_atoms
    for root in range(num_atoms):
        waiting = [root] if depth[root] < 0 else []
        depth[root] = max(depth[root], 0)
        for atom in waiting:  # which grows: breadth first, without recursion
            for other in neighbors[atom]:
                if depth[other] < 0:
                    parent[other], depth[other] = atom, depth[atom] + 1
                    waiting.append(other)
    closures = [(begin, end) for begin, end in bonds if parent[begin] != end and parent[end] != begin]
    return parent, depth, closures


def _shortened(text: str, longest: int = 40) -> str:
    return text if len(text) <= longest else text[:longest] + "..."
