"""The graphs of a source, or of several files with the same columns, for trained models: block by block."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from bankgcn.cli.errors import print_note
from bankgcn.cli.model_input import ModelInput
from bankgcn.cli.open_input import OF_TRAINING, OpenedInput, Plan, Wanted, sources_of
from bankgcn.cli.progress import Progress, percent
from bankgcn.data.catalog import DataFolders
from bankgcn.data.readers import RowBlock
from bankgcn.data.workers import Job, Workers
from bankgcn.files.checked import FileError
from bankgcn.messages import Message, Option
from bankgcn.training.ensemble import Ensemble

Blocks = Iterable[tuple[RowBlock, float]]


class InputBlock(NamedTuple):
    """Graphs of some rows.

    Args:
        inputs: The graphs.
        rows: Number of the rows.
        digest: A hash of these rows and all before them; empty for a source that is read as a whole.
        file: The file, if there are several.
    """

    inputs: ModelInput
    rows: int
    digest: str = ""
    file: Path | None = None


class InputBlocks:
    """A source, or several files, whose graphs are read block by block.

    A source that cannot be read so, or that has one block of rows, is read as a whole.

    Args:
        ensemble: The models.
        name: The source, or a folder or a pattern of files; by default the source of the training.
        folders: Where to look for datasets.
        flags: Options of the reader; those that were not typed are ``None``, and are those of the training.
        wanted: What the command wants.
        keep_unreadable: See :func:`~bankgcn.cli.open_input.read_input`.
        keep: The columns that count, where there are several files; by default all of the first.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        name: str | None,
        folders: DataFolders,
        flags: dict[str, Any],
        wanted: Wanted,
        keep_unreadable: bool | None = None,
        keep: Sequence[str] | None = None,
    ):
        sources = sources_of(ensemble, name, folders, wanted)
        self.ensemble = ensemble
        self.opened = [OpenedInput(ensemble, one, folders, flags, wanted, keep_unreadable) for one in sources]
        self._columns = self._shared_columns(keep) if len(sources) > 1 else None
        self._notes: set[str] = set()

    @property
    def made_from(self) -> dict[str, Any]:
        """What decides on the graphs, apart from the content of the files."""
        return {
            "models": self.ensemble.content_hash,
            "source": [str(one.source.path or one.source.name) for one in self.opened],
            **self.opened[0].options.given,
        }

    def read(self, workers: Workers, after: int = 0, digest: str = "") -> Iterator[InputBlock]:
        """The blocks in order.

        Args:
            workers: What parses the rows, if there are several blocks.
            after: How many rows to leave out: those of blocks of an earlier process.
            digest: The hash of these rows.

        Raises:
            FileError: The rows to leave out are others, or a file changed meanwhile.
        """
        first = self.opened[0]
        rows = first.rows() if len(self.opened) == 1 else None
        begun, rest = ([], None) if rows is None else _first_and_rest(rows)
        if len(self.opened) == 1 and rest is None and not after:
            inputs = first.whole()
            yield InputBlock(inputs, inputs.num_rows)
            return
        first.print_notes(())
        if any(one.is_training_source for one in self.opened):
            print_note(OF_TRAINING)
        blocks = behind(self._numbered(chain(begun, rest or ()) if begun else None), after, digest)
        name = first.source.name if len(self.opened) == 1 else f"{len(self.opened)} files"
        with Progress(f"reading {name}", 1.0, count=percent) as progress:
            done, started = 0, time.monotonic()
            for one, result in workers.results(blocks, _NumberedBlock.job):
                inputs = one.opened.block(one.plan, one.block, one.first, partial(_result, result))
                self._print_new_notes(one.opened.shown(inputs.graphs.notes))
                yield InputBlock(self._in_order(inputs), one.block.num_rows, one.digest, self._file(one))
                done += one.block.num_rows
                rate = done / max(time.monotonic() - started, 1e-9)
                progress.update(one.share, details=f"{one.last:,} rows, {rate:,.0f} rows/s")

    def _file(self, one: _NumberedBlock) -> Path | None:
        return one.opened.source.path if self._columns is not None else None

    def _in_order(self, inputs: ModelInput) -> ModelInput:
        """The same with the columns in the order of the first file."""
        if self._columns is None:
            return inputs
        columns = dict(inputs.columns)
        return replace(inputs, columns=[(name, columns[name]) for name in self._columns if name in columns])

    def _numbered(self, begun: Blocks | None) -> Iterator[_NumberedBlock]:
        """The blocks of all files with their places.

        Args:
            begun: The blocks of the first file, if it is open already.
        """
        sizes = [_state(one)[0] for one in self.opened]
        last, digest = 0, ""
        for number, opened in enumerate(self.opened):
            blocks = begun if begun is not None and not number else opened.rows()
            assert blocks is not None
            before, plan, first = _state(opened), None, 0
            for block, share in blocks:
                if _state(opened) != before:
                    raise FileError("changed while it was read", _path(opened))
                plan = plan or opened.plan(block.graph_table)
                self._check_columns(opened, plan, block)
                digest, last = block.digest(digest), last + block.num_rows
                read = (sum(sizes[:number]) + share * sizes[number]) / max(sum(sizes), 1)
                yield _NumberedBlock(opened, plan, block, first, last, read, digest)
                first += block.num_rows

    def _shared_columns(self, keep: Sequence[str] | None) -> list[str]:
        """The columns of all files.

        Raises:
            FileError: A file has other columns than the first, or cannot be read in blocks.
        """
        self._keep, self._columns = keep, None
        for opened in self.opened:
            rows = opened.rows()
            if rows is None:
                raise FileError(f"is {opened.source.kind}, which is not read together with other files", _path(opened))
            block = next(iter(rows))[0]
            self._check_columns(opened, opened.plan(block.graph_table), block)
        return self._columns or []

    def _check_columns(self, opened: OpenedInput, plan: Plan, block: RowBlock) -> None:
        """Raise unless a file has the columns of the first one."""
        if len(self.opened) == 1:
            return
        own = [name for name, _ in opened.columns(plan, block)]
        if self._columns is None:
            self._columns = own if self._keep is None else list(self._keep)
        first = _path(self.opened[0])
        for name in self._columns:
            if name not in own:
                raise FileError(f"has no column {name!r}, which {first} has{_KEEP}", _path(opened))
        for name in own if self._keep is None else ():
            if name not in self._columns:
                raise FileError(f"has a column {name!r}, which {first} has not{_KEEP}", _path(opened))

    def _print_new_notes(self, notes: Sequence[str]) -> None:
        """Print the notes on the graphs of a block that no block before had, numbers apart."""
        for note in notes:
            kind = re.sub(r"\d[\d,.]*", "#", note)
            if kind not in self._notes:
                self._notes.add(kind)
                print_note(f"{note} (in one block of rows; others may have such graphs, too)")


