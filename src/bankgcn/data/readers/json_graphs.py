"""Node-link graphs as a set: what the readers of JSON lines, JSON arrays and folders of JSON files share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.edge_data import edge_note
from bankgcn.data.edges import Asymmetric
from bankgcn.data.errors import GraphError
from bankgcn.data.features.node_schema import MissingEntry, NodeSchema
from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.json_entries import Entry, PlacedGraph
from bankgcn.data.readers.json_targets import encode, with_target
from bankgcn.data.readers.node_link import NodeLinkGraph
from bankgcn.data.readers.policy import Policy, Skipped, check_policy
from bankgcn.data.targets import Targets, TargetWords, TaskName, class_name_notes, scalar
from bankgcn.files.checked import FileError

OPTIONS = (
    "schema",
    "target",
    "has_target",
    "unreadable",
    "missing",
    "missing_words",
    "fill_missing",
    "ignore_case",
    "task",
    "classes",
    "asymmetric",
)
"""The options of :func:`graph_set`, which every reader of such graphs has."""


def graph_set(
    entries: Sequence[Entry],
    name: str,
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
    """The graphs of some entries; options as in :func:`bankgcn.data.readers.jsonlines.read_jsonlines`.

    Raises:
        FileError: A graph cannot be read; the message names its place.
    """
    check_policy(unreadable, "way to treat unreadable graphs")
    check_policy(missing, "way to treat missing targets")
    skipped = Skipped(unreadable == "skip")
    graphs = parse_entries(entries, skipped, target, fill_missing is not None, has_target)
    if fill_missing is not None:
        graphs = _filled(graphs, schema or infer_schema(graphs, skipped), fill_missing)
    schema = infer_schema(graphs, skipped) if schema is None else schema
    signals = {}
    for one in graphs:
        if one.row not in skipped:
            with skipped.catching(one.row):
                _check_edges(one, asymmetric)
                signals[one.row] = _signals(one, schema, advise=not skipped.allowed)
    notes = skipped.notes(len(entries), "graphs")
    graphs = [one for one in graphs if one.row in signals]
    targets = Targets()
    if has_target and graphs:
        graphs = [one.with_words(TargetWords.of(missing_words, ignore_case)) for one in graphs]
        graphs, without, target_notes = with_target(graphs, missing, target)
        skipped.update(without)
        targets = encode(graphs, target, task, classes)
        notes += (*target_notes, *class_name_notes(targets.classes or ()))
    if has_target and not graphs:  # there is nothing to learn from
        raise FileError(f"has no graph that can be read: {skipped.listed()}", entries[0].path)
    parts = [signals[one.row] for one in graphs] or [(schema.matrix([]), schema.labels([]))]
    numbers, words = zip(*parts, strict=True)
    columns = schema.signals(_joined(numbers), _joined(words))
    named = any(one.graph.name is not None for one in graphs)
    return GraphSet.from_edges(
        **_edges([one.graph for one in graphs]),
        **{**columns, "notes": (*notes, *columns.get("notes", ()), *_edge_note(graphs))},
        **targets._asdict(),
        names=[one.graph.name or "" for one in graphs] if named else None,
        name=name,
        asymmetric=asymmetric,
        skipped=sorted(skipped.items()),
    )


def parse_entries(
    entries: Sequence[Entry],
    skipped: Skipped,
    target: str | None = None,
    null_is_missing: bool = False,
    has_target: bool = True,
) -> list[PlacedGraph]:
    """The graphs of entries, as far as they can be read."""
    graphs: list[PlacedGraph] = []
    for row, entry in enumerate(entries):
        with skipped.catching(row):
            graphs.append(PlacedGraph(row, entry, entry.parsed(target, null_is_missing, has_target)))
    return graphs


def infer_schema(graphs: Sequence[PlacedGraph], skipped: Skipped) -> NodeSchema:
    """The schema of all nodes; each key must have words everywhere, or numbers everywhere."""
    is_word: dict[str, bool] = {}
    for one in graphs:
        with skipped.catching(one.row):
            _check_kinds(one, is_word)
    return NodeSchema.infer(node for one in graphs if one.row not in skipped for node in one.graph.nodes)


def _check_kinds(one: PlacedGraph, is_word: dict[str, bool]) -> None:
    for number, node in enumerate(one.graph.nodes):
        for key, value in node.items():
            if is_word.setdefault(key, isinstance(value, str)) != isinstance(value, str):
                before = "words" if is_word[key] else "numbers"
                raise one.entry.error(f"{key!r} of node {number} is {value!r}, but {before} came before")


def _filled(graphs: Sequence[PlacedGraph], schema: NodeSchema, word: str) -> list[PlacedGraph]:
    """The graphs with this word, or the number that it stands for, for each entry that a node lacks."""
    value = scalar(word)
    defaults: dict[str, Any] = dict.fromkeys(schema.categories, word)
    for key, width in schema.attributes.items():
        defaults[key] = [value] * width
    for one in graphs:
        for node in one.graph.nodes:
            for key in [key for key in schema.attributes if key not in node]:
                if not isinstance(value, int | float):
                    raise one.entry.error(f"{key!r} is a number, so that fill_missing={word!r} cannot stand for it")
    return [
        replace(one, graph=replace(one.graph, nodes=[{**defaults, **node} for node in one.graph.nodes]))
        for one in graphs
    ]


def _signals(
    one: PlacedGraph, schema: NodeSchema, advise: bool
) -> tuple[NDArray[np.float32] | None, NDArray[np.int64] | None]:
    """Attributes and labels of the nodes of a graph. With ``advise``, an error says which options may help."""
    try:
        return schema.matrix(one.graph.nodes), schema.labels(one.graph.nodes)
    except GraphError as error:
        fill = ', fill_missing="VALUE" sets missing entries' if isinstance(error, MissingEntry) else ""
        advice = f' (unreadable="skip" leaves such graphs out{fill})' if advise else ""
        raise one.entry.error(f"{error}{advice}") from error


def _check_edges(one: PlacedGraph, asymmetric: Asymmetric) -> None:
    """Raise if an edge lacks its reverse; checked here, because here the place of the graph is known."""
    if one.graph.directed and asymmetric == "refuse":
        try:
            GraphSet.from_edges(**_edges([one.graph]))
        except GraphError as error:
            raise one.entry.error(str(error)) from error


def _edge_note(graphs: Sequence[PlacedGraph]) -> tuple[str, ...]:
    keys = {key for one in graphs for key in one.graph.edge_keys}
    return edge_note(repr(key) for key in sorted(keys))


def _edges(graphs: Sequence[NodeLinkGraph]) -> dict[str, Any]:
    """Nodes and edges of graphs as :meth:`GraphSet.from_edges` takes them."""
    num_nodes = np.array([len(graph.nodes) for graph in graphs], np.int64)
    edges = [edge for graph in graphs for edge in graph.edges]
    ends = np.array([edge[:2] for edge in edges], np.int64).reshape(-1, 2).T
    num_edges = np.array([len(graph.edges) for graph in graphs], np.int64)
    first_node = np.repeat(np.cumsum(num_nodes) - num_nodes, num_edges)
    weighted = any(graph.weighted for graph in graphs)
    weights = [edge[2] for edge in edges] if weighted else None
    return {"num_nodes": num_nodes, "edge_index": ends + first_node, "edge_weight": weights}


def _joined(parts: Sequence[NDArray | None]) -> NDArray | None:
    arrays = [part for part in parts if part is not None]
    return np.concatenate(arrays) if arrays else None
