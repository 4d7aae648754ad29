"""Sources that are opened for trained models: read as the training graphs were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch

from bankgcn.cli.errors import print_note
from bankgcn.cli.model_input import PARTS, ModelInput, examine
from bankgcn.cli.output import check_not_input
from bankgcn.cli.progress import load_graphs
from bankgcn.data.catalog import USUAL_FOLDERS, DataFolders
from bankgcn.data.combine import concatenate
from bankgcn.data.duplicates import merge_duplicates
from bankgcn.data.edge_data import is_edge_note
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers import LEFT_OUT, RowBlock, TargetBlock
from bankgcn.data.sources import FOR_ALL, Source, find_source, find_sources
from bankgcn.data.target_values import Targets
from bankgcn.data.targets import GraphTable, clean_targets
from bankgcn.data.workers import Job
from bankgcn.files.tables import Columns, TextTable
from bankgcn.report.page.run_page import RunEvidence
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.evaluation import true_columns
from bankgcn.training.spec import IN_PYTHON
from bankgcn.training.stepper import usable_device


def load_models(
    run: Path,
    out: Path | None,
    source: str | None = None,
    folders: DataFolders = USUAL_FOLDERS,
    threads: int | None = None,
    device: str = "cpu",
) -> Ensemble:
    """The models that a command applies.

    Args:
        run: Folder of a run, or of several.
        out: What the command writes; it must not be a file of the run or of its sources.
        source: Graphs that the command reads beside those of the training.
        folders: Where to look for datasets.
        threads: Number of threads from now on; unchanged by default.
        device: Where the models compute.

    Raises:
        ValueError: There is no model, no such device, or the output is an input.
    """
    usable_device(device)  # before files are read
    if threads is not None:
        torch.set_num_threads(threads)
    ensemble = Ensemble.load(run)
    check_not_input(out, run=run, sources=(source, *ensemble.sources), folders=folders)
    return ensemble.to(device)


def read_input(
    ensemble: Ensemble,
    name: str | None,
    folders: DataFolders,
    flags: dict[str, Any],
    *,
    part: str | None = None,
    ignore_targets: bool = False,
    need_targets: bool = False,
    keep_unreadable: bool | None = None,
    notes: bool = True,
) -> ModelInput:
    """Read graphs for trained models, and print the notes on them.

    Args:
        ensemble: The models.
        name: The source; by default that of the training.
        folders: Where to look for datasets.
        flags: Options of the reader that were typed; the others are those of the training.
        part: The part of the training graphs to take, if these are the training graphs.
        ignore_targets: Whether to read no targets.
        need_targets: Whether to look for the targets as for training, if no option names them.
        keep_unreadable: Whether rows that cannot be read stay, without a graph; by default as in the training. Those
            of the training graphs were left out before their split was drawn.
        notes: Whether to print notes.
    """
    wanted = Wanted(part, ignore_targets, need_targets)
    sources = sources_of(ensemble, name, folders, wanted)
    if len(sources) > 1:
        raise ValueError(f"{name!r} stands for {len(sources)} files, and this command reads one: name it")
    return OpenedInput(ensemble, sources[0], folders, flags, wanted, keep_unreadable, notes).whole()


class Wanted(NamedTuple):
    """What a command wants of the graphs; see :func:`read_input`."""

    part: str | None = None
    ignore_targets: bool = False
    need_targets: bool = False


def sources_of(ensemble: Ensemble, name: str | None, folders: DataFolders, wanted: Wanted) -> list[Source]:
    """The source of this name, or the files that it stands for; by default that of the training.

    Raises:
        ValueError: There is none, or it does not go together with what the command wants.
    """
    if name is None and wanted.part is None:
        raise ValueError(
            "name the graphs (bankgcn predict RUN SOURCE), or choose a part of those the run was trained with "
            "(bankgcn predict RUN --part test)"
        )
    if wanted.part is not None and wanted.ignore_targets:
        raise ValueError("--part needs the targets, by which the split was drawn: leave out --ignore-targets")
    return find_sources(_training_source(ensemble) if name is None else name, folders)


class OpenedInput:
    """A source whose graphs are read for trained models, as a whole or block by block.

    Args:
        ensemble: The models.
        source: The source.
        folders: Where to look for datasets.
        flags: Options of the reader; those that were not typed are ``None``, and are those of the training.
        wanted: What the command wants.
        keep_unreadable: See :func:`read_input`.
        notes: Whether to print notes.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        source: Source,
        folders: DataFolders,
        flags: dict[str, Any],
        wanted: Wanted,
        keep_unreadable: bool | None = None,
        notes: bool = True,
    ):
        self.ensemble, self.folders, self.wanted, self.notes = ensemble, folders, wanted, notes
        self.source = source
        self.typed = {key: value for key, value in flags.items() if value is not None}
        self.options = _options_for(self.source, _reader_of(ensemble), self.typed)
        self.counted = bool(keep_unreadable) and wanted.part is None
        if wanted.part is None and keep_unreadable is not None and "skip_unreadable" in self.source.options:
            self.options = replace(self.options, skip_unreadable=keep_unreadable)

    @property
    def names_targets(self) -> bool:
        """Whether graphs of other files must have the targets: an option names them, or the command needs them."""
        return self.wanted.need_targets or "target" in self.typed

    def whole(self) -> ModelInput:
        """All graphs, or those of a part; prints the notes on them."""
        ensemble, part = self.ensemble, self.wanted.part
        plan = self.plan(self.source.table(self.options))
        graphs, table = _read(ensemble, plan, self.folders, of_training=part is not None)
        if self.notes:
            self.print_notes(graphs.notes)
        if part is None and (self.is_training_source or ensemble.trained_on(graphs)):
            print_note(OF_TRAINING)
        inputs = _line_up(ensemble, plan, graphs, table)
        if part is None:
            return inputs
        numbers, voters = ensemble.part(graphs, part)
        if self.notes and voters is not None:
            print_note("the runs have different splits; each graph is predicted by those that were tested on it")
        return replace(inputs.take(numbers), voters=voters)

    def rows(self) -> Iterator[tuple[RowBlock, float]] | None:
        """The rows in blocks, each with the share of the source that was read; ``None`` if it is read as a whole."""
        return None if self.wanted.part is not None else self.source.blocks(self.options)

    def block(self, plan: Plan, rows: RowBlock, first: int, run: Callable[[Job], Any]) -> ModelInput:
        """The graphs of some rows.

        Args:
            plan: How they are read.
            rows: The rows.
            first: The number of the first of them.
            run: What returns the result of their job.
        """
        graphs = self.source.load_block(rows, plan.options, plan.expected, run)
        if rows.graph_table is not None:
            return _line_up(self.ensemble, plan, graphs, rows.graph_table.table, first)
        if plan.read_targets is not None:
            read = partial(cast("TargetBlock", rows).known_targets, options=plan.options, expected=plan.expected)
            plan = plan._replace(read_targets=partial(read, required=self.names_targets))
        inputs = _line_up(self.ensemble, plan, graphs, None, first)
        return replace(inputs, true_names=self.true_names(plan, rows))

    def columns(self, plan: Plan, rows: RowBlock) -> Columns:
        """The columns of some rows that tables repeat, apart from the predictions; cells may be missing."""
        if rows.graph_table is not None:
            return [(name, []) for name in rows.graph_table.table.header]
        return [("name" if cast("TargetBlock", rows).named else "graph", [])]

    def true_names(self, plan: Plan, rows: RowBlock) -> list[str]:
        """The columns of the targets of all rows of a source that is no table."""
        if rows.graph_table is not None or plan.read_targets is None:
            return []
        with suppress(ValueError):  # which the scores say
            targets = cast("TargetBlock", rows).all_targets(plan.options, plan.expected)
            return [name for name, _ in true_columns(self.ensemble.task, targets)]
        return []

    def plan(self, rows: GraphTable | None) -> Plan:
        """How the source is read, with the options of the training and those that were typed.

        Args:
            rows: Rows of the source, if it is a table: they have all its columns.
        """
        part, ignore_targets = self.wanted.part, self.wanted.ignore_targets
        options = self.options
        if rows is not None and options.id not in rows.table.header and "id" not in self.typed:
            options = replace(options, id=None)  # other tables may have other ids, or none
        targets, read_targets = [], None
        expected = Expected(features=self.ensemble.feature_spec or {}, task=self.ensemble.task.kind)
        if rows is not None and not ignore_targets:
            targets = rows.targets(options, part is not None or self.names_targets)
        if part is None and not ignore_targets:
            read_targets = self.source.target_reader(options, expected, self.names_targets)
        if ignore_targets or (part is None and (rows is not None or read_targets is not None)):
            expected = replace(expected, has_target=False)  # targets are read apart: graphs without any stay
        return Plan(self.source, options, expected, None if rows is None else rows.table, targets, read_targets)

    def print_notes(self, notes: Sequence[str]) -> None:
        """Print the notes on models and graphs, without those on unreadable rows if the command counts them itself."""
        for run in self.ensemble.without_model:
            print_note(f"{run} has no model, and so no vote")
        for note in self.shown(notes):
            print_note(note)

    def shown(self, notes: Sequence[str]) -> list[str]:
        """The notes on graphs that the command does not give in another way; the training said what edges carry."""
        return [note for note in notes if not (is_edge_note(note) or (self.counted and LEFT_OUT in note))]

    @property
    def is_training_source(self) -> bool:
        """Whether this is the file of the training: without their targets, its graphs have another fingerprint."""
        spec, path = self.ensemble.spec, self.source.path
        return spec is not None and path is not None and spec.dataset == str(path.resolve())


