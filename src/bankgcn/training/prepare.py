"""The first half of a run, before anything is trained or written: read and split the graphs, build the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from bankgcn.data.catalog import USUAL_FOLDERS, DataFolders
from bankgcn.data.combine import concatenate
from bankgcn.data.duplicates import Duplicates, graph_hashes, merge_duplicates, seen_notes
from bankgcn.data.edge_data import check_equal_directions, unused_edge_notes, without_edge_features
from bankgcn.data.features.signals import with_features
from bankgcn.data.features.spec import describe_features
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import EdgeData, Expected, ReadOptions
from bankgcn.data.sources import FOR_ALL, Source, find_source
from bankgcn.data.splits import (
    PARTS,
    Split,
    group_folds,
    group_split,
    limit_training,
    scaffolds,
    split_of_fold,
    split_targets,
    stratified_folds,
)
from bankgcn.data.standardize import is_standardized
from bankgcn.messages import Message, Option, advise
from bankgcn.nn.convs import RIVALS
from bankgcn.nn.network import GraphNetwork, check_available
from bankgcn.rivals import Rival
from bankgcn.tasks import Task
from bankgcn.training.checks import LossWeights, check_run
from bankgcn.training.config import SplitOptions
from bankgcn.training.rival import make_rival
from bankgcn.training.spec import RunSpec
from bankgcn.training.warm_start import Parent

Read = Callable[[Source, ReadOptions, Expected], GraphSet]


class Loader:
    """Reads the graphs of runs, and keeps the last set: runs that follow each other mostly share it.

    Args:
        folders: Where to look for datasets.
        read: Reads a source; a command passes one that shows its progress.
    """

    def __init__(self, folders: DataFolders = USUAL_FOLDERS, read: Read | None = None):
        self.folders, self._read = folders, read or Source.load
        self._last: tuple[Any, Source, GraphSet] | None = None

    def __call__(self, spec: RunSpec, features: Mapping[str, Any] | None = None) -> tuple[Source, GraphSet]:
        """The graphs of a run, before anything is fitted to a part of them, and where they come from.

        Args:
            spec: The run.
            features: Description of the features that the graphs get; by default their own.
        """
        merge = spec.split.duplicates == "merge"
        uses = bool(spec.model.edge_uses)
        wanted = (spec.dataset, spec.reader, spec.task, merge, features, uses)
        if self._last is None or self._last[0] != wanted:
            source = find_source(spec.dataset, self.folders)
            expected = Expected(features=features or {}, task=spec.task, edges=_edge_data(spec, source))
            graphs = _with_used_edges(with_features(self._read(source, spec.reader, expected)), spec)
            self._last = (wanted, source, merge_duplicates(graphs, uses) if merge else graphs)
        return self._last[1:]

    def with_test_graphs(self, spec: RunSpec, features: Mapping[str, Any] | None = None) -> GraphSet:
        """The graphs of a run, and after them those of the source of its test graphs, if it has one."""
        _, graphs = self(spec, features)
        return graphs if spec.split.test is None else concatenate(graphs, self._test_graphs(spec, graphs))

    def _test_graphs(self, spec: RunSpec, graphs: GraphSet) -> GraphSet:
        """The test graphs, read as the other graphs, with the same features."""
        assert spec.split.test is not None
        source = find_source(spec.split.test, self.folders)
        task = spec.task or ("classes" if graphs.classes else "values")
        expected = Expected(features=describe_features(graphs, bool(spec.model.edge_uses)), task=task)
        return self._read(source, spec.reader.only((*source.options, *FOR_ALL)), expected)


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """A run whose graphs are read and whose network is built; nothing is trained yet.

    Args:
        spec: What to run.
        graphs: The graphs. What their features learn from data comes from the training graphs alone.
        fingerprint: That of the graphs as they were read, which is the same for every split.
        split: Which graphs train, validate and test.
        split_from: Where the split comes from, in words.
        task: What the network learns.
        net: The network before training, or a model that is none.
        weights: Weight of each graph in the loss, apart from that of its class; all graphs count equally by default.
        parent: Key of the run whose weights the network has; empty if it has fresh ones.
    """

    spec: RunSpec
    graphs: GraphSet
    fingerprint: str
    split: Split
    split_from: str
    task: Task
    net: GraphNetwork | Rival
    weights: NDArray[np.float64] | None = None
    parent: str = ""

    @cached_property
    def class_weights(self) -> LossWeights:
        """The weights of classes, by the training graphs."""
        return LossWeights(self.spec.train, self.task, cast(NDArray, self.graphs.y)[self.split.train])

    def loss_weights(self, part: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Weights of some graphs in the loss: those of their classes, times their own; ``None`` if all are equal."""
        given = None if self.weights is None else self.weights[part]
        return self.class_weights.of(cast(NDArray, self.graphs.y)[part], given)

    def seen_hashes(self) -> NDArray[np.uint64]:
        """Hashes of the training and validation graphs, by which their copies in other files are found."""
        learned = self.graphs[np.concatenate([self.split.train, self.split.valid])]
        return np.unique(graph_hashes(learned, self.net.edge_dim is not None))


