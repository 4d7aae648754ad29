"""Graphs of atoms and bonds from molecules written as SMILES.

Needs RDKit: ``pip install 'bankgcn[molecules]'``.

Some molecules are refused before RDKit works on them: no molecules at all, or too large. RDKit reads counts of
hydrogens and charges modulo 256, so that ``[CH256]`` is a bare carbon, and looks for rings in time and memory that grow
with the square of their size: a ring of 10,000 atoms takes 3.5 GB, and a net of 400 atoms with ten bonds each ends the
process. The limits are far above what such molecules have, and below what hurts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bankgcn.data import GraphError
from bankgcn.data.edge_data import BONDS, edge_note
from bankgcn.data.features.atom_arrays import AtomArrays, decode_bytes, decodes, to_bytes
from bankgcn.data.features.atoms import ATOM_FEATURES, atom_signals, bond_signals
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers import left_out_note
from bankgcn.data.standardize import STANDARDIZE, UNCHANGED, Changes, is_standardized, standardized
from bankgcn.data.target_values import Target, TargetError, Targets, encode_targets
from bankgcn.extras import require
from bankgcn.messages import Message, advise

if TYPE_CHECKING:
    from rdkit.Chem import Mol
    from torch import Tensor

Features = Literal["raw", "onehot"]
Result = TypeVar("Result")

SHOWN = 5  # molecules that a message lists
SHOWN_CHARACTERS = 60  # of each name in a message
AT_ONCE = 1_024  # molecules whose bytes are in memory together

_CHARGE, _HYDROGENS = (
    next(place for place, feature in enumerate(ATOM_FEATURES) if feature.name == name)
    for name in ("formal charge", "hydrogens")
)
_OTHER_CHARGE, _OTHER_HYDROGENS = (len(ATOM_FEATURES[place].values) for place in (_CHARGE, _HYDROGENS))


@dataclass(frozen=True)
class Unreadable:
    """A molecule that RDKit cannot read."""

    place: int  # in the list, counted from 0
    name: str
    reason: str


@dataclass(frozen=True)
class Molecules:
    """The molecules of a list, flat: the atoms of all molecules, one after another."""

    names: list[str]  # of the readable molecules; by default their SMILES
    places: list[int]  # their places in the list
    num_atoms: list[int]
    features: NDArray[np.int64]  # (atoms, 9)
    bonds: NDArray[np.int64]  # (2, bonds): each bond once, atoms counted over all molecules
    unreadable: list[Unreadable]
    bond_features: NDArray[np.int64] | None = None  # (bonds, 4), if they are wanted
    standardize: bool = False  # whether the atoms and bonds are those of standardised molecules
    changes: Changes = field(default_factory=Changes)  # what standardising did


def from_smiles(
    smiles: Iterable[str | Mol],
    y: Sequence[Target] | NDArray | Tensor | None = None,
    *,
    features: Features = "raw",
    with_bonds: bool = True,
    skip_unreadable: bool = False,
    standardize: bool = False,
    task: str | None = None,
    name: str = "",
) -> GraphSet:
    """One graph per molecule: its atoms with OGB's nine features, joined by bonds. Hydrogens are not nodes.

    Args:
        smiles: The molecules; they become the names of the graphs. Of molecules of RDKit, their SMILES do.
        y: The target or targets of each molecule; see :func:`bankgcn.data.target_values.encode_targets`.
        features: ``"raw"``: the nine integers of each atom; or ``"onehot"``; see
            :func:`bankgcn.data.features.atoms.atom_signals`.
        with_bonds: Whether edges carry the features of bonds: type, conjugated, in a ring, stereo. Else a note of the
            set names them.
        skip_unreadable: Whether to leave out molecules that RDKit cannot read, with a note in ``notes``; else they are
            an error that names them.
        standardize: Whether to standardise them; see :mod:`bankgcn.data.standardize`. Names stay as they are given.
        task: What the targets are, if it is not to be guessed; see the same.
        name: Name of the set.

    Raises:
        GraphError: There are no molecules, some cannot be read, or targets do not fit.
        ImportError: RDKit is not installed.

    Example:
        >>> graphs = from_smiles(["CCO", "c1ccccc1"], ["soluble", "insoluble"])
        >>> graphs.num_nodes.tolist(), graphs.num_features, graphs.classes
        ([3, 6], 9, ('insoluble', 'soluble'))
    """
    smiles = list(smiles)
    targets = None if y is None else list(y)
    if targets is not None and len(targets) != len(smiles):
        raise GraphError(f"there are {len(smiles)} molecules but {len(targets)} targets")
    molecules = parse_smiles(smiles, with_bonds, standardize)
    notes = left_out(molecules, skip_unreadable, lambda place: f"molecule {place}")
    if not molecules.places:
        raise GraphError("there are no molecules")
    encoded = Targets()
    if targets is not None:
        try:
            encoded = encode_targets([targets[place] for place in molecules.places], task)
        except TargetError as error:
            where = "" if error.graph is None else f"molecule {molecules.places[error.graph]}: "
            raise GraphError(Message("{where}{what}", where=where, what=error.message)) from error
    return molecule_graphs(molecules, encoded, features=features, name=name, notes=notes)


def parse_smiles(smiles: Sequence[str | Mol], with_bonds: bool = False, standardize: bool = False) -> Molecules:
    """Atoms and bonds of molecules, written as SMILES or read by RDKit; see :func:`parse_molecules`."""
    require("rdkit", "reading molecules")
    names = [one if isinstance(one, str) else _name_of(one) for one in smiles]
    return parse_molecules(names, lambda place: _molecule(smiles[place]), with_bonds, standardize)


def is_molecule(item: object) -> bool:
    """Whether this is a molecule of RDKit, which is not imported."""
    return any(kind.__module__ == "rdkit.Chem.rdchem" and kind.__name__ == "Mol" for kind in type(item).__mro__)


def _name_of(molecule: object) -> str:
    """The SMILES of a molecule of RDKit; anything else as Python shows it."""
    from rdkit import Chem

    written = attempted(Chem.MolToSmiles, molecule) if isinstance(molecule, Chem.Mol) else str(molecule)
    return written


def parse_molecules(
    names: Sequence[str],
    molecule_at: Callable[[int], Mol | str],
    with_bonds: bool = False,
    standardize: bool = False,
) -> Molecules:
    """Atoms and bonds of molecules, and the unreadable ones with the reasons; hides RDKit's own messages.

    Args:
        names: Their names.
        molecule_at: From a place in the list to RDKit's molecule, or to the reason why there is none.
        with_bonds: Whether the features of bonds are wanted.
        standardize: Whether to standardise them.
    """
    from rdkit.rdBase import BlockLogs

    blocks = [range(start, min(start + AT_ONCE, len(names))) for start in range(0, len(names), AT_ONCE)]
    with BlockLogs():
        read = [_read_block(block, molecule_at, standardize) for block in blocks]
    places = [place for block in read for place in block.places]
    arrays = AtomArrays.join([block.arrays for block in read])
    first_atom = np.cumsum(arrays.num_atoms) - arrays.num_atoms
    return Molecules(
        [names[place] for place in places],
        places,
        arrays.num_atoms.tolist(),
        arrays.features,
        (arrays.ends + np.repeat(first_atom, arrays.num_bonds)[:, None]).T,
        [Unreadable(place, str(names[place]), reason) for block in read for place, reason in block.reasons.items()],
        arrays.bond_features if with_bonds else None,
        standardize,
        sum((block.changes for block in read), UNCHANGED),
    )


def joined_molecules(parts: Sequence[Molecules]) -> Molecules:
    """The molecules of several lists, one after another, as those of one list."""
    first = parts[0]
    atoms = np.cumsum([0, *(len(part.features) for part in parts)])
    starts = np.cumsum([0, *(len(part.places) + len(part.unreadable) for part in parts)]).tolist()
    numbered = list(zip(parts, starts, strict=False))
    bonds = [part.bond_features for part in parts if part.bond_features is not None]
    return Molecules(
        names=[name for part in parts for name in part.names],
        places=[start + place for part, start in numbered for place in part.places],
        num_atoms=[count for part in parts for count in part.num_atoms],
        features=np.concatenate([part.features for part in parts]),
        bonds=np.concatenate([part.bonds + shift for part, shift in zip(parts, atoms, strict=False)], axis=1),
        unreadable=[replace(one, place=start + one.place) for part, start in numbered for one in part.unreadable],
        bond_features=np.concatenate(bonds) if bonds else None,
        standardize=first.standardize,
        changes=sum((part.changes for part in parts), Changes()),
    )


class _Block(NamedTuple):
    """Some molecules of a list."""

    places: list[int]  # of those that can be read
    arrays: AtomArrays
    reasons: dict[int, str]  # why the others cannot, by place
    changes: Changes


def _read_block(block: range, molecule_at: Callable[[int], Mol | str], standardize: bool) -> _Block:
    """The molecules at some places: decoded from their bytes, or else as RDKit answers for each atom."""
    by_bytes = decodes(len(block))
    take = to_bytes if by_bytes else _plausible_arrays
    results: dict[int, Any] = {place: attempted(_read, molecule_at, place, standardize, take) for place in block}
    if by_bytes:
        places = _readable(results)
        arrays = decode_bytes([results[place][0] for place in places])
        doubtful = _doubtful(arrays)
        if not doubtful.any():
            return _block_of(results, arrays)
        for place, own, asks in zip(places, arrays.each(), doubtful, strict=True):
            again = attempted(_read, molecule_at, place, standardize, _plausible_arrays) if asks else None
            results[place] = again or (own, results[place][1])
    return _block_of(results, AtomArrays.join([results[place][0] for place in _readable(results)]))


def _read(
    molecule_at: Callable[[int], Mol | str], place: int, standardize: bool, take: Callable[[Mol], Result | str]
) -> tuple[Result, Changes] | str:
    """What is taken from a molecule, and what standardising changed; or why there is none."""
    molecule = molecule_at(place)
    if isinstance(molecule, str):
        return molecule
    if not molecule.GetNumAtoms():
        return "has no atoms"
    changes = UNCHANGED
    if standardize:
        molecule, changes = standardized(molecule)
    taken = take(molecule)
    return taken if isinstance(taken, str) else (taken, changes)


def _plausible_arrays(molecule: Mol) -> AtomArrays | str:
    """Atoms and bonds of a molecule as RDKit answers for each, or why there is no such molecule."""
    arrays = AtomArrays.of(molecule)
    reason = implausible(molecule) if _unusual(arrays.features).any() else None
    return reason or arrays


def _doubtful(decoded: AtomArrays) -> NDArray[np.bool_]:
    """Which molecules RDKit has to be asked about: those that were not decoded, or have unusual atoms."""
    doubtful = decoded.num_atoms < 0
    unusual = np.flatnonzero(_unusual(decoded.features))
    if len(unusual):
        doubtful[np.repeat(np.arange(len(doubtful)), decoded.num_atoms.clip(0))[unusual]] = True
    return doubtful


def _unusual(features: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which atoms have a charge or a number of hydrogens that few have: only such atoms may be implausible."""
    return (features[:, _CHARGE] == _OTHER_CHARGE) | (features[:, _HYDROGENS] == _OTHER_HYDROGENS)