OF_TRAINING = "these are the graphs of training; --part test selects those it did not learn from"


class Plan(NamedTuple):
    """How a source is read for a model."""

    source: Source
    options: ReadOptions
    expected: Expected
    table: TextTable | None  # the source, if it is a table
    targets: list[str]  # its columns of targets
    read_targets: Callable[[Sequence[int]], tuple[list[int], Targets]] | None  # of sources that are no tables


def _read(ensemble: Ensemble, plan: Plan, folders: DataFolders, of_training: bool) -> tuple[GraphSet, TextTable | None]:
    """The graphs and their table; those of a training as it had them, with test graphs of another source behind."""
    graphs, table = load_graphs(plan.source, plan.options, plan.expected), plan.table
    split = None if ensemble.spec is None or not of_training else ensemble.spec.split
    if split is not None and split.duplicates == "merge":
        graphs = merge_duplicates(graphs, bool(plan.expected.edge_features))
    if split is not None and split.test is not None:
        test = find_source(split.test, folders)
        graphs, table = _with_test_graphs(test, plan.options, plan.expected, graphs, table)
    return graphs, table


def _line_up(
    ensemble: Ensemble, plan: Plan, graphs: GraphSet, table: TextTable | None, first_row: int = 0
) -> ModelInput:
    """The graphs beside the rows of their source."""
    return ModelInput(
        graphs,
        graphs.rows,
        _columns(graphs, table, first_row),
        dict(graphs.skipped),
        None if table is None else clean_targets(table, plan.targets, ensemble.task.kind, plan.options),
        plan.targets,
        plan.options.fill_missing,
        None if plan.read_targets is None else partial(plan.read_targets, graphs.rows.tolist()),
        may_lack_graphs=plan.options.skip_unreadable and "skip_unreadable" in plan.source.options,
        first_row=first_row,
    )


