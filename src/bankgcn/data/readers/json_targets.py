"""The targets of graphs in JSON, some of which may be missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from bankgcn.data.readers.json_entries import PlacedGraph
from bankgcn.data.targets import TargetError, Targets, TaskName, encode_targets, is_unknown
from bankgcn.files.errors import FileError

Missing = Literal["refuse", "skip", "ignore"]


def with_target(
    graphs: list[PlacedGraph], missing: Missing, target: str | None
) -> tuple[list[PlacedGraph], dict[int, str], tuple[str, ...]]:
    """The graphs that have a target, the rows of the others with the reason, and a note on them."""
    without = [one for one in graphs if is_unknown(one.graph.target)]
    if target is not None and len(without) == len(graphs) and missing != "ignore":
        keys = sorted({key for one in graphs for key in one.graph.metadata})
        listed = f"; their keys are {', '.join(map(repr, keys))}" if keys else ""
        raise FileError(f"no graph has the target {target!r}{listed}", graphs[0].entry.path)
    if not without or len(without) == len(graphs):
        return graphs, {}, ()
    if missing == "refuse":
        advice = 'missing="skip" leaves such graphs out, has_target=False reads none'
        raise without[0].entry.error(f"has no target, but other lines have ({advice})")
    found = f"{len(without):,} of {len(graphs):,} graphs have no target"
    if missing == "ignore":
        return [replace(one, graph=replace(one.graph, target=None)) for one in graphs], {}, (f"{found}: none is read",)
    kept = [one for one in graphs if not is_unknown(one.graph.target)]
    return kept, {one.row: "no target" for one in without}, (f"{found} and are left out",)


def encode(graphs: Sequence[PlacedGraph], task: TaskName | None, classes: Sequence[str] | None) -> Targets:
    """Targets of all graphs, or none if no graph has one."""
    if all(is_unknown(one.graph.target) for one in graphs):
        return Targets()
    try:
        return encode_targets([one.graph.target for one in graphs], task, classes)
    except TargetError as error:
        if error.graph is None:
            raise FileError(str(error), graphs[0].entry.path) from error
        raise graphs[error.graph].entry.error(str(error)) from error