def _readable(results: Mapping[int, object]) -> list[int]:
    return [place for place, result in results.items() if not isinstance(result, str)]


def _block_of(results: Mapping[int, Any], arrays: AtomArrays) -> _Block:
    places = _readable(results)
    changed = (results[place][1] for place in places)
    return _Block(
        places,
        arrays,
        {place: result for place, result in results.items() if isinstance(result, str)},
        sum((changes for changes in changed if changes is not UNCHANGED), UNCHANGED),
    )


def attempted(read: Callable[..., Result], *arguments: Any) -> Result | str:
    """What RDKit reads, given these arguments, or what it says if it cannot.

    Whatever RDKit raises means that the molecule cannot be read: its exceptions are of many kinds, and none of them
    says which molecule of a file it is.
    """
    try:
        return read(*arguments)
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        # The first line of a failed assertion is its kind; after the second, it names a line of RDKit's own code.
        said = lines[1] if lines[1:] and lines[0].endswith("Violation") else next(iter(lines), type(error).__name__)
        return f"RDKit cannot read it: {said}"


def left_out(molecules: Molecules, skip_unreadable: bool, where: Callable[[int], str]) -> tuple[str, ...]:
    """A note on the unreadable molecules, or an error if they are not to be skipped.

    Args:
        molecules: The molecules.
        skip_unreadable: Whether to leave them out.
        where: From a place in the list to its name in a message.
    """
    bad = molecules.unreadable
    if not bad:
        return ()
    listed = "; ".join(f"{where(one.place)}, {_shortened(one.name)!r}: {one.reason}" for one in bad[:SHOWN])
    more = f"; and {len(bad) - SHOWN:,} more" if len(bad) > SHOWN else ""
    total = len(bad) + len(molecules.places)
    if not skip_unreadable:
        raise GraphError(
            Message(
                "{count:,} of {total:,} molecules cannot be read{advice}: {listed}",
                count=len(bad),
                total=total,
                listed=listed + more,
                advice=[advise("skip_unreadable", True, "goes on without them")],
            )
        )
    first = f"{where(bad[0].place)}, {_shortened(bad[0].name)!r}: {bad[0].reason}"
    return (left_out_note(len(bad), total, "molecules", first),)


