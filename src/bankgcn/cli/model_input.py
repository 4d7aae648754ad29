"""Graphs for a trained model: read as its training graphs were, and lined up with the rows of their source.

Commands that show single graphs get them with their predictions.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.cli.errors import print_note, with_flags
from bankgcn.cli.output import check_not_input
from bankgcn.cli.progress import Progress, load_graphs, percent
from bankgcn.data.catalog import USUAL_FOLDERS, DataFolders
from bankgcn.data.combine import concatenate
from bankgcn.data.duplicates import merge_duplicates
from bankgcn.data.edge_data import is_edge_note
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers import LEFT_OUT, RowBlock, TargetBlock
from bankgcn.data.sources import FOR_ALL, Source, find_source
from bankgcn.data.target_values import Targets
from bankgcn.data.targets import GraphTable, clean_targets
from bankgcn.data.workers import Job, Workers
from bankgcn.files.checked import FileError
from bankgcn.files.tables import Cell, Columns, TextTable
from bankgcn.messages import Message, Option
from bankgcn.report.page.graphs import PredictedGraphs
from bankgcn.report.page.run_page import RunEvidence
from bankgcn.settings import pick
from bankgcn.tasks import Task
from bankgcn.training.ensemble import Ensemble, Predictions
from bankgcn.training.evaluation import table_targets, true_columns, true_targets
from bankgcn.training.spec import IN_PYTHON
from bankgcn.training.stepper import usable_device


@dataclass(frozen=True)
class ModelInput:
    """Graphs of a source, and its rows. A row that cannot be read has no graph.

    Args:
        graphs: The graphs.
        rows: Row of each graph.
        columns: The columns of the source, one cell for each row.
        reasons: Why rows have no graph.
        table: The source, if it is a table.
        targets: Columns of the table with the targets, if they are known.
        fill_missing: The target of rows of the table without one.
        read_targets: Reads the targets of the graphs that have one, where the source is no table and may lack some: the
            rows of these graphs, and their targets.
        kept_rows: Row of each graph in the whole source, where these are the graphs of a part of it.
        may_lack_graphs: Whether a row that cannot be read stays, without a graph.
        first_row: Number of rows of the source before these.
        true_names: The columns of the targets of all rows, if these are some of the rows of a source.
        voters: Which models predict each graph, if the models were trained with different splits; see
            :meth:`~bankgcn.training.ensemble.Ensemble.part`.
    """

    graphs: GraphSet
    rows: NDArray[np.int64]
    columns: Columns
    reasons: dict[int, str]
    table: TextTable | None
    targets: Sequence[str] = ()
    fill_missing: str | None = None
    read_targets: Callable[[], tuple[list[int], Targets]] | None = None
    kept_rows: NDArray[np.int64] | None = None
    may_lack_graphs: bool = False
    first_row: int = 0
    true_names: Sequence[str] | None = None
    voters: NDArray[np.bool_] | None = None

    @property
    def source_rows(self) -> NDArray[np.int64]:
        """Row of each graph in the whole source."""
        return self.rows + self.first_row if self.kept_rows is None else self.kept_rows

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.graphs) + len(self.reasons)

    def line_up(self, columns: Columns, graphs: NDArray[np.int64] | None = None) -> Columns:
        """Columns with a cell for each graph, or for these graphs, with a cell for each row; others are empty."""
        rows = self.rows if graphs is None else self.rows[graphs]
        lined_up: Columns = []
        for name, cells in columns:
            by_row: list[Cell] = [None] * self.num_rows
            for row, cell in zip(rows.tolist(), cells, strict=True):
                by_row[row] = cell
            lined_up.append((name, by_row))
        return lined_up

    def truth(self, task: Task) -> tuple[NDArray[np.int64], NDArray]:
        """Numbers of the graphs whose targets are known, and these targets in the order of the model's outputs.

        Raises:
            ValueError: The targets do not fit the model.
        """
        if self.table is not None and self.targets and self.graphs.y is None:
            with_target, y = table_targets(task, self.table.take(self.rows.tolist()), self.targets, self.fill_missing)
            return np.array(with_target, np.int64), y
        graphs, targets = self._own_targets
        return graphs, np.empty((0, len(task.names))) if targets.y is None else true_targets(task, targets)

    def truth_columns(self, task: Task) -> Columns:
        """The columns of the targets, with a cell for each row; none for a table, whose own columns hold them."""
        if self.table is not None:
            return []
        columns: Columns = []
        with suppress(ValueError):  # which truth raises again
            graphs, targets = self._own_targets
            columns = self.line_up(true_columns(task, targets), graphs)
        if self.true_names is None:
            return columns
        empty: list[Cell] = [None] * self.num_rows
        return [(name, dict(columns).get(name, empty)) for name in self.true_names]

    @cached_property
    def _own_targets(self) -> tuple[NDArray[np.int64], GraphSet | Targets]:
        """Numbers of the graphs whose targets are known, and these targets as the source holds them."""
        if self.graphs.y is not None:
            return np.arange(len(self.graphs)), self.graphs
        rows, targets = ([], Targets()) if self.read_targets is None else self.read_targets()
        return np.searchsorted(self.rows, rows), targets

    def take(self, graphs: NDArray[np.int64]) -> ModelInput:
        """These graphs and their rows alone."""
        rows = self.rows[graphs].tolist()
        columns: Columns = [(name, [cells[row] for row in rows]) for name, cells in self.columns]
        table = None if self.table is None else self.table.take(rows)
        return replace(
            self,
            graphs=self.graphs[graphs],
            rows=np.arange(len(rows)),
            columns=columns,
            reasons={},
            table=table,
            kept_rows=self.source_rows[graphs],
            voters=None if self.voters is None else self.voters[graphs],
        )

    def predictions(self, ensemble: Ensemble, calibrated: bool = True) -> Predictions:
        """What the models predict for the graphs."""
        return ensemble.apply(self.graphs, calibrated, self.voters)

    def answered(self, ensemble: Ensemble, seen: bool = False) -> Answered:
        """What the models predict for the graphs whose targets are known.

        Args:
            ensemble: The models.
            seen: Whether to look for graphs that the models were trained or selected on.

        Raises:
            ValueError: The targets do not fit the models.
        """
        with_target, y = self.truth(ensemble.task)
        known = self.take(with_target)
        learned = ensemble.seen(known.graphs) if seen else np.zeros(len(y), np.bool_)
        predictions = known.predictions(ensemble)._replace(embeddings=None)
        return Answered(self.graphs.name, self.num_rows, len(self.graphs), predictions, y, learned, known.voters)


class Answered(NamedTuple):
    """Predictions for graphs whose targets are known, and these targets.

    Args:
        name: Name of the source.
        num_rows: Number of its rows.
        num_graphs: Number of its graphs, with those whose target is unknown.
        predictions: For each graph whose target is known.
        y: The targets, in the order of the outputs.
        seen: Which of these graphs are equal to graphs that the models were trained or selected on, if that was asked.
        voters: Which models predict each graph; see :class:`ModelInput`.
    """

    name: str
    num_rows: int
    num_graphs: int
    predictions: Predictions
    y: NDArray
    seen: NDArray[np.bool_]
    voters: NDArray[np.bool_] | None = None

    @classmethod
    def joined(cls, parts: Sequence[Answered]) -> Answered:
        """The rows of several blocks together."""
        first, answered = parts[0], [part for part in parts if len(part.y)]
        if len(answered) < 2:
            one = answered[0] if answered else first
        else:
            each = [part.predictions for part in answered]
            spread = None if each[0].spread is None else torch.cat([cast("Tensor", one.spread) for one in each])
            members = tuple(map(torch.cat, zip(*(one.members for one in each), strict=True)))
            one = first._replace(
                predictions=Predictions(torch.cat([one.mean for one in each]), spread, None, members),
                y=np.concatenate([part.y for part in answered]),
                seen=np.concatenate([part.seen for part in answered]),
            )
        num_rows, num_graphs = sum(part.num_rows for part in parts), sum(part.num_graphs for part in parts)
        return one._replace(num_rows=num_rows, num_graphs=num_graphs)


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
    return OpenedInput(ensemble, name, folders, flags, wanted, keep_unreadable, notes).whole()


class InputBlock(NamedTuple):
    """Graphs of some rows of a source.

    Args:
        inputs: The graphs.
        rows: Number of the rows.
        digest: A hash of these rows and all before them; empty for a source that is read as a whole.
    """

    inputs: ModelInput
    rows: int
    digest: str = ""


class Wanted(NamedTuple):
    """What a command wants of the graphs; see :func:`read_input`."""

    part: str | None = None
    ignore_targets: bool = False
    need_targets: bool = False


class OpenedInput:
    """A source whose graphs are read for trained models, as a whole or block by block.

    Args:
        ensemble: The models.
        name: The source; by default that of the training.
        folders: Where to look for datasets.
        flags: Options of the reader; those that were not typed are ``None``, and are those of the training.
        wanted: What the command wants.
        keep_unreadable: See :func:`read_input`.
        notes: Whether to print notes.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        name: str | None,
        folders: DataFolders,
        flags: dict[str, Any],
        wanted: Wanted,
        keep_unreadable: bool | None = None,
        notes: bool = True,
    ):
        if name is None and wanted.part is None:
            raise ValueError(
                "name the graphs (bankgcn predict RUN SOURCE), or choose a part of those the run was trained with "
                "(bankgcn predict RUN --part test)"
            )
        if wanted.part is not None and wanted.ignore_targets:
            raise ValueError("--part needs the targets, by which the split was drawn: leave out --ignore-targets")
        self.ensemble, self.folders, self.wanted, self.notes = ensemble, folders, wanted, notes
        self.source = find_source(_training_source(ensemble) if name is None else name, folders)
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
        plan = self._plan(self.source.table(self.options))
        graphs, table = _read(ensemble, plan, self.folders, of_training=part is not None)
        if self.notes:
            self._print_notes(graphs.notes)
        if part is None and (_is_training_source(ensemble, self.source) or ensemble.trained_on(graphs)):
            print_note(OF_TRAINING)
        inputs = _line_up(ensemble, plan, graphs, table)
        if part is None:
            return inputs
        numbers, voters = ensemble.part(graphs, part)
        if self.notes and voters is not None:
            print_note("the runs have different splits; each graph is predicted by those that were tested on it")
        return replace(inputs.take(numbers), voters=voters)

    def blocks(self, workers: Workers, after: int = 0, digest: str = "") -> Iterator[InputBlock]:
        """All graphs in blocks of rows, or in one block where the source cannot be read so or is small.

        Args:
            workers: What parses the rows, if there are several blocks.
            after: How many rows to leave out: those of blocks of an earlier process.
            digest: The hash of these rows.

        Raises:
            FileError: The rows to leave out are others, or the source changed meanwhile.
        """
        rows = None if self.wanted.part is not None else self.source.blocks(self.options)
        first = [] if rows is None else list(islice(rows, 2))
        if rows is None or len(first) < 2:
            if after == 0:
                inputs = self.whole()
                yield InputBlock(inputs, inputs.num_rows)
                return
        plan = self._plan(first[0][0].graph_table)
        if self.notes:
            self._print_notes(())
        if _is_training_source(self.ensemble, self.source):
            print_note(OF_TRAINING)
        known_notes: set[str] = set()
        blocks = _numbered(chain(first, rows or ()), self.source, after, digest)
        with Progress(f"reading {self.source.name}", 1.0, count=percent) as progress:
            read = workers.results(blocks, lambda one: one.block.job(plan.options, plan.expected))
            done, started = 0, time.monotonic()
            for one, result in read:
                inputs = self._block(plan, one, lambda job, result=result: result)  # type: ignore[misc]
                self._print_new_notes(inputs.graphs.notes, known_notes)
                yield InputBlock(inputs, one.block.num_rows, one.digest)
                done += one.block.num_rows
                rate = done / max(time.monotonic() - started, 1e-9)
                progress.update(one.share, details=f"{one.first + one.block.num_rows:,} rows, {rate:,.0f} rows/s")

    def _block(self, plan: _Plan, one: _NumberedBlock, run: Callable[[Job], Any]) -> ModelInput:
        graphs = self.source.load_block(one.block, plan.options, plan.expected, run)
        rows = one.block.graph_table
        if rows is not None:
            return _line_up(self.ensemble, plan, graphs, rows.table, one.first)
        block, true_names = cast("TargetBlock", one.block), list[str]()
        if plan.read_targets is not None:
            read = partial(block.known_targets, options=plan.options, expected=plan.expected)
            plan = plan._replace(read_targets=partial(read, required=self.names_targets))
            with suppress(ValueError):  # which the scores say
                true_names = [name for name, _ in true_columns(self.ensemble.task, block.all_targets(*plan[1:3]))]
        return replace(_line_up(self.ensemble, plan, graphs, None, one.first), true_names=true_names)

    def _plan(self, rows: GraphTable | None) -> _Plan:
        """The options of the training with those that were typed, and where the targets are, given the rows of a table."""
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
        return _Plan(self.source, options, expected, None if rows is None else rows.table, targets, read_targets)

    def _print_notes(self, notes: Sequence[str]) -> None:
        """Print the notes on models and graphs, without those on unreadable rows if the command counts them itself."""
        for run in self.ensemble.without_model:
            print_note(f"{run} has no model, and so no vote")
        for note in notes:
            if not (is_edge_note(note) or (self.counted and LEFT_OUT in note)):  # the training said what edges carry
                print_note(note)

    def _print_new_notes(self, notes: Sequence[str], known: set[str]) -> None:
        """Print notes on the graphs of a block that no block before had: apart from numbers, they are often the same."""
        kinds = {re.sub(r"\d[\d,.]*", "#", note): note for note in notes}
        for kind in [kind for kind in kinds if kind not in known]:
            known.add(kind)
            self._print_notes_of_block(kinds[kind])

    def _print_notes_of_block(self, note: str) -> None:
        if self.notes and not (is_edge_note(note) or (self.counted and LEFT_OUT in note)):
            print_note(f"{note} (in one block of rows; others may have such graphs, too)")


