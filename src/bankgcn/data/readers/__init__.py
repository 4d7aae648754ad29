"""One module for each format that graphs are read from; what a reader is, and how it leaves out what it cannot read.

A new reader is a module with a :class:`Reader`, and a line of :data:`bankgcn.data.sources.READERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.splits import Split
from bankgcn.data.target_values import Targets
from bankgcn.data.workers import Job
from bankgcn.files.archives import plain_ending
from bankgcn.files.checked import FileError
from bankgcn.files.tensors import is_array_file
from bankgcn.messages import WITHOUT_ADVICE

if TYPE_CHECKING:
    from bankgcn.data.targets import GraphTable

Progress = Callable[[int, int], None]  # graphs read so far, graphs in all
KnownTargets = Callable[[Path, Sequence[int], ReadOptions, Expected, bool], tuple[list[int], Targets]]

SHOWN = 5  # reasons that an error lists
CHARACTERS = 160  # of a reason in a note
LEFT_OUT = "could not be read and are left out"
"""What notes say of graphs that are skipped."""


@dataclass(frozen=True, kw_only=True)
class Reader:
    """How one kind of source is recognised and read.

    Args:
        kind: What a message calls such a source.
        accepts: How a user gives such a source by its path; empty if only datasets of the catalogue are of this kind.
        read: From a path, options, and what is expected of the graphs, to graphs.
        options: Names of the options that ``read`` heeds; a user who gives another one is told.
        heeds: Names of the fields of :class:`Expected` that ``read`` heeds.
        suffixes: Endings of the files of this kind, in lower case; the files may be compressed.
        sniff: Whether a path is of this kind, where the ending does not tell.
        files: The files that ``read`` reads; the cache reads again when one of them changes.
        set_name: The name that the files give to the set; empty if they give none.
        official_split: From the path and the number of graphs to the split that the authors fixed.
        holds_molecules: Whether nodes are atoms, whose features a user can choose.
        table: From a path and options to a source that is a table with a row for each graph: its targets are columns.
        blocks: From a path and options to the same in blocks of rows, each with the share of the file that was read, so
            that a file of any length can be read; ``None`` where a file cannot be read so. ``read`` of such a reader
            takes ``run``, see :meth:`RowBlock.graphs`.
        known_targets: From a path, rows, options, the task, and whether there must be targets, to the rows whose
            targets are known and these targets: for sources whose ``read`` needs a target for every graph.
        reports_progress: Whether ``read`` calls ``progress``.
        cached: Whether the graphs are kept in the cache.
    """

    kind: str
    accepts: str = ""
    read: Callable[..., GraphSet]
    options: tuple[str, ...] = ()
    heeds: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    sniff: Callable[[Path], bool] = lambda path: False
    files: Callable[[Path], Sequence[Path]] = lambda path: [path]
    set_name: Callable[[Path], str] = lambda path: ""
    official_split: Callable[[Path, int], Split] | None = None
    table: Callable[[Path, ReadOptions], GraphTable] | None = None
    blocks: Callable[[Path, ReadOptions], Iterator[tuple[RowBlock, float]] | None] | None = None
    known_targets: KnownTargets | None = None
    holds_molecules: bool = False
    reports_progress: bool = False
    cached: bool = True

    def recognises(self, path: Path) -> bool:
        """Whether a path is of this kind."""
        return (path.is_file() and plain_ending(path) in self.suffixes) or self.sniff(path)


class RowBlock(Protocol):
    """Some rows of a source that follow one another, not parsed yet: a table, or lines with a graph each."""

    @property
    def num_rows(self) -> int:
        """Number of rows."""

    @property
    def graph_table(self) -> GraphTable | None:
        """The rows of a source that is a table."""

    def digest(self, before: str) -> str:
        """A hash of the content of these rows and of what came before."""

    def job(self, options: ReadOptions, expected: Expected) -> Job:
        """The work on the rows that takes long, for any process."""

    def graphs(self, options: ReadOptions, expected: Expected, run: Callable[[Job], Any]) -> GraphSet:
        """The graphs of the rows, given what runs the job or has its result."""


class TargetBlock(RowBlock, Protocol):
    """Rows of a source that is no table: their targets are in the graphs."""

    @property
    def named(self) -> bool:
        """Whether any graph of the source has a name."""

    def known_targets(
        self, rows: Sequence[int], options: ReadOptions, expected: Expected, required: bool
    ) -> tuple[list[int], Targets]:
        """As the field of :class:`Reader`."""

    def all_targets(self, options: ReadOptions, expected: Expected) -> Targets:
        """Targets that have all the columns of those of the source."""


class Skipped(dict[int, str]):
    """Rows that have no graph, with the reasons.

    Args:
        allowed: Whether a graph that cannot be read is left out; else it is an error.
    """

    def __init__(self, allowed: bool):
        super().__init__()
        self.allowed = allowed

    @contextmanager
    def catching(self, row: int) -> Iterator[None]:
        """Note the error of a row, if that is allowed."""
        try:
            yield
        except FileError as error:
            if not self.allowed:
                raise
            self[row] = error.spelled(WITHOUT_ADVICE)

    def listed(self) -> str:
        """The first reasons, and how many more there are."""
        more = f"; and {len(self) - SHOWN:,} more" if len(self) > SHOWN else ""
        return "; ".join([*self.values()][:SHOWN]) + more

    def notes(self, total: int, what: str) -> tuple[str, ...]:
        """A note on these rows, if there are any; ``what`` is what the message calls the rows."""
        return (left_out_note(len(self), total, what, next(iter(self.values()))),) if self else ()


def left_out_note(count: int, total: int, what: str, first: str) -> str:
    """How many graphs could not be read, and why the first could not; the reasons of all are in ``skipped``.

    Args:
        count: Their number.
        total: The number of all graphs.
        what: What the message calls them.
        first: The first reason.
    """
    shown = first if len(first) <= CHARACTERS else f"{first[:CHARACTERS]}..."
    return f"{count:,} of {total:,} {what} {LEFT_OUT}; the first: {shown}"


def is_saved_set(path: Path) -> bool:
    """Whether a file begins as saved sets do, whatever it is called."""
    return path.is_file() and is_array_file(path)


SAVED = Reader(
    kind="a saved set",
    accepts="a saved GraphSet",
    read=lambda path, options, expected: GraphSet.load(path),
    sniff=is_saved_set,
    cached=False,  # the file is as fast as the cache
)
