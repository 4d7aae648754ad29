"""JSON lines: one node-link graph per line, in the format of :mod:`bankgcn.data.readers.node_link`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.edges import Asymmetric
from bankgcn.data.errors import GraphError
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.node_link import NodeLinkGraph, parse_node_link
from bankgcn.data.readers.reader import Reader
from bankgcn.data.targets import TargetError, Targets, TaskName, encode_targets, is_unknown
from bankgcn.files.atomic import atomic_write
from bankgcn.files.errors import FileError

Numbered = list[tuple[int, NodeLinkGraph]]  # with the line of each


def read_jsonlines(
    path: str | PathLike[str],
    *,
    schema: NodeSchema | None = None,
    has_target: bool = True,
    task: TaskName | None = None,
    classes: Sequence[str] | None = None,
    asymmetric: Asymmetric = "refuse",
) -> GraphSet:
    """The graphs of a file.

    Args:
        path: The file, in UTF-8. Blank lines are ignored.
        schema: Which signals the nodes have; by default all that the file has. Graphs to predict need the schema of
            the graphs that the model was trained on, see :func:`read_schema`.
        has_target: False to read no targets.
        task: What the targets are, if the reader is not to guess; see :func:`bankgcn.data.targets.encode_targets`.
        classes: Names of the classes in order of their numbers, if a model fixes them.
        asymmetric: What to do with directed edges; see :meth:`GraphSet.from_edges`.

    Raises:
        FileError: The file cannot be read; the message names the line.
    """
    path = Path(path)
    graphs = _parse_file(path)
    schema = _infer(path, graphs) if schema is None else schema
    attributes, labels = _signals(path, graphs, schema)
    targets = _targets(path, graphs, task, classes) if has_target else Targets()
    named = any(graph.name is not None for _, graph in graphs)
    _check_edges(path, graphs, asymmetric)
    return GraphSet.from_edges(
        **_edges([graph for _, graph in graphs]),
        **schema.signals(attributes, labels),
        **targets._asdict(),
        names=[graph.name or "" for _, graph in graphs] if named else None,
        name=path.stem,
        asymmetric=asymmetric,
    )


def read_schema(path: str | PathLike[str]) -> NodeSchema:
    """Which signals the nodes of a file have, to read other files in the same way."""
    return _infer(Path(path), _parse_file(Path(path)))


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


def _parse_file(path: Path) -> Numbered:
    graphs: Numbered = []
    try:
        with path.open("rb") as file:
            for line, content in enumerate(file, start=1):
                if content.strip():
                    graphs.append((line, _parse_line(content, path, line)))
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", path) from error
    if not graphs:
        raise FileError("is empty: expected one graph per line", path)
    return graphs


def _parse_line(content: bytes, path: Path, line: int) -> NodeLinkGraph:
    try:
        document = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant)
        return parse_node_link(document)
    except GraphError as error:
        raise FileError(str(error), path, line) from error
    except json.JSONDecodeError as error:
        raise FileError(f"is not a graph in JSON, at column {error.colno}: {error.msg}", path, line) from error
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise FileError(f"is not a graph in JSON: {error}", path, line) from error


def _refuse_constant(name: str) -> NoReturn:
    raise GraphError(f"{name} is not a finite number")


def _edges(graphs: Sequence[NodeLinkGraph]) -> dict[str, Any]:
    """Nodes and edges of graphs as :meth:`GraphSet.from_edges` takes them."""
    num_nodes = np.array([len(graph.nodes) for graph in graphs])
    edges = [edge for graph in graphs for edge in graph.edges]
    ends = np.array([edge[:2] for edge in edges], np.int64).reshape(-1, 2).T
    first_node = np.repeat(np.cumsum(num_nodes) - num_nodes, [len(graph.edges) for graph in graphs])
    weighted = any(graph.weighted for graph in graphs)
    weights = [edge[2] for edge in edges] if weighted else None
    return {"num_nodes": num_nodes, "edge_index": ends + first_node, "edge_weight": weights}


def _check_edges(path: Path, graphs: Numbered, asymmetric: Asymmetric) -> None:
    """Raise at the first graph with an edge without its reverse; checked here, because here its line is known."""
    for line, graph in graphs:
        if graph.directed and asymmetric == "refuse":
            try:
                GraphSet.from_edges(**_edges([graph]))
            except GraphError as error:
                raise FileError(str(error), path, line) from error


def _infer(path: Path, graphs: Numbered) -> NodeSchema:
    """The schema of all nodes; each key must have words everywhere, or numbers everywhere."""
    is_word: dict[str, bool] = {}
    for line, graph in graphs:
        for number, node in enumerate(graph.nodes):
            for key, value in node.items():
                if is_word.setdefault(key, isinstance(value, str)) != isinstance(value, str):
                    before = "words" if is_word[key] else "numbers"
                    raise FileError(f"{key!r} of node {number} is {value!r}, but {before} came before", path, line)
    return NodeSchema.infer(node for _, graph in graphs for node in graph.nodes)


def _signals(
    path: Path, graphs: Numbered, schema: NodeSchema
) -> tuple[NDArray[np.float32] | None, NDArray[np.int64] | None]:
    """Attributes and labels of all nodes."""
    attributes: list[NDArray[np.float32]] = []
    labels: list[NDArray[np.int64]] = []
    for line, graph in graphs:
        try:
            numbers, words = schema.matrix(graph.nodes), schema.labels(graph.nodes)
        except GraphError as error:
            raise FileError(str(error), path, line) from error
        if numbers is not None:
            attributes.append(numbers)
        if words is not None:
            labels.append(words)
    return np.concatenate(attributes) if attributes else None, np.concatenate(labels) if labels else None


def _targets(path: Path, graphs: Numbered, task: TaskName | None, classes: Sequence[str] | None) -> Targets:
    """Targets of all graphs, or none if no graph has one."""
    unknown = [is_unknown(graph.target) for _, graph in graphs]
    if all(unknown):
        return Targets()
    lines = [line for line, _ in graphs]
    if any(unknown):
        message = "has no target, but other lines have (has_target=False reads none)"
        raise FileError(message, path, lines[unknown.index(True)])
    try:
        return encode_targets([graph.target for _, graph in graphs], task, classes)
    except TargetError as error:
        raise FileError(str(error), path, None if error.graph is None else lines[error.graph]) from error


def _expected_schema(expected: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema": NodeSchema.from_spec(expected)} if expected.get("kind") == "named" else {}


READER = Reader(
    kind="a file of JSON lines",
    accepts="a .jsonl or .ndjson of graphs",
    read=read_jsonlines,
    options=("schema", "has_target", "task", "classes", "asymmetric"),
    suffixes=(".jsonl", ".ndjson"),
    options_for=_expected_schema,
)