def _edge_data(spec: RunSpec, source: Source) -> EdgeData:
    """What is read of the data of edges: of the user's own graphs what can be a feature, which the run may then use."""
    if source.entry is None:
        return "any"
    return "all" if spec.model.edge_uses else "none"


def _with_used_edges(graphs: GraphSet, spec: RunSpec) -> GraphSet:
    """The graphs with the features of edges, if the network uses them; else without, and with a note on them."""
    if spec.model.edge_uses:
        check_equal_directions(graphs)
        return graphs
    notes = [note for note in unused_edge_notes(graphs) if note not in graphs.notes]
    return replace(without_edge_features(graphs), notes=(*graphs.notes, *notes))


def prepare(spec: RunSpec, load: Loader | None = None) -> PreparedRun:
    """Read and split the graphs, and build the network with its first weights.

    Raises:
        ImportError: A library that the network needs is not installed.
        ValueError: The graphs cannot be read, or a network of this kind cannot be trained on them in this way.
    """
    check_available(spec.model.conv, spec.model.pooling)
    load = load or Loader()
    parent = Parent.of(spec)
    features = None if parent is None else parent.model.feature_spec
    source, as_read = load(spec, features)
    split, split_from, policy, notes = _draw_split(spec, source, as_read)
    if spec.split.test is not None:
        _check_no_test_graphs(split, as_read.name)
        first = len(as_read)
        as_read = load.with_test_graphs(spec, features)
        split = replace(split, test=np.arange(first, len(as_read)))
        split_from = f"{split_from}; test graphs: {Path(spec.split.test).name}"
        split, more = _without_seen_tests(
            as_read, split, policy, Path(spec.split.test).name, bool(spec.model.edge_uses)
        )
        notes += more
    if spec.train_per_class is not None:
        if as_read.y is None or not as_read.classes:
            given = Option("train_per_class", spec.train_per_class)
            raise ValueError(
                Message("{given} needs classes, which {name} does not have", given=given, name=source.name)
            )
        split = limit_training(split, as_read.y, spec.train_per_class, spec.seeds.subset)
    if parent is None:
        graphs = source.fitted(as_read, split.train, spec.reader.scale, bool(spec.model.edge_uses))
    else:
        graphs = parent.model.conform(as_read)
        notes += parent.seen_note(graphs, split)
    graphs = replace(graphs, notes=(*graphs.notes, *notes))
    run = prepare_graphs(spec, graphs, split, split_from=split_from, parent=parent)
    return replace(run, fingerprint=as_read.fingerprint)


