"""Atoms and bonds of molecules from the bytes that RDKit writes of them.

Asking RDKit for each feature of each atom from Python takes several times as long as reading the molecule. Its bytes
hold all of them, one atom after another, and one call writes them. A molecule with anything that is not known here,
such as an atom with a query, is refused, and the caller asks RDKit. The plain twin, and the check that RDKit writes
this layout, are in :mod:`bankgcn.data.features.atom_arrays`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import jit_cached, jit_inner

NUM_ATOMS, NUM_BONDS, FLAGS, FIRST_ATOM = 20, 24, 28, 30  # where these stand; a tag is before the first atom
PLAIN = 0x80  # the flags of a molecule without coordinates
SHORT = 255  # larger molecules number their atoms by four bytes instead of one
LEAST_ATOM, LEAST_BOND = 6, 3  # bytes
ATOMS, BONDS, RINGS, MAP_NUMBER = 0x01, 0x0B, 0x42, 0x18  # tags before what follows

AROMATIC, NO_IMPLICIT, MAPPED = 0x40, 0x20, 0x08  # flags of an atom
# Values of an atom, in this order; each has a bit that says whether it is there, or is the usual one.
CHARGE, CHIRALITY, HYBRIDIZATION, HYDROGENS, VALENCE, IMPLICIT, RADICALS, ISOTOPE = (1 << bit for bit in range(1, 9))
USUAL_HYBRIDIZATION = 4  # sp3
BOND_AROMATIC, CONJUGATED, OTHER_TYPE, DIRECTION, STEREO = 0x40, 0x20, 0x08, 0x04, 0x02  # flags of a bond
SINGLE = 1
REFUSED = -1


def decode(
    records: NDArray[np.uint8],
    starts: NDArray[np.int64],
    atom_codes: NDArray[np.int64],
    bond_codes: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The features of atoms, the bonds, their features, and the numbers of atoms and bonds of each molecule.

    Args:
        records: The bytes of all molecules, one after another.
        starts: Where each begins, and where the last ends, shape ``(M + 1,)``.
        atom_codes: Each feature for each value of RDKit's, as a byte, shape ``(9, 256)``.
        bond_codes: The same for bonds, shape ``(4, 256)``.

    Returns:
        Arrays of shapes ``(atoms, 9)``, ``(bonds, 2)``, ``(bonds, 4)`` and ``(M, 2)``. Atoms are counted within their
        molecule. One that is refused has no rows, and -1 atoms and bonds.
    """
    features = np.empty((len(records) // LEAST_ATOM, len(atom_codes)), np.int64)
    ends = np.empty((len(records) // LEAST_BOND, 2), np.int64)
    bond_features = np.empty((len(ends), len(bond_codes)), np.int64)
    counts = np.empty((len(starts) - 1, 2), np.int64)
    atoms, bonds = _decode(records, starts, atom_codes, bond_codes, features, ends, bond_features, counts)
    return features[:atoms], ends[:bonds], bond_features[:bonds], counts


@jit_inner
def _number(record, place):
    """The integer in four bytes; the lowest is first."""
    value = 0
    for byte in range(4):
        value |= np.int64(record[place + byte]) << (8 * byte)
    return value - (1 << 32) if value >= 1 << 31 else value


@jit_inner
def _decode_atoms(record, codes, features):
    """Write the features of all atoms but degree and ring; return where the bonds begin."""
    place, end = FIRST_ATOM, len(record)
    known = CHARGE | CHIRALITY | HYBRIDIZATION | HYDROGENS | VALENCE | IMPLICIT | RADICALS | ISOTOPE
    for atom in range(len(features)):
        if place + LEAST_ATOM > end:
            return REFUSED
        element, flags, values = record[place], record[place + 1], _number(record, place + 2)
        place += LEAST_ATOM
        if flags & ~(AROMATIC | NO_IMPLICIT | MAPPED) or values & ~known or (flags & NO_IMPLICIT and values & IMPLICIT):
            return REFUSED
        charge = chirality = hydrogens = radicals = 0
        hybridization = USUAL_HYBRIDIZATION
        for bit in range(1, 8):
            value = 1 << bit
            if not values & value:
                continue
            if place >= end:
                return REFUSED
            byte = np.int64(record[place])
            place += 1
            if value == CHARGE:
                charge = byte
            elif value == CHIRALITY:
                chirality = byte
            elif value == HYBRIDIZATION:
                hybridization = byte
            elif value in (HYDROGENS, IMPLICIT):
                hydrogens += byte
            elif value == RADICALS:
                radicals = byte
        place += 4 if values & ISOTOPE else 0
        if flags & MAPPED:
            if place + 2 > end or record[place] != MAP_NUMBER:
                return REFUSED
            place += 2
        hydrogens = min(hydrogens, 255)
        row = features[atom]
        row[0], row[1], row[3] = codes[0, element], codes[1, chirality], codes[3, charge]
        row[2] = hydrogens  # the bonds are added, and then its code is looked up
        row[4], row[5], row[6] = codes[4, hydrogens], codes[5, radicals], codes[6, hybridization]
        row[7], row[8] = codes[7, 1 if flags & AROMATIC else 0], codes[8, 0]
    return place


@jit_inner
def _decode_bonds(record, place, width, codes, features, ends, bond_features):
    """Write bonds and their features but ring, and count the bonds of each atom; return where the rings begin."""
    end, atoms = len(record), len(features)
    for bond in range(len(ends)):
        if place + 2 * width + 1 > end:
            return REFUSED
        for side in range(2):
            atom = _number(record, place) if width == 4 else np.int64(record[place])
            if atom < 0 or atom >= atoms:
                return REFUSED
            ends[bond, side] = atom
            features[atom, 2] += 1
            place += width
        flags = record[place]
        place += 1
        if flags & ~(BOND_AROMATIC | CONJUGATED | OTHER_TYPE | DIRECTION | STEREO):
            return REFUSED
        kind, stereo = SINGLE, 0
        if flags & OTHER_TYPE:
            if place >= end:
                return REFUSED
            kind = np.int64(record[place])
            place += 1
        place += 1 if flags & DIRECTION else 0
        if flags & STEREO:
            if place + 2 > end:
                return REFUSED
            stereo = np.int64(record[place])
            place += 2 + width * np.int64(record[place + 1])
        row = bond_features[bond]
        row[0], row[1], row[2] = codes[0, kind], codes[1, 1 if flags & CONJUGATED else 0], codes[2, 0]
        row[3] = codes[3, stereo]
    return place


@jit_inner
def _mark_rings(record, place, width, atom_codes, bond_codes, features, ends, bond_features):
    """Set the features of atoms and bonds in rings; return where the bytes go on."""
    end, atoms = len(record), len(features)
    if place + 5 > end or record[place] != RINGS:
        return REFUSED
    rings = _number(record, place + 1)
    place += 5
    position = np.full(atoms, -1)  # of each atom in the ring
    for _ in range(rings):
        if place + width > end:
            return REFUSED
        size = _number(record, place) if width == 4 else np.int64(record[place])
        place += width
        if size < 0 or place + width * size > end:
            return REFUSED
        position[:] = -1
        for k in range(size):
            atom = _number(record, place) if width == 4 else np.int64(record[place])
            if atom < 0 or atom >= atoms:
                return REFUSED
            position[atom] = k
            features[atom, 8] = atom_codes[8, 1]
            place += width
        for bond in range(len(ends)):
            begin, other = position[ends[bond, 0]], position[ends[bond, 1]]
            if begin >= 0 and other >= 0 and (abs(begin - other) == 1 or abs(begin - other) == size - 1):
                bond_features[bond, 2] = bond_codes[2, 1]
    return place


@jit_inner
def _decode_molecule(record, atom_codes, bond_codes, features, ends, bond_features):
    """Write the rows of one molecule; return where its bytes go on."""
    width = 1 if len(features) <= SHORT else 4
    place = _decode_atoms(record, atom_codes, features)
    if place < 0 or place >= len(record) or record[place] != BONDS:
        return REFUSED
    place = _decode_bonds(record, place + 1, width, bond_codes, features, ends, bond_features)
    for atom in range(len(features)):
        features[atom, 2] = atom_codes[2, min(features[atom, 2], 255)]
    if place < 0:
        return REFUSED
    return _mark_rings(record, place, width, atom_codes, bond_codes, features, ends, bond_features)


@jit_cached
def _decode(records, starts, atom_codes, bond_codes, features, ends, bond_features, counts):
    """See :func:`decode`."""
    atoms = bonds = 0
    for molecule in range(len(counts)):
        counts[molecule, 0] = counts[molecule, 1] = REFUSED
        record = records[starts[molecule] : starts[molecule + 1]]
        if len(record) < FIRST_ATOM or record[FLAGS] != PLAIN or record[FIRST_ATOM - 1] != ATOMS:
            continue
        own_atoms, own_bonds = _number(record, NUM_ATOMS), _number(record, NUM_BONDS)
        if own_atoms < 1 or own_bonds < 0 or LEAST_ATOM * own_atoms + LEAST_BOND * own_bonds > len(record):
            continue
        last_atom, last_bond = atoms + own_atoms, bonds + own_bonds
        parts = features[atoms:last_atom], ends[bonds:last_bond], bond_features[bonds:last_bond]
        if _decode_molecule(record, atom_codes, bond_codes, *parts) >= 0:
            counts[molecule, 0], counts[molecule, 1] = own_atoms, own_bonds
            atoms, bonds = last_atom, last_bond
    return atoms, bonds
