"""What a reader is: one kind of source, as a row of data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bankgcn.data.graphs import GraphSet
from bankgcn.data.splits import Split
from bankgcn.data.targets import Targets, TargetWords, TaskName
from bankgcn.files.archives import plain_ending
from bankgcn.files.tables import TextTable

Progress = Callable[[int, int], None]  # graphs read so far, graphs in all


@dataclass(frozen=True, kw_only=True)
class Reader:
    """How one kind of source is recognised and read.

    Args:
        kind: What a message calls such a source.
        accepts: How a user gives such a source by its path; empty if only datasets of the catalogue are of this kind.
        read: From a path, and options by keyword, to graphs.
        options: Names of the options that ``read`` takes.
        suffixes: Endings of the files of this kind, in lower case; the files may be compressed.
        sniff: Whether a path is of this kind, where the ending does not tell.
        files: The files that ``read`` reads; the cache reads again when one of them changes.
        set_name: The name that the files give to the set; empty if they give none.
        options_for: Options that make features as those described: what a trained model expects. Empty if ``read``
            cannot make them.
        official_split: From the path and the number of graphs to the split that the authors fixed.
        holds_molecules: Whether nodes are atoms, whose features a user can choose.
        table: From a path to the rows of a source that is a table, with a row for each graph: its targets are columns.
        known_targets: From a path, rows, the option ``target``, a task, whether there must be targets, and how their
            words are read, to the rows whose targets are known and these targets: for sources whose ``read`` needs a
            target for every graph.
        reports_progress: Whether ``read`` takes ``progress``, see :data:`Progress`.
        cached: Whether the graphs are kept in the cache.
    """

    kind: str
    accepts: str = ""
    read: Callable[..., GraphSet]
    options: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    sniff: Callable[[Path], bool] = lambda path: False
    files: Callable[[Path], Sequence[Path]] = lambda path: [path]
    set_name: Callable[[Path], str] = lambda path: ""
    options_for: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda expected: {}
    official_split: Callable[[Path, int], Split] | None = None
    table: Callable[[Path], TextTable] | None = None
    known_targets: (
        Callable[[Path, Sequence[int], str | None, TaskName, bool, TargetWords], tuple[list[int], Targets]] | None
    ) = None
    holds_molecules: bool = False
    reports_progress: bool = False
    cached: bool = True

    def recognises(self, path: Path) -> bool:
        """Whether a path is of this kind."""
        return (path.is_file() and plain_ending(path) in self.suffixes) or self.sniff(path)