def _with_test_graphs(
    source: Source, options: ReadOptions, expected: Expected, graphs: GraphSet, table: TextTable | None
) -> tuple[GraphSet, TextTable | None]:
    """Graphs and their rows, and after them those of the source of the test graphs."""
    options = _options_for(source, options, {})
    test, more = load_graphs(source, options, expected), source.table(options)
    return concatenate(graphs, test), None if table is None or more is None else table.followed_by(more.table)


def _training_source(ensemble: Ensemble) -> str:
    if ensemble.spec is None:
        raise ValueError("the model does not know its training graphs: name them (bankgcn predict RUN SOURCE)")
    if ensemble.spec.dataset == IN_PYTHON:
        raise ValueError(
            "the model was trained on graphs in Python, which no file holds: name graphs after the run, such as a file "
            "that GraphSet.save wrote"
        )
    return ensemble.spec.dataset


def _reader_of(ensemble: Ensemble) -> ReadOptions:
    """How the training graphs were read, with the features of graphs that the models use: others may be missing."""
    return replace(ensemble.reader, feature_columns=",".join(ensemble.needed_features) or None)


def _options_for(source: Source, options: ReadOptions, typed: dict[str, Any]) -> ReadOptions:
    """What was typed, and the options of the training that mean something to this source."""
    of_model = options.only({*source.options, *FOR_ALL} - {"features"})  # the model knows the features of atoms
    return replace(of_model, **typed)


def _columns(graphs: GraphSet, table: TextTable | None, first_row: int) -> Columns:
    """The columns of a table, or the names of the graphs, or their numbers."""
    if table is not None:
        return [(name, table.column(name)) for name in table.header]
    total = len(graphs) + len(graphs.skipped)
    if graphs.names is None:
        return [("graph", list(range(first_row, first_row + total)))]
    names = dict(zip(graphs.rows.tolist(), graphs.names, strict=True))
    return [("name", [names.get(row) for row in range(total)])]


def examine_run(
    run: Path, source: str | None, part: str | None, folders: DataFolders, flags: dict[str, Any]
) -> RunEvidence:
    """The models of a run, and the graphs to show with their predictions.

    Args:
        run: Folder of a run, or of several.
        source: Other graphs than those of the training.
        part: Part of the training graphs; by default the test graphs, or the next part that is not empty.
        folders: Where to look for datasets.
        flags: Options of the reader that were typed.
    """
    ensemble = Ensemble.load(run)
    if source is not None or part is not None:
        inputs = read_input(ensemble, source, folders, flags, part=part)
        return RunEvidence.of(ensemble, examine(ensemble, inputs, skip_unknown=True), PARTS[part] if part else "graphs")
    for part, title in PARTS.items():
        inputs = read_input(ensemble, None, folders, flags, part=part)
        if len(inputs.graphs):
            return RunEvidence.of(ensemble, examine(ensemble, inputs), title)
    raise ValueError(f"{run}: the run has no graphs to show")