def molecule_graphs(
    molecules: Molecules,
    targets: Targets,
    *,
    features: Features,
    name: str,
    notes: Sequence[str],
) -> GraphSet:
    """The readable molecules as a set of graphs, with the features of their bonds if these were parsed, and notes."""
    known = molecules.bond_features
    signals = atom_signals(molecules.features, features)
    if molecules.standardize:
        signals["feature_spec"] = {**signals["feature_spec"], STANDARDIZE: True}
        notes = (*notes, molecules.changes.note(len(molecules.places)))
    return GraphSet.from_edges(
        molecules.num_atoms,
        np.concatenate([molecules.bonds, molecules.bonds[::-1]], axis=1),
        **signals,
        **({} if known is None else bond_signals(known)),
        **targets._asdict(),
        names=molecules.names,
        name=name,
        notes=(*notes, *(edge_note(BONDS, "bonds") if molecules.bonds.size and known is None else ())),
    )


def atom_kind(options: ReadOptions, expected: Expected) -> Features:
    """What atoms carry: what a trained model expects, or else what the options say."""
    of_model = expected.features
    kind: Features = of_model["features"] if of_model.get("kind") == "atoms" else options.atoms
    return kind


def standardizes(options: ReadOptions, expected: Expected) -> bool:
    """Whether molecules are standardised: as those that a trained model learned, or else as the options say."""
    of_model = expected.features
    return is_standardized(of_model) if of_model.get("kind") == "atoms" else options.standardize