_KEEP = ": the files need the same columns, or choose those that count by --keep"


class _NumberedBlock(NamedTuple):
    """A block with its place."""

    opened: OpenedInput
    plan: Plan
    block: RowBlock
    first: int  # the number of its first row in its file
    last: int  # the number of rows of all files up to here
    share: float  # of all files that was read with it
    digest: str  # of all rows up to here

    def job(self) -> Job:
        """The work on its rows."""
        return self.block.job(self.plan.options, self.plan.expected)


def behind(blocks: Iterator[_NumberedBlock], after: int, digest: str) -> Iterator[_NumberedBlock]:
    """The blocks behind the first rows, which must have this hash; see :meth:`InputBlocks.read`."""
    path = None
    while after:
        one = next(blocks, None)
        path = path if one is None else _path(one.opened)
        if one is None or one.last > after or (one.last == after and one.digest != digest):
            other = "the first {rows} rows are not those that were predicted before: start again by {overwrite}"
            raise FileError(Message(other, rows=f"{after:,}", overwrite=Option("overwrite", True)), path or "")
        if one.last == after:
            break
    yield from blocks


def _first_and_rest(
    rows: Iterator[tuple[RowBlock, float]],
) -> tuple[list[tuple[RowBlock, float]], Iterator[tuple[RowBlock, float]] | None]:
    """The first block, and the others, or an error of the source where they are due; ``None`` if there are none."""
    first = list(islice(rows, 1))
    try:
        second = list(islice(rows, 1))
    except (FileError, OSError) as error:
        return first, map(_raise, [error])
    return first, chain(second, rows) if second else None


def _raise(error: Exception) -> NoReturn:
    raise error


def _result(result: Any, job: Job) -> Any:
    """The result of a job that another process has done."""
    return result


def _path(opened: OpenedInput) -> Path:
    assert opened.source.path is not None
    return opened.source.path


def _state(opened: OpenedInput) -> tuple[int, int]:
    """What changes when a file is written."""
    status = _path(opened).stat()
    return status.st_size, status.st_mtime_ns
