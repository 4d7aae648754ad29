"""The split that follows from the settings of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bankgcn.data.graphs import GraphSet
from bankgcn.data.group_splits import group_folds, group_split, split_of_fold, stratified_folds
from bankgcn.data.scaffolds import scaffolds
from bankgcn.data.sources import Source
from bankgcn.data.splits import PARTS, Split, split_targets
from bankgcn.training.split_options import SplitOptions

PART_NAMES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("valid", "val", "validation", "dev"), "valid"),
    **dict.fromkeys(("test", "testing"), "test"),
}
"""The part that a word in a column stands for."""


def draw_split(source: Source, graphs: GraphSet, options: SplitOptions, seed: int) -> tuple[Split, str]:
    """The split of the graphs of a source, and where it comes from, in words.

    Args:
        source: Where the graphs come from.
        graphs: All graphs.
        options: How they are split.
        seed: What random splits follow from.

    Raises:
        ValueError: The graphs cannot be split in this way.
    """
    if graphs.y is None:
        advice = ' (target="NAME" names their column or key)' if "target" in source.options else ""
        raise ValueError(f"{source.name} has no targets to learn{advice}")
    if options.split_column is not None:
        return _split_by_column(source, graphs, options, options.split_column)
    groups = _scaffolds_of(source, graphs) if options.rule == "scaffold" else None
    by = "scaffold" if groups is not None else "class" if graphs.classes else ""
    if options.folds is not None:
        return _fold_split(graphs, groups, options, seed), f"the seed: fold {options.fold} of {options.folds}{_by(by)}"
    ratios = ":".join(f"{share:g}" for share in options.shares)
    if groups is not None:
        return _scaffold_split(groups, options, seed), f"the seed: {ratios}{_by(by)}"
    official = source.entry is not None and source.entry.split == "official"
    if official and options.rule is None and options.ratios is None and not options.test:
        return source.split(graphs, seed), "its authors"
    return split_targets(graphs.y, seed, options.shares), f"the seed: {ratios}{_by(by)}"


def _by(what: str) -> str:
    return {"": "", "class": ", stratified by class", "scaffold": ", by scaffold"}[what]


def _scaffolds_of(source: Source, graphs: GraphSet) -> list[str]:
    if not source.holds_molecules or graphs.names is None:
        raise ValueError(
            f"rule=scaffold needs molecules from a table of SMILES, a .smi or a .sdf, and {source.name} is "
            f"{source.kind} (--split)"
        )
    return scaffolds(graphs.names)


def _scaffold_split(groups: Sequence[str], options: SplitOptions, seed: int) -> Split:
    split = group_split(groups, options.shares, seed)
    empty = [part for part, share in zip(PARTS, options.shares, strict=True) if share and not len(getattr(split, part))]
    if empty:
        raise ValueError(
            f"the {len(groups):,} molecules have {len(set(groups)):,} scaffolds, which leave no graphs for "
            f"{' and '.join(empty)}: choose other shares (--ratios), or --split random"
        )
    return split


def _fold_split(graphs: GraphSet, groups: Sequence[str] | None, options: SplitOptions, seed: int) -> Split:
    assert options.folds is not None
    assert graphs.y is not None
    if options.fold is None:
        raise ValueError(f"folds={options.folds} makes several runs: choose one of them by fold (--fold)")
    if groups is not None:
        fold = group_folds(groups, options.folds, seed)
    else:
        classes = graphs.y if graphs.classes else np.zeros(len(graphs))
        fold = stratified_folds(classes.astype(np.int64), options.folds, seed)
    return split_of_fold(fold, options.fold, options.folds)


def _split_by_column(source: Source, graphs: GraphSet, options: SplitOptions, column: str) -> tuple[Split, str]:
    """The split that a column of the source holds."""
    table = source.table()
    if table is None:
        raise ValueError(f"split_column={column} is for tables, and {source.name} is {source.kind} (--split-column)")
    cells = [cell.strip() for cell in table.take(graphs.rows.tolist()).column(column)]
    values = sorted(set(cells), key=lambda value: (len(value), value))  # 10 after 9
    parts = {value: PART_NAMES.get(value.lower()) for value in values}
    if all(parts.values()) and options.folds is None:
        return Split(
            *(np.flatnonzero([parts[cell] == part for cell in cells]) for part in PARTS)
        ), f"the column {column!r}"
    if options.folds != len(values):
        shown = ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
        raise ValueError(
            f"column {column!r} holds {len(values)} different values ({shown}): expected train, valid and test, or "
            f"--folds {len(values)} to train a model for each of them"
        )
    if options.fold is None:
        raise ValueError(f"folds={options.folds} makes several runs: choose one of them by fold (--fold)")
    fold = np.array([values.index(cell) for cell in cells], np.int64)
    split = split_of_fold(fold, options.fold, options.folds)
    return split, f"the column {column!r}: {values[options.fold]!r} tests"
