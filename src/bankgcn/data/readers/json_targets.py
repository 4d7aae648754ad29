"""The targets of graphs in JSON, some of which may be missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bankgcn.data.readers.json_entries import Entry, PlacedGraph
from bankgcn.data.readers.policy import Policy
from bankgcn.data.targets import TargetError, Targets, TargetWords, TaskName, encode_targets, is_unknown
from bankgcn.files.checked import FileError


def with_target(
    graphs: list[PlacedGraph], missing: Policy, target: str | None
) -> tuple[list[PlacedGraph], dict[int, str], tuple[str, ...]]:
    """The graphs that have a target, the rows of the others with the reason, and a note on them."""
    without = [one for one in graphs if is_unknown(one.graph.target)]
    if target is not None and len(without) == len(graphs):
        raise _no_target(graphs, target)
    if not without or len(without) == len(graphs):
        return graphs, {}, ()
    if missing == "refuse":
        advice = 'missing="skip" leaves such graphs out, has_target=False reads none'
        raise without[0].entry.error(f"has no target, but other lines have ({advice})")
    found = f"{len(without):,} of {len(graphs):,} graphs have no target"
    kept = [one for one in graphs if not is_unknown(one.graph.target)]
    return kept, {one.row: "no target" for one in without}, (f"{found} and are left out",)


def known_targets(
    entries: Sequence[Entry],
    rows: Sequence[int],
    target: str | None,
    task: TaskName,
    required: bool,
    words: TargetWords,
) -> tuple[list[int], Targets]:
    """The rows whose targets are known, and these targets.

    Args:
        entries: All entries.
        rows: The rows to look at; their graphs can be read.
        target: As in :func:`bankgcn.data.readers.node_link.parse_node_link`.
        task: What the targets are.
        required: Whether it is an error if no graph has the target that ``target`` names.
        words: How words of targets are read.

    Raises:
        FileError: A target does not fit the task; the message names its place.
    """
    graphs = [PlacedGraph(row, entries[row], entries[row].parsed(target, null_is_missing=True)) for row in rows]
    graphs = [one.with_words(words) for one in graphs]
    known = [one for one in graphs if not is_unknown(one.graph.target)]
    if required and target is not None and graphs and not known:
        raise _no_target(graphs, target)
    return [one.row for one in known], encode(known, target, task, None)


def _no_target(graphs: Sequence[PlacedGraph], target: str) -> FileError:
    keys = sorted({key for one in graphs for key in one.graph.metadata})
    listed = f"; their keys are {', '.join(map(repr, keys))}" if keys else ""
    return FileError(f"no graph has the target {target!r}{listed}", graphs[0].entry.path)


def encode(
    graphs: Sequence[PlacedGraph], target: str | None, task: TaskName | None, classes: Sequence[str] | None
) -> Targets:
    """Targets of all graphs, or none if no graph has one; a single number has the name of its key."""
    values: list[Any] = [one.graph.target for one in graphs]
    if all(map(is_unknown, values)):
        return Targets()
    if target is not None and not any(isinstance(value, list | Mapping) for value in values):
        values = [{target.strip(): value} for value in values]
    try:
        return encode_targets(values, task, classes)
    except TargetError as error:
        if error.graph is None:
            raise FileError(str(error), graphs[0].entry.path) from error
        raise graphs[error.graph].entry.error(str(error)) from error
