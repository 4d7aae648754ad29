"""Splits that keep groups of graphs together, and folds for cross-validation. All follow from a seed alone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.splits import Split, shares, shuffled


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