def prepare_graphs(
    spec: RunSpec,
    graphs: GraphSet,
    split: Split,
    *,
    split_from: str = "",
    weights: NDArray[np.float64] | None = None,
    parent: Parent | None = None,
) -> PreparedRun:
    """The same for graphs that are read and split, with features that are fitted to the training graphs.

    Args:
        spec: What to run.
        graphs: The graphs.
        split: Which of them train, validate and test.
        split_from: Where the split comes from, in words.
        weights: Weight of each graph in the loss.
        parent: The run whose weights the network starts with, and whose features the graphs have.

    Raises:
        ValueError: A network of this kind cannot be trained on them in this way.
    """
    task = check_run(graphs, split, spec.model, spec.train, spec.task)
    net = _make(spec, graphs, task, split)
    if parent is not None and not isinstance(net, Rival):
        graphs = replace(graphs, notes=(*graphs.notes, parent.start(net, task)))
    return PreparedRun(
        spec=spec,
        graphs=graphs,
        fingerprint=graphs.fingerprint,
        split=split,
        split_from=split_from,
        task=task,
        net=net,
        weights=weights,
        parent="" if parent is None else parent.key,
    )


def _make(spec: RunSpec, graphs: GraphSet, task: Task, split: Split) -> GraphNetwork | Rival:
    """The model of a run before its training."""
    if spec.model.conv in RIVALS:
        return make_rival(spec.model, graphs, task)
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay as they are
        torch.manual_seed(spec.seeds.weights)
        net = spec.model.build(
            graphs.num_features,
            task.out_channels,
            edge_dim=spec.model.edge_dim(graphs),
            graph_dim=graphs.num_graph_features,
        )
    if net.typical_size is not None:
        net.typical_size.fill_(max(1, round(float(graphs.num_nodes[split.train].mean()))))
    return net


def without_test_graphs(run: PreparedRun) -> PreparedRun:
    """The same run with its training and validation graphs alone: nothing that follows can see a test graph."""
    kept = np.concatenate([run.split.train, run.split.valid])
    first = len(run.split.train)
    split = Split(np.arange(first), np.arange(first, len(kept)), np.arange(0))
    weights = None if run.weights is None else run.weights[kept]
    return replace(run, graphs=run.graphs[kept], split=split, weights=weights)


def _draw_split(spec: RunSpec, source: Source, graphs: GraphSet) -> tuple[Split, str, str, tuple[str, ...]]:
    """The split, where it comes from, what is done about equal graphs, and notes on them."""
    typed = spec.split.duplicates
    if source.entry is not None and typed is None:
        return *draw_split(spec, source, graphs), "keep", ()
    policy, duplicates = typed or "group", Duplicates.of(graphs, bool(spec.model.edge_uses))
    split, split_from = draw_split(spec, source, graphs, duplicates if policy == "group" else None)
    notes = _duplicate_notes(duplicates, split, policy)
    if typed is None and duplicates.repeated and not _can_train(graphs, split, spec.split.shares):
        plain, plain_from = draw_split(spec, source, graphs)
        if _can_train(graphs, plain, spec.split.shares):  # otherwise copies on both sides would gain nothing
            split, split_from = plain, plain_from
            few = f"{duplicates.summary()}; too few are different to keep equal ones in one part of the split"
            notes = (few, *seen_notes(duplicates, split))
    return split, split_from, policy, notes


def _can_train(graphs: GraphSet, split: Split, shares: Sequence[float]) -> bool:
    """Whether every part that has a share has graphs, and every class that occurs has a training graph."""
    assert graphs.y is not None
    filled = all(len(getattr(split, part)) for part, share in zip(PARTS, shares, strict=True) if share)
    return filled and (not graphs.classes or bool(np.isin(graphs.y, graphs.y[split.train]).all()))


def _duplicate_notes(duplicates: Duplicates, split: Split, policy: str) -> tuple[str, ...]:
    """What a user must know of equal graphs. If they are merged, the set has its own notes."""
    if not duplicates.repeated:
        return ()
    done = "they stay in one part of the split" if policy == "group" else "they are kept as they are"
    both_sides = seen_notes(duplicates, split)
    if policy == "group" and both_sides:  # a column of the table fixes the split
        done = "the split is given, so they stay where it puts them"
    choice = Message("{option} is keep, group or merge", option=Option("duplicates"))
    summary = f"{duplicates.summary()}; {done}"
    return (Message("{summary}", summary=summary, advice=[choice]), *both_sides)


