"""Explanations as a long table, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from torch import Tensor

from bankgcn.explain.explanation import Explanation
from bankgcn.files.tables import Columns
from bankgcn.tasks import Task

Row = tuple[str, int | None, str, Tensor]


def explanation_rows(found: Explanation, words: Sequence[str] | None) -> Iterator[Row]:
    """What an explanation consists of: kind, number, name, and what it adds to each output.

    Rows of the kinds ``node`` and ``constant`` add up to the row ``output``; of an exact explanation, so do those of
    the kinds ``band`` and ``constant``.
    """
    for node, contribution in enumerate(found.nodes):
        yield "node", node, words[node] if words else "", contribution
    if found.bands is not None:
        width = 2 / len(found.bands)
        for band, contribution in enumerate(found.bands):
            yield "band", band, f"{width * band:g} to {width * (band + 1):g}", contribution
    yield "constant", None, "", found.constant
    yield "output", None, found.method, found.outputs


def explanation_columns(
    task: Task, explained: Iterable[tuple[int, str, Iterable[Row]]], outputs: Sequence[int] | None = None
) -> Columns:
    """The table of explanations.

    Args:
        task: What was learned.
        explained: Number and name of each graph, with :func:`explanation_rows` of it.
        outputs: Numbers of the classes, values or labels that have a column; by default all.
    """
    chosen = range(len(task.names)) if outputs is None else outputs
    header = ("graph", "name", "kind", "number", "label", *(f"adds_to_{task.names[output]}" for output in chosen))
    lines = [
        (graph, name, kind, number, label, *contribution[list(chosen)].tolist())
        for graph, name, rows in explained
        for kind, number, label, contribution in rows
    ]
    return [(name, [line[place] for line in lines]) for place, name in enumerate(header)]


def explanation_json(
    task: Task, graph: int, name: str, method: str, rows: Iterable[Row], outputs: Sequence[int] | None = None
) -> dict[str, Any]:
    """One graph as JSON holds it; the arguments are those of :func:`explanation_columns`."""
    chosen = range(len(task.names)) if outputs is None else outputs
    found: dict[str, Any] = {"graph": graph, "name": name, "method": method, "nodes": [], "bands": []}
    for kind, _, label, contribution in rows:
        adds = {task.names[output]: contribution[output].item() for output in chosen}
        if kind in ("node", "band"):
            found[f"{kind}s"].append({"label": label, "adds": adds})
        else:
            found[kind] = adds
    return found