class _NumberedBlock(NamedTuple):
    """A block with its place in the source."""

    block: RowBlock
    first: int  # the number of its first row
    share: float  # of the source that was read with it
    digest: str  # of its rows and all before it


def _numbered(
    blocks: Iterable[tuple[RowBlock, float]], source: Source, after: int, digest: str
) -> Iterator[_NumberedBlock]:
    """The blocks behind the first rows, which must have this hash; see :meth:`OpenedInput.blocks`."""
    assert source.path is not None
    before, first, so_far = _state(source.path), 0, ""
    for block, share in blocks:
        if _state(source.path) != before:
            raise FileError("changed while it was read", source.path)
        so_far, last = block.digest(so_far), first + block.num_rows
        if first >= after:
            yield _NumberedBlock(block, first, share, so_far)
        elif last > after or (last == after and so_far != digest):
            break
        first = last
    if first < after:
        other = "its first {rows} rows are not those that were predicted before: start again by {overwrite}"
        raise FileError(Message(other, rows=f"{after:,}", overwrite=Option("overwrite", True)), source.path)


def _state(path: Path) -> tuple[int, int]:
    """What changes when a file is written."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


OF_TRAINING = "these are the graphs of training; --part test selects those it did not learn from"


class _Plan(NamedTuple):
    """How a source is read for a model."""

    source: Source
    options: ReadOptions
    expected: Expected
    table: TextTable | None  # the source, if it is a table
    targets: list[str]  # its columns of targets
    read_targets: Callable[[Sequence[int]], tuple[list[int], Targets]] | None  # of sources that are no tables


def _read(
    ensemble: Ensemble, plan: _Plan, folders: DataFolders, of_training: bool
) -> tuple[GraphSet, TextTable | None]:
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
    ensemble: Ensemble, plan: _Plan, graphs: GraphSet, table: TextTable | None, first_row: int = 0
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


def _is_training_source(ensemble: Ensemble, source: Source) -> bool:
    """Whether this is the file of the training: without their targets, its graphs have another fingerprint."""
    return ensemble.spec is not None and source.path is not None and ensemble.spec.dataset == str(source.path.resolve())


PARTS = {"test": "test graphs", "valid": "validation graphs", "train": "training graphs"}
"""The parts of a split that a report may show, the first that has graphs; and their names."""


def examine(ensemble: Ensemble, inputs: ModelInput, skip_unknown: bool = False) -> PredictedGraphs:
    """Predictions for the graphs of a source; targets only if all of them are known.

    Args:
        ensemble: The models.
        inputs: The graphs.
        skip_unknown: Whether to leave out graphs without a target, if others have one.
    """
    try:
        with_target, y = inputs.truth(ensemble.task)
    except ValueError as error:
        print_note(f"the targets are not shown: {with_flags(error)}")
        with_target, y = np.arange(0), np.empty(0)
    total = len(inputs.graphs)
    if skip_unknown and 0 < len(with_target) < total:
        print_note(f"{total - len(with_target):,} of {total:,} graphs have no target: left out")
        inputs = inputs.take(with_target)
    graphs = inputs.graphs
    smiles = graphs.names if graphs.feature_spec.get("kind") == "atoms" else None
    names = graphs.ids or (graphs.names if smiles is None else None)
    predictions = inputs.predictions(ensemble)
    return PredictedGraphs(
        graphs,
        predictions.mean.numpy(),
        y if len(with_target) == len(graphs) and len(graphs) else None,
        names or tuple(numbered(row) for row in inputs.source_rows.tolist()),
        smiles or (None,) * len(graphs),
        inputs.voters,
        predictions,
    )


def output_number(task: Task, label: str | None) -> int | None:
    """The number of the class, value or label of this name."""
    kinds = {"classes": "class", "values": "value", "labels": "label"}
    return (
        None if label is None else pick({name: place for place, name in enumerate(task.names)}, label, kinds[task.kind])
    )


def numbered(row: int) -> str:
    """What a graph without an id is called."""
    return f"graph {row}"


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