def _shortened(name: str) -> str:
    return name if len(name) <= SHOWN_CHARACTERS else name[:SHOWN_CHARACTERS] + "..."


def _molecule(smiles: object) -> Mol | str:
    """RDKit's molecule, or the reason why there is none."""
    if not isinstance(smiles, str):  # a table read by pandas has NaN for an empty cell
        return _given_molecule(smiles) if is_molecule(smiles) else "is not text"
    if reason := wrong_text(smiles):
        return reason
    if len(smiles) > HARMLESS:
        unchecked = _rdkit_molecule(smiles, check=False)
        if reason := None if unchecked is None else too_large(unchecked):
            return reason
    molecule = _rdkit_molecule(smiles)
    return _reason(smiles) if molecule is None else molecule


def _given_molecule(molecule: Any) -> Mol | str:
    """A molecule that was read with RDKit, as one that is read here: checked, and without nodes for hydrogens."""
    from rdkit import Chem

    if reason := too_large(molecule):
        return reason
    own = Chem.Mol(molecule)  # what follows changes it
    problems = [problem.Message() for problem in Chem.DetectChemistryProblems(own)]
    if problems:
        return problems[0]
    Chem.SanitizeMol(own)
    own = Chem.RemoveHs(own)
    Chem.AssignStereochemistry(own, cleanIt=True, force=True)
    return own


