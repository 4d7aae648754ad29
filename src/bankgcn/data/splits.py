"""Splits into training, validation and test graphs: a function of the targets and a seed, saved as JSON.

Groups of graphs can stay together, such as molecules with equal scaffolds: their rings and what links them (Bemis and
Murcko, 1996).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bankgcn.data import GraphError
from bankgcn.data.invariants import as_array
from bankgcn.data.standardize import molecule_of
from bankgcn.extras import require
from bankgcn.files.checked import CURE, FileError, atomic_write, read_json, with_checksum, without_checksum

PARTS = ("train", "valid", "test")
FORMAT = "bankgcn split 1"


@dataclass(frozen=True, eq=False)
class Split:
    """Numbers of the graphs that train, validate and test, each in ascending order.

    Example:
        >>> split = stratified_split([0, 1] * 10, seed=0)
        >>> len(split.train), len(split.valid), len(split.test)
        (16, 2, 2)
    """

    train: NDArray[np.int64]
    valid: NDArray[np.int64]
    test: NDArray[np.int64]

    def __post_init__(self) -> None:
        for part in PARTS:
            indices = np.asarray(getattr(self, part), np.int64)
            object.__setattr__(self, part, np.sort(indices))
        together = np.concatenate([self.train, self.valid, self.test])
        for index in together[together < 0][:1]:
            raise GraphError(f"a split holds graph {index}: graphs are numbered from 0")
        unique, count = np.unique(together, return_counts=True)
        for index in unique[count > 1][:1]:
            raise GraphError(f"graph {index} is in a split more than once")

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the three parts: equal splits have equal hashes."""
        return hashlib.sha256(json.dumps(self._lists()).encode()).hexdigest()

    def save(
        self, path: str | os.PathLike[str], fingerprint: str, seen: Sequence[int] | NDArray[np.uint64] = ()
    ) -> None:
        """Write the split to a JSON file, atomically.

        Args:
            path: The file.
            fingerprint: Fingerprint of the graphs: ``graphs.fingerprint``.
            seen: Hashes of the training and validation graphs, see
                :func:`bankgcn.data.duplicates.graph_hashes`: other files may hold the same graphs.
        """
        content: dict[str, Any] = {"format": FORMAT, "graphs": fingerprint, "hash": self.hash, **self._lists()}
        content["seen"] = with_checksum({"graphs": [f"{int(one):016x}" for one in seen]})
        with atomic_write(path) as file:
            file.write(json.dumps(content).encode() + b"\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str], fingerprint: str) -> Split:
        """Load a split that was saved for the graphs with this fingerprint.

        Raises:
            FileError: The file is not a split, was changed, or belongs to other graphs.
        """
        content = _read_json(path)
        if content["graphs"] != fingerprint:
            raise FileError(f"is a split of the graphs {content['graphs']}, but these are {fingerprint}", path)
        try:
            split = cls(*(np.asarray(content[part], np.int64) for part in PARTS))
        except (ValueError, TypeError, OverflowError) as error:
            raise FileError(f"is damaged: {error}", path) from error
        if split.hash != content["hash"]:
            raise FileError("was changed: its content differs from its hash", path)
        return split

    @staticmethod
    def load_seen(path: str | os.PathLike[str]) -> NDArray[np.uint64]:
        """The hashes of the training and validation graphs that were saved with a split; none in earlier files.

        Raises:
            FileError: The file is not a split, or was changed.
        """
        content = _read_json(path)
        if "seen" not in content:
            return np.zeros(0, np.uint64)
        try:
            return np.array([int(one, 16) for one in without_checksum(content["seen"])["graphs"]], np.uint64)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise FileError(f"is damaged: its hashes of graphs cannot be read ({error})", path) from error

    def _lists(self) -> dict[str, list[int]]:
        return {part: getattr(self, part).tolist() for part in PARTS}


def split_targets(y: NDArray, seed: int = 0, ratios: Sequence[float] = (8, 1, 1)) -> Split:
    """Training, validation and test: stratified by classes, or plain random where the targets are numbers."""
    return stratified_split(y, ratios, seed) if y.dtype.kind in "iu" else random_split(len(y), ratios, seed)


def random_split(num_graphs: int, ratios: Sequence[float] = (8, 1, 1), seed: int = 0) -> Split:
    """A random split, which depends on the number of graphs, the ratios and the seed alone.

    Args:
        num_graphs: Number of graphs.
        ratios: Shares of training, validation and test.
        seed: Number of the split.

    Example:
        >>> random_split(10, seed=0).test.tolist()
        [9]
    """
    return stratified_split(np.zeros(num_graphs, np.int64), ratios, seed)  # all of one class


def stratified_split(y: ArrayLike, ratios: Sequence[float] = (8, 1, 1), seed: int = 0) -> Split:
    """A random split in which every part has its share of every class, up to rounding.

    The split depends on the arguments alone, not on any global state. Each class is shuffled and cut on its own. Graphs
    that rounding leaves over go to the part that is furthest behind its share in the classes before, so that the parts
    keep their share of the whole set, too.

    Args:
        y: Class of each graph, shape ``(G,)``.
        ratios: Shares of training, validation and test.
        seed: Number of the split.
    """
    labels = _class_numbers(y)
    share = shares(ratios)
    rng = np.random.Generator(np.random.PCG64(seed))
    parts: list[list[NDArray[np.int64]]] = [[], [], []]
    shortfall = np.zeros(3)  # how much each part lacks of its share in the classes so far
    for label in np.unique(labels):
        members = shuffled(np.flatnonzero(labels == label), rng)
        exact = share * len(members)
        counts = _rounded(exact, shortfall)
        shortfall += exact - counts
        for part, chosen in zip(parts, np.split(members, np.cumsum(counts)[:-1]), strict=True):
            part.append(chosen)
    return Split(*(np.concatenate([np.zeros(0, np.int64), *part]) for part in parts))


def shares(ratios: Sequence[float]) -> NDArray[np.float64]:
    """The shares of training, validation and test; their sum is 1.

    Raises:
        ValueError: The ratios are not three numbers from 0, of which one is larger.
    """
    share = np.asarray(ratios, np.float64)
    if share.shape != (3,) or not (np.isfinite(share).all() and (share >= 0).all() and share.sum() > 0):
        raise ValueError(f"ratios={tuple(ratios)}: expected three numbers that are not negative, and not all 0")
    return share / share.sum()


def limit_training(split: Split, y: ArrayLike, per_class: int, seed: int = 0) -> Split:
    """The same split with a limited number of training graphs of each class, drawn by the seed.

    With ``per_class=100``, the official split of CIFAR-10 becomes the paper's CIFAR-10 (1000).

    Args:
        split: The split; its validation and test graphs stay the same.
        y: Class of each graph, shape ``(G,)``.
        per_class: Number of training graphs to keep of each class.
        seed: Number of the draw.
    """
    labels = _class_numbers(y)[split.train]
    rng = np.random.Generator(np.random.PCG64(seed))
    kept = []
    for label in np.unique(labels):
        members = split.train[labels == label]
        if len(members) < per_class:
            raise ValueError(f"class {label} has {len(members)} training graphs: per_class={per_class} are too many")
        kept.append(shuffled(members, rng)[:per_class])
    return replace(split, train=np.concatenate([np.zeros(0, np.int64), *kept]))


def _class_numbers(y: ArrayLike) -> NDArray[np.integer]:
    labels = as_array(y)
    if labels.ndim != 1 or labels.dtype.kind not in "iub":
        raise ValueError(f"y has shape {labels.shape} and dtype {labels.dtype}, expected one integer class per graph")
    return labels


def shuffled(members: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Shuffle by sorting raw random numbers, because numpy may change how its ``shuffle`` draws them."""
    return members[np.argsort(rng.bit_generator.random_raw(len(members)), kind="stable")]


def _rounded(exact: NDArray[np.float64], shortfall: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round numbers down or up so that their sum stays the same: up where the shortfall so far is largest."""
    down = np.floor(exact + 1e-9)  # a share like 0.1 * 30 must not fall below 3 by its last bit
    fraction = exact - down
    priority = np.where(fraction > 1e-9, fraction + shortfall, -np.inf)  # never round a whole number up
    missing = round(exact.sum() - down.sum())
    down[np.argsort(-priority, kind="stable")[:missing]] += 1
    return down.astype(np.int64)


def _read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        content = read_json(Path(path))
    except FileNotFoundError as error:
        raise FileError(f"is missing; {CURE}", path) from error
    except FileError:
        raise
    except ValueError as error:
        raise FileError(f"is not a split saved by bankgcn: it {error}", path) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(f"is not a split in the format {FORMAT!r}", path)
    for key in ("graphs", "hash", *PARTS):
        if key not in content:
            raise FileError(f"is damaged: it has no {key!r}", path)
    return content


def group_split(groups: Sequence[Hashable], ratios: Sequence[float] = (8, 1, 1), seed: int = 0) -> Split:
    """A split in which all graphs of a group are in one part.

    Groups larger than half of the validation or test part come first, then the others in random order. Each goes to the
    first of training, validation and test that it does not overfill. A group that overfills all of them goes to
    training.

    Args:
        groups: The group of each graph.
        ratios: Shares of training, validation and test.
        seed: Number of the split.
    """
    wanted = shares(ratios) * len(groups)
    parts: list[list[NDArray[np.int64]]] = [[], [], []]
    sizes = np.zeros(3)
    smallest = min(share for share in wanted[1:] if share > 0) if wanted[1:].any() else 0
    members = _shuffled_groups(groups, seed)
    for group in sorted(members, key=lambda each: len(each) <= smallest / 2):  # stable: each half keeps its order
        fits = np.flatnonzero((sizes + len(group) <= wanted + 0.5) & (wanted > 0))
        part = int(fits[0]) if len(fits) else 0
        parts[part].append(group)
        sizes[part] += len(group)
    return Split(*(np.concatenate([np.zeros(0, np.int64), *part]) for part in parts))


def stratified_folds(y: NDArray[np.integer], folds: int, seed: int = 0) -> NDArray[np.int64]:
    """The fold of each graph; every fold has its share of every class, up to rounding.

    Args:
        y: Class of each graph.
        folds: Number of folds.
        seed: Number of the draw.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    order = np.concatenate([np.zeros(0, np.int64), *(shuffled(np.flatnonzero(y == c), rng) for c in np.unique(y))])
    fold = np.empty(len(y), np.int64)
    fold[order] = np.arange(len(y)) % folds  # goes on from class to class, so that the folds have equal sizes
    return fold


def group_folds(groups: Sequence[Hashable], folds: int, seed: int = 0) -> NDArray[np.int64]:
    """The fold of each graph; all graphs of a group are in one fold. Large groups go to the smallest fold first.

    Args:
        groups: The group of each graph.
        folds: Number of folds.
        seed: Number of the draw.
    """
    fold = np.empty(len(groups), np.int64)
    sizes = np.zeros(folds, np.int64)
    for group in sorted(_shuffled_groups(groups, seed), key=len, reverse=True):
        smallest = int(sizes.argmin())
        fold[group] = smallest
        sizes[smallest] += len(group)
    return fold


def split_of_fold(fold: NDArray[np.int64], number: int, folds: int) -> Split:
    """One fold tests, the next one validates, the others train."""
    valid = (number + 1) % folds
    everything = np.arange(len(fold))
    rest = (fold != number) & (fold != valid)
    return Split(everything[rest], everything[fold == valid], everything[fold == number])


def _shuffled_groups(groups: Sequence[Hashable], seed: int) -> list[NDArray[np.int64]]:
    """The members of each group, the groups in random order."""
    members: dict[Hashable, list[int]] = {}
    for graph, group in enumerate(groups):
        members.setdefault(group, []).append(graph)
    arrays = [np.array(each, np.int64) for each in members.values()]
    order = shuffled(np.arange(len(arrays)), np.random.Generator(np.random.PCG64(seed)))
    return [arrays[place] for place in order]


def scaffolds(smiles: Sequence[str], standardize: bool = False) -> list[str]:
    """The scaffold of each molecule as SMILES. Molecules without a ring have the empty scaffold.

    Args:
        smiles: The molecules.
        standardize: Whether their graphs are standardised: then so are they, and two salts of one acid stay together.

    Raises:
        GraphError: One of them is not a molecule.
        ImportError: RDKit is not installed.

    Example:
        >>> scaffolds(["Cc1ccccc1", "c1ccccc1CCO", "CCO"])
        ['c1ccccc1', 'c1ccccc1', '']
    """
    require("rdkit", "a split by scaffolds")
    from rdkit.Chem import MolToSmiles
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles
    from rdkit.rdBase import BlockLogs

    keys = []
    with BlockLogs():
        for number, text in enumerate(smiles):
            try:
                standard = molecule_of(text, True) if standardize else None
                keys.append(MurckoScaffoldSmiles(text if standard is None else MolToSmiles(standard)))
            except (ValueError, RuntimeError) as error:
                raise GraphError(f"graph {number}, {text!r}, has no scaffold: it is not a molecule") from error
    return keys