def _without_seen_tests(
    graphs: GraphSet, split: Split, policy: str, name: str, edges: bool
) -> tuple[Split, tuple[str, ...]]:
    """The split without the test graphs that are equal to a training or validation graph, and a note on them.

    Raises:
        ValueError: No test graph is left.
    """
    duplicates = Duplicates.of(graphs, edges)
    seen = duplicates.seen(split, "test")
    if policy == "keep":
        return split, seen_notes(duplicates, split)[:1] if seen.any() else ()
    if seen.all():
        overlap = f"all {len(seen):,} graphs of {name} are equal to a training or validation graph"
        choose = (
            "{overlap}, so that none is left to test: name other graphs by {test}, or leave it out for a test part of "
            "the training graphs"
        )
        raise ValueError(Message(choose, overlap=overlap, test=Option("test")))
    what = f"{int(seen.sum()):,} of {len(seen):,} graphs of {name} are equal to a training or validation graph"
    left = replace(split, test=split.test[~seen])
    return left, (f"{what} and are left out of the test",) if seen.any() else ()


def _check_no_test_graphs(split: Split, name: str) -> None:
    """Raise if a split has test graphs, though they come from a source of their own."""
    if len(split.test):
        conflict = f"{len(split.test):,} graphs of {name} are test graphs by their split"
        choose = "{conflict}, and {test} names others: choose one"
        raise ValueError(Message(choose, conflict=conflict, test=Option("test")))


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
    manner = ", by scaffold" if groups is not None else ", stratified by class" if graphs.classes else ""
    if options.keeps_official(source.entry) and not options.test:
        return source.split(graphs, seed), "its authors"
    ratios = ":".join(f"{share:g}" for share in options.shares)
    part = ratios if options.folds is None else f"fold {options.fold} of {options.folds}"
    origin = f"the seed: {part}{manner}"
    if duplicates is None or not duplicates.repeated or groups is not None:  # equal molecules have equal scaffolds
        return _draw(graphs.y, groups, options, seed), origin
    split = _draw(graphs.y[duplicates.distinct], None, options, seed)
    return duplicates.spread(split), f"{origin}, equal graphs together"


def _draw(y: NDArray, groups: Sequence[str] | None, options: SplitOptions, seed: int) -> Split:
    """A split by the seed alone."""
    if options.folds is not None:
        return _fold_split(y, groups, options, seed)
    return split_targets(y, seed, options.shares) if groups is None else _scaffold_split(groups, options, seed)


def _scaffolds_of(source: Source, graphs: GraphSet) -> list[str]:
    if not source.holds_molecules or graphs.names is None:
        needs = "{split} needs molecules from a table of SMILES, a .smi or a .sdf, and {name} is {kind}"
        split = Option("split", "scaffold", field="rule")
        raise ValueError(Message(needs, split=split, name=source.name, kind=source.kind))
    return scaffolds(graphs.names, is_standardized(graphs.feature_spec))


def _scaffold_split(groups: Sequence[str], options: SplitOptions, seed: int) -> Split:
    split = group_split(groups, options.shares, seed)
    empty = [part for part, share in zip(PARTS, options.shares, strict=True) if share and not len(getattr(split, part))]
    if empty:
        counts = f"the {len(groups):,} molecules have {len(set(groups)):,} scaffolds, which leave no graphs for "
        choose = "{counts}{empty}: choose other shares by {ratios}, or {split}"
        ways: dict[str, Any] = {"ratios": Option("ratios"), "split": Option("split", "random", field="rule")}
        raise ValueError(Message(choose, counts=counts, empty=" and ".join(empty), **ways))
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