def _rdkit_molecule(smiles: str, check: bool = True) -> Mol | None:
    """RDKit's molecule; ``None`` if RDKit cannot read the SMILES (its type hints omit that case)."""
    return _smiles_parser()(smiles, sanitize=check)


@cache
def _smiles_parser() -> Callable[..., Any]:
    from rdkit.Chem import MolFromSmiles

    return MolFromSmiles


def _reason(smiles: str) -> str:
    """Why RDKit cannot read a molecule: a mistake in the SMILES, or in the chemistry."""
    from rdkit import Chem, rdBase

    unchecked = _rdkit_molecule(smiles, check=False)
    if unchecked is not None:
        problems = [problem.Message() for problem in Chem.DetectChemistryProblems(unchecked)]
        return problems[0] if problems else "RDKit gives no reason"
    if not hasattr(rdBase, "CaptureErrorLog"):  # before 2026.03, RDKit prints the reason but does not return it
        return "is not valid SMILES"
    with rdBase.CaptureErrorLog() as log:
        _rdkit_molecule(smiles, check=False)
    reason = re.search(r"SMILES Parse Error: (.*?)(?: while parsing| for input)", log.messages)
    return reason.group(1) if reason else "is not valid SMILES"


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
_HYDROGENS_TEXT = re.compile(r"(?<!@[TO])H(\d+)")  # @TH1 and @OH12 are chiralities
_CHARGE_TEXT = re.compile(r"[+-](\d+)")
_SIGNS = re.compile(r"\+{2,}|-{2,}")
_ELEMENT = re.compile(r"#(\d+)")


def wrong_text(smiles: str) -> str | None:
    """Why a text cannot be a SMILES, before RDKit reads it; ``None`` if it may be one."""
    words = smiles.split(maxsplit=1)
    if len(words) > 1 and not words[1].startswith("|"):  # an extended SMILES; RDKit ignores anything else as a name
        return f"has a blank before {_shortened_text(words[1])!r}, but a SMILES has none"
    if foreign := _FOREIGN.search(smiles.strip()):
        letter = foreign[0]
        return f"has the character {letter!r} (U+{ord(letter):04X}), which no SMILES has: write it in plain ASCII"
    if len(smiles) > MAX_CHARACTERS:
        return f"has {len(smiles):,} characters, and a SMILES may have {MAX_CHARACTERS:,}: {ADVICE}"
    for bracket in _BRACKETS.findall(words[0] if words else ""):
        if reason := _wrong_counts(bracket):
            return f"{_shortened_text(bracket)!r} has {reason}"
    return None


def _wrong_counts(bracket: str) -> str | None:
    """What is wrong with the numbers of an atom in brackets."""
    for pattern, limit, what in (
        (_HYDROGENS_TEXT, MAX_HYDROGENS, "hydrogens, and an atom may have"),
        (_CHARGE_TEXT, MAX_CHARGE, "charges, and an atom may have"),
        (_ELEMENT, MAX_ELEMENT, "as the number of its element, and the largest is"),
    ):
        for digits in pattern.findall(bracket):
            if len(digits.lstrip("0")) > len(str(limit)) or int(digits) > limit:
                return f"{_shortened_text(digits)} {what} {limit}"
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


def _shortened_text(text: str, longest: int = 40) -> str:
    return text if len(text) <= longest else text[:longest] + "..."
