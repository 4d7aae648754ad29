"""Files of the ending ``.json``: an array of node-link graphs in one file, or a folder with a graph in each file."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from bankgcn.data.edges import Asymmetric
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.json_entries import Entry, entries_of_file, entries_of_folder, json_files
from bankgcn.data.readers.json_graphs import OPTIONS, graph_set
from bankgcn.data.readers.json_targets import known_targets
from bankgcn.data.readers.jsonlines import expected_schema
from bankgcn.data.readers.policy import Policy
from bankgcn.data.readers.reader import Reader
from bankgcn.data.targets import Targets, TargetWords, TaskName
from bankgcn.files.archives import plain_stem


def read_json(
    path: str | PathLike[str],
    *,
    schema: NodeSchema | None = None,
    target: str | None = None,
    has_target: bool = True,
    unreadable: Policy = "refuse",
    missing: Policy = "refuse",
    missing_words: str | None = None,
    fill_missing: str | None = None,
    ignore_case: bool = False,
    task: TaskName | None = None,
    classes: Sequence[str] | None = None,
    asymmetric: Asymmetric = "refuse",
) -> GraphSet:
    """The graphs of a file with an array, or of a folder with a file for each.

    The graphs of a folder are named after their files, unless a document has a name. Options are those of
    :func:`~bankgcn.data.readers.jsonlines.read_jsonlines`.

    Raises:
        FileError: A graph cannot be read; the message names the file, and the place in an array.
    """
    path = Path(path)
    return graph_set(
        _entries(path),
        plain_stem(path.resolve()),
        schema=schema,
        target=target,
        has_target=has_target,
        unreadable=unreadable,
        missing=missing,
        missing_words=missing_words,
        fill_missing=fill_missing,
        ignore_case=ignore_case,
        task=task,
        classes=classes,
        asymmetric=asymmetric,
    )


def read_known_targets(
    path: Path, rows: Sequence[int], target: str | None, task: TaskName, required: bool, words: TargetWords
) -> tuple[list[int], Targets]:
    """The targets of a file or folder; see :func:`bankgcn.data.readers.json_targets.known_targets`."""
    return known_targets(_entries(path), rows, target, task, required, words)


def _entries(path: Path) -> list[Entry]:
    return entries_of_folder(path) if path.is_dir() else entries_of_file(path)


READER = Reader(
    kind="a .json file or a folder of them",
    accepts="a .json array or a folder of .json graphs",
    read=read_json,
    options=OPTIONS,
    suffixes=(".json",),
    sniff=lambda path: path.is_dir() and bool(json_files(path)),
    files=lambda path: json_files(path) if path.is_dir() else [path],
    options_for=expected_schema,
    known_targets=read_known_targets,
)
