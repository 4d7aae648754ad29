"""JSON lines: one node-link graph per line, in the format of :mod:`bankgcn.data.readers.node_link`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.edges import Asymmetric
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.json_entries import entries_of_lines
from bankgcn.data.readers.json_graphs import OPTIONS, graph_set, infer_schema, parse_entries
from bankgcn.data.readers.json_targets import known_targets
from bankgcn.data.readers.policy import Policy, Skipped
from bankgcn.data.readers.reader import Reader
from bankgcn.data.targets import Targets, TargetWords, TaskName
from bankgcn.files.archives import plain_stem
from bankgcn.files.atomic import atomic_write


def read_jsonlines(
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
    """The graphs of a file.

    Args:
        path: The file, in UTF-8. Blank lines are ignored.
        schema: Which signals the nodes have; by default all that the file has. Graphs to predict need the schema of
            the graphs that the model was trained on, see :func:`read_schema`.
        target: Key of ``graph``, or of the document itself, that holds the target, or several, separated by commas; by
            default ``y`` of ``graph``, or ``target`` of the document.
        has_target: False to read no targets.
        unreadable: What to do with a graph that cannot be read: ``"refuse"`` raises an error, ``"skip"`` leaves it out
            and adds a note.
        missing: What to do if some graphs have no target: ``"refuse"`` or ``"skip"``.
        missing_words: Words that stand for a missing target, separated by commas, in upper or lower case.
        fill_missing: What stands for an entry that a node lacks, or that is ``null``: a number or a word.
        ignore_case: Whether classes that differ only in case or blanks are one, in lower case.
        task: What the targets are, if the reader is not to guess; see :func:`bankgcn.data.targets.encode_targets`.
        classes: Names of the classes in order of their numbers, if a model fixes them.
        asymmetric: What to do with directed edges; see :meth:`GraphSet.from_edges`.

    Raises:
        FileError: The file cannot be read; the message names the line.
    """
    return graph_set(
        entries_of_lines(Path(path)),
        plain_stem(Path(path)),
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
    """The targets of a file; see :func:`bankgcn.data.readers.json_targets.known_targets`."""
    return known_targets(entries_of_lines(path), rows, target, task, required, words)


def read_schema(path: str | PathLike[str]) -> NodeSchema:
    """Which signals the nodes of a file have, to read other files in the same way."""
    refuse = Skipped(allowed=False)
    return infer_schema(parse_entries(entries_of_lines(Path(path)), refuse), refuse)


def write_jsonlines(graphs: GraphSet, path: str | PathLike[str]) -> None:
    """Write graphs to a file, atomically: signals as list ``x``, weights, class names or other targets, and names.

    NetworkX reads a line with ``node_link_graph(json.loads(line), edges="edges")``.
    """
    with atomic_write(path) as file:
        for number in range(len(graphs)):
            file.write(json.dumps(_document(graphs, number), allow_nan=False).encode() + b"\n")


def _document(graphs: GraphSet, number: int) -> dict[str, Any]:
    batch = graphs.batch(number)
    signals = batch.x.tolist() if graphs.num_features else []
    nodes = [{"id": node, **({"x": signals[node]} if signals else {})} for node in range(batch.num_nodes)]
    edges: list[dict[str, Any]] = []
    for place, (i, j) in enumerate(batch.edge_index.T.tolist()):
        if i < j:
            weight = {} if batch.edge_weight is None else {"weight": batch.edge_weight[place].item()}
            edges.append({"source": i, "target": j, **weight})
    metadata: dict[str, Any] = {} if graphs.names is None else {"name": graphs.names[number]}
    if graphs.y is not None:
        metadata["y"] = _target(graphs, number)
    return {"directed": False, "multigraph": False, "graph": metadata, "nodes": nodes, "edges": edges}


def _target(graphs: GraphSet, number: int) -> Any:
    """The name of a class, a number, a list of them, or numbers by name; ``None`` is unknown."""
    y = cast("NDArray", graphs.y)[number]
    if graphs.classes:
        return graphs.classes[y]
    numbers = [None if np.isnan(value) else value for value in np.atleast_1d(y).tolist()]
    if graphs.targets:
        return dict(zip(graphs.targets, numbers, strict=True))
    return numbers if y.ndim else numbers[0]


def expected_schema(expected: Mapping[str, Any]) -> dict[str, Any]:
    """The option that gives nodes the signals that a trained model expects."""
    return {"schema": NodeSchema.from_spec(expected)} if expected.get("kind") == "named" else {}


READER = Reader(
    kind="a file of JSON lines",
    accepts="a .jsonl or .ndjson of graphs",
    read=read_jsonlines,
    options=OPTIONS,
    suffixes=(".jsonl", ".ndjson"),
    options_for=expected_schema,
    known_targets=read_known_targets,
)
