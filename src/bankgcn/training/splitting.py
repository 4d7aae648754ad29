"""The split that follows from the settings of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.duplicates import Duplicates
from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import Source
from bankgcn.data.splits import (
    PARTS,
    Split,
    group_folds,
    group_split,
    scaffolds,
    split_of_fold,
    split_targets,
    stratified_folds,
)
from bankgcn.messages import Message, Option, advise
from bankgcn.training.spec import RunSpec
from bankgcn.training.split_options import SplitOptions

PART_NAMES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("valid", "val", "validation", "dev"), "valid"),
    **dict.fromkeys(("test", "testing"), "test"),
}
"""The part that a word in a column stands for."""


def draw_split(
    spec: RunSpec, source: Source, graphs: GraphSet, duplicates: Duplicates | None = None
) -> tuple[Split, str]:
    """The split of the graphs of a run, and where it comes from, in words.

    Args:
        spec: The run: how its graphs are read and split, and its seed.
        source: Where the graphs come from.
        graphs: All graphs.
        duplicates: The equal graphs, if they shall stay in one part: then the distinct ones are split, and the others
            follow them. A split that a column or the authors fix stays as it is.

    Raises:
        ValueError: The graphs cannot be split in this way.
    """
    options, seed = spec.split, spec.seeds.split
    if graphs.y is None:
        advice = [advise("target", "NAME", "names their column or key")] if "target" in source.options else []
        raise ValueError(Message("{name} has no targets to learn", name=source.name, advice=advice))
    if options.split_column is not None:
        return _split_by_column(spec, source, graphs, options.split_column)
    groups = _scaffolds_of(source, graphs) if options.rule == "scaffold" else None
    by = "scaffold" if groups is not None else "class" if graphs.classes else ""
    if options.keeps_official(source.entry) and not options.test:
        return source.split(graphs, seed), "its authors"
    drawn_by = f"fold {options.fold} of {options.folds}" if options.folds is not None else _ratios(options)
    origin = f"the seed: {drawn_by}{_by(by)}"
    if duplicates is None or not duplicates.repeated or groups is not None:  # equal molecules have equal scaffolds
        return _draw(graphs.y, groups, options, seed), origin
    split = _draw(graphs.y[duplicates.distinct], None, options, seed)
    return duplicates.spread(split), f"{origin}, equal graphs together"


def _draw(y: NDArray, groups: Sequence[str] | None, options: SplitOptions, seed: int) -> Split:
    """A split by the seed alone."""
    if options.folds is not None:
        return _fold_split(y, groups, options, seed)
    return split_targets(y, seed, options.shares) if groups is None else _scaffold_split(groups, options, seed)


def _ratios(options: SplitOptions) -> str:
    return ":".join(f"{share:g}" for share in options.shares)


def _by(what: str) -> str:
    return {"": "", "class": ", stratified by class", "scaffold": ", by scaffold"}[what]


def _scaffolds_of(source: Source, graphs: GraphSet) -> list[str]:
    if not source.holds_molecules or graphs.names is None:
        needs = "{split} needs molecules from a table of SMILES, a .smi or a .sdf, and {name} is {kind}"
        split = Option("split", "scaffold", field="rule")
        raise ValueError(Message(needs, split=split, name=source.name, kind=source.kind))
    return scaffolds(graphs.names)


def _scaffold_split(groups: Sequence[str], options: SplitOptions, seed: int) -> Split:
    split = group_split(groups, options.shares, seed)
    empty = [part for part, share in zip(PARTS, options.shares, strict=True) if share and not len(getattr(split, part))]
    if empty:
        found = f"the {len(groups):,} molecules have {len(set(groups)):,} scaffolds, which leave no graphs for "
        choose = "{found}{empty}: choose other shares by {ratios}, or {split}"
        ways: dict[str, Any] = {"ratios": Option("ratios"), "split": Option("split", "random", field="rule")}
        raise ValueError(Message(choose, found=found, empty=" and ".join(empty), **ways))
    return split


def _fold_split(y: NDArray, groups: Sequence[str] | None, options: SplitOptions, seed: int) -> Split:
    assert options.folds is not None
    fold_number = _fold_number(options)
    if groups is not None:
        fold = group_folds(groups, options.folds, seed)
    else:
        classes = y if y.dtype.kind in "iu" else np.zeros(len(y))
        fold = stratified_folds(classes.astype(np.int64), options.folds, seed)
    return split_of_fold(fold, fold_number, options.folds)


def _fold_number(options: SplitOptions) -> int:
    """The fold that tests."""
    if options.fold is None:
        several = "{folds} makes several runs: choose one of them by {fold}"
        raise ValueError(Message(several, folds=Option("folds", options.folds), fold=Option("fold")))
    return options.fold


def _split_by_column(spec: RunSpec, source: Source, graphs: GraphSet, column: str) -> tuple[Split, str]:
    """The split that a column of the source holds."""
    options, rows = spec.split, source.table(spec.reader)
    if rows is None:
        named = Option("split_column", column)
        wrong = "{named} is for tables, and {name} is {kind}"
        raise ValueError(Message(wrong, named=named, name=source.name, kind=source.kind))
    cells = [cell.strip() for cell in rows.table.take(graphs.rows.tolist()).column(column)]
    values = sorted(set(cells), key=lambda value: (len(value), value))  # 10 after 9
    parts = {value: PART_NAMES.get(value.lower()) for value in values}
    if all(parts.values()) and options.folds is None:
        return Split(
            *(np.flatnonzero([parts[cell] == part for cell in cells]) for part in PARTS)
        ), f"the column {column!r}"
    if options.folds != len(values):
        shown = ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
        holds = f"column {column!r} holds {len(values)} different values ({shown})"
        wanted = "{holds}: expected train, valid and test, or {folds} to train a model for each of them"
        raise ValueError(Message(wanted, holds=holds, folds=Option("folds", len(values))))
    number = _fold_number(options)
    fold = np.array([values.index(cell) for cell in cells], np.int64)
    return split_of_fold(fold, number, options.folds), f"the column {column!r}: {values[number]!r} tests"
