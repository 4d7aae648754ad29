"""One graph as JSON: a node-link document, as NetworkX's ``node_link_data`` makes it.

::

    {"nodes": [{"id": "a", "charge": 0.5, "element": "C"}, {"id": "b", "charge": 0, "element": "N"}],
     "edges": [{"source": "a", "target": "b", "weight": 2}],
     "graph": {"y": "active", "name": "first"}}

Ids of nodes are words or whole numbers. Their other entries are signals: numbers, lists of numbers, or words that name
categories. An edge without ``weight`` has weight 1; the list of edges may also be called ``links``, as in older
documents. The target is ``y`` of ``graph``, where NetworkX puts ``G.graph["y"]``, or ``target`` of the document itself:
a class (word or whole number), a number, a list of numbers such as ``[0.5, null]``, or numbers by name such as
``{"solubility": 0.5, "toxicity": null}``, in which ``null`` is unknown. ``"directed": true`` means that an edge has
one direction only, ``"multigraph": true`` that the weights of parallel edges are added. Other entries of edges are
features of them, of the same kinds as those of nodes. An undirected edge that is listed once in each direction may have
other features in each.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from bankgcn.data import GraphError
from bankgcn.data.invariants import check_text
from bankgcn.data.options import EdgeData
from bankgcn.data.target_values import Target, TargetWords
from bankgcn.data.targets import target_of_document
from bankgcn.files.archives import Stream, open_plain
from bankgcn.files.checked import FileError, files_of
from bankgcn.files.row_blocks import LONGEST_LINE, in_blocks, open_content, share_read
from bankgcn.messages import Message

Edge = tuple[int, int, float]  # the numbers of two nodes, and the weight

SHOWN = 40  # characters of a value in a message
_LARGEST = float(np.finfo(np.float32).max)
_EDGE_KEYS = ("source", "target", "weight", "key")  # NetworkX writes the key of a parallel edge
_IDENTITY, _NUMBER = (int, str), (int, float)  # tuples: a union would be made again for each of many checks


@dataclass(frozen=True)
class NodeLinkGraph:
    """The content of a document, with nodes numbered in its order."""

    nodes: list[dict[str, Any]]  # signals by name
    edges: list[Edge]  # in both directions, unless the graph is directed
    directed: bool
    weighted: bool  # whether any edge has a weight
    target: Target
    name: str | None
    metadata: Mapping[str, Any]  # "graph" of the document
    edge_keys: frozenset[str] = frozenset()  # what edges carry besides weights
    edge_data: Sequence[dict[str, Any]] = ()  # what the first edges carry, if it is read: others are their reverses
    mirrored: Sequence[int] = ()  # the edges whose reverses follow the first edges
    entries: Mapping[str, Any] = field(default_factory=dict)  # of the document and its "graph", but nodes and edges


def parse_node_link(
    document: Any,
    target: str | None = None,
    null_is_missing: bool = False,
    has_target: bool = True,
    edge_data: EdgeData = "none",
) -> NodeLinkGraph:
    """The graph of a document.

    Args:
        document: What a text in JSON stands for.
        target: Key of ``graph``, or of the document itself, that holds the target; several are separated by commas.
            By default ``y`` of ``graph``, or ``target`` of the document.
        null_is_missing: Whether ``null`` in a node means that the node lacks the entry; else it is an error.
        has_target: False to read no target.
        edge_data: Whether to read the features of edges; ``"all"`` refuses what is none.

    Raises:
        GraphError: The document is not a graph; the message names the node or edge.

    Example:
        >>> parse_node_link({"nodes": [{"id": 7}, {"id": 9}], "edges": [{"source": 9, "target": 7}]}).edges
        [(1, 0, 1.0), (0, 1, 1.0)]
    """
    if not isinstance(document, dict):
        raise GraphError(f"is {_shown(document)}, expected an object with nodes and edges")
    if "edges" in document and "links" in document:
        raise GraphError("has both 'edges' and 'links'")
    nodes, links = _objects(document, "nodes"), _objects(document, "links" if "links" in document else "edges")
    directed = _flag(document, "directed")
    number = _node_numbers(nodes)
    edges = [_edge(link, place, number) for place, link in enumerate(links)]
    keys = frozenset(key for link in links for key in link if key not in _EDGE_KEYS)
    data: list[dict[str, Any]] = []
    if edge_data != "none":
        data = [_edge_features(link, null_is_missing, edge_data == "all") if keys else {} for link in links]
    places, two_way = list(range(len(edges))), list(range(len(edges)))
    if not _flag(document, "multigraph"):
        places, two_way = _distinct(edges, directed, data, edge_data == "all")
        edges = [edges[place] for place in places]
    mirrored = [] if directed else [place for place in two_way if edges[place][0] != edges[place][1]]
    edges += [(edges[place][1], edges[place][0], edges[place][2]) for place in mirrored]
    metadata = document.get("graph", {})
    if not isinstance(metadata, dict):
        raise GraphError(f"'graph' is {_shown(metadata)}, expected an object")
    return NodeLinkGraph(
        nodes=[_signals(node, null_is_missing) for node in nodes],
        edges=edges,
        directed=directed,
        weighted=any("weight" in link for link in links),
        target=_checked_target(target_of_document(document, metadata, target)) if has_target else None,
        name=_name(document, metadata),
        metadata=metadata,
        entries={key: value for key, value in document.items() if not isinstance(value, list | dict)} | metadata,
        edge_keys=keys,
        edge_data=[data[place] for place in places] if data else (),
        mirrored=mirrored,
    )


def _objects(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """A list of objects."""
    objects = document.get(key)
    if not isinstance(objects, list):
        raise GraphError(f"has no list {key!r}" if key not in document else f"{key!r} is {_shown(objects)}, not a list")
    for place, each in enumerate(objects):
        if not isinstance(each, dict):
            raise GraphError(f"entry {place} of {key!r} is {_shown(each)}, expected an object")
    return objects


def _flag(document: dict[str, Any], key: str) -> bool:
    value = document.get(key, False)
    if not isinstance(value, bool):
        raise GraphError(f"{key!r} is {_shown(value)}, expected true or false")
    return value


def _node_numbers(nodes: list[dict[str, Any]]) -> dict[int | str, int]:
    """The number of each node by its id."""
    number: dict[int | str, int] = {}
    for place, node in enumerate(nodes):
        if "id" not in node:
            raise GraphError(f"node {place} has no 'id'")
        identity = node["id"]
        if not isinstance(identity, _IDENTITY) or isinstance(identity, bool):
            raise GraphError(f"node {place} has id {_shown(identity)}, expected a word or a whole number")
        if identity in number:
            raise GraphError(f"nodes {number[identity]} and {place} have the same id {_shown(identity)}")
        number[identity] = place
    return number


def _edge(link: dict[str, Any], place: int, number: dict[int | str, int]) -> Edge:
    source: Any = link.get("source")
    target: Any = link.get("target")
    weight = link.get("weight", 1)
    for key, identity in (("source", source), ("target", target)):
        if not isinstance(identity, _IDENTITY) or identity not in number:
            raise GraphError(f"edge {place} has {key} {_shown(identity)}, which is not the id of a node")
    if not _is_number(weight) or weight < 0:
        raise GraphError(f"edge {place} has weight {_shown(weight)}, expected a finite number that is not negative")
    return number[source], number[target], float(weight)


def _distinct(
    edges: list[Edge], directed: bool, data: list[dict[str, Any]], strict: bool
) -> tuple[list[int], list[int]]:
    """The places of the edges, each once; and among these, the places of those that hold for both directions.

    An undirected edge may be listed in both directions, with the same weight. With other features, it is two edges.
    """
    by_ends: dict[tuple[int, int], int] = {}
    back: dict[tuple[int, int], int] = {}  # second directions with features of their own
    for place, (i, j, weight) in enumerate(edges):
        ends = (i, j) if directed else (min(i, j), max(i, j))
        first = by_ends.setdefault(ends, place)
        if edges[first][2] != weight:
            raise GraphError(
                f"the edge between nodes {i} and {j} is listed twice, with weights {edges[first][2]:g} and {weight:g}; "
                '"multigraph": true adds them'
            )
        if data and data[first] != data[place]:
            same = first if edges[first][:2] == (i, j) else back.setdefault(ends, place)
            if strict and data[same] != data[place]:
                raise GraphError(
                    f"the edge between nodes {i} and {j} is listed twice, with {_shown(data[same])} and "
                    f"{_shown(data[place])}"
                )
    if not back:
        places = list(by_ends.values())
        return places, list(range(len(places)))
    places = sorted([*by_ends.values(), *back.values()])
    one_way = {place for ends, second in back.items() for place in (by_ends[ends], second)}
    return places, [number for number, place in enumerate(places) if place not in one_way]


def _edge_features(link: dict[str, Any], null_is_missing: bool, strict: bool) -> dict[str, Any]:
    """The entries of an edge except its ends and its weight; if strict, each must be a feature."""
    features = {key: value for key, value in link.items() if key not in _EDGE_KEYS}
    if not strict or null_is_missing:
        features = {key: value for key, value in features.items() if value is not None}
    if strict:
        _check_features(features, lambda: f"edge ({_shown(link['source'])}, {_shown(link['target'])})")
    return features


def _signals(node: dict[str, Any], null_is_missing: bool) -> dict[str, Any]:
    """The entries of a node except its id: words, numbers, or lists of numbers."""
    signals = {key: value for key, value in node.items() if key != "id" and not (null_is_missing and value is None)}
    _check_features(signals, lambda: f"node {_shown(node['id'])}")
    return signals


def _check_features(features: dict[str, Any], what: Callable[[], str]) -> None:
    """Raise unless each value is a word, a number, or a list of numbers."""
    for key, value in features.items():
        if isinstance(value, str):
            continue
        values = value if isinstance(value, list) else [value]
        if not all(map(_is_number, values)):
            raise GraphError(
                f"{key!r} of {what()} is {_shown(value)}, expected a word, a finite number or a list of them"
            )


def _checked_target(target: Any) -> Target:
    if isinstance(target, list):
        fits = bool(target) and all(each is None or _is_number(each) for each in target)
    elif isinstance(target, dict):
        fits = bool(target) and all(
            each is None or isinstance(each, str) or _is_number(each) for each in target.values()
        )
    else:
        fits = target is None or isinstance(target, str) or _is_number(target)
    if not fits:
        expected = "a word, a finite number, or a list or an object of numbers"
        raise GraphError(f"the target is {_shown(target)}, expected {expected}")
    return target


def _name(document: dict[str, Any], metadata: dict[str, Any]) -> str | None:
    name = document.get("name", metadata.get("name"))
    return None if name is None else str(name)


def _is_number(value: Any) -> bool:
    """Whether a value is true, false, or a number that float32 can hold."""
    return isinstance(value, _NUMBER) and abs(value) <= _LARGEST


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


_HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")  # perhaps: most are followed by their other half


@dataclass(frozen=True)
class Entry:
    """A graph in JSON, and where it is.

    Args:
        content: Its text, or the value that the text stands for, or why there is none.
        path: The file.
        line: The line, if the file has others.
        label: Its place in the file, if that is not a line.
        name: Its name, unless the document has one.
        suspect: Whether the texts of the value may hold half a character.
    """

    content: Any
    path: Path
    line: int | None = None
    label: str = ""
    name: str | None = None
    suspect: bool = False

    def error(self, message: str) -> FileError:
        """An error that names the place."""
        placed = Message("{label}: {message}", label=self.label, message=message) if self.label else message
        return FileError(placed, self.path, self.line)

    def parsed(
        self,
        target: str | None = None,
        null_is_missing: bool = False,
        has_target: bool = True,
        edge_data: EdgeData = "none",
    ) -> NodeLinkGraph:
        """The graph; see :func:`parse_node_link`.

        Raises:
            FileError: It cannot be read.
        """
        if isinstance(self.content, FileError):
            raise self.content
        try:
            document = _value(self.content) if isinstance(self.content, bytes) else self.content
            if self.suspect or (isinstance(self.content, bytes) and _HALF_CHARACTER.search(self.content)):
                check_text(document, "the text")
            graph = parse_node_link(document, target, null_is_missing, has_target, edge_data)
        except GraphError as error:
            raise self.error(error.message) from error
        except (RecursionError, ValueError) as error:
            raise self.error(f"is not a graph in JSON{_reason(error)}") from error
        return graph if graph.name is not None or self.name is None else replace(graph, name=self.name)


def parsed_entries(
    entries: Sequence[Entry], target: str | None, null_is_missing: bool, has_target: bool, edge_data: EdgeData
) -> list[NodeLinkGraph | FileError]:
    """The graph of each entry, or why it cannot be read; see :func:`parse_node_link`."""
    graphs: list[NodeLinkGraph | FileError] = []
    for entry in entries:
        try:
            graphs.append(entry.parsed(target, null_is_missing, has_target, edge_data))
        except FileError as error:
            graphs.append(error)
    return graphs


def lost_entry(entry: Entry, cause: str, *arguments: Any) -> list[NodeLinkGraph | FileError]:
    """What stands for an entry whose process died."""
    return [entry.error(f"the process that read it {cause}")]


@dataclass(frozen=True)
class PlacedGraph:
    """A graph, its entry, and its row among all entries."""

    row: int
    entry: Entry
    graph: NodeLinkGraph

    def with_words(self, words: TargetWords) -> PlacedGraph:
        """The same with the words of its target read as they are meant."""
        return replace(self, graph=replace(self.graph, target=words(self.graph.target)))


def entries_of_lines(path: Path) -> list[Entry]:
    """One graph a line; blank lines are ignored."""
    try:
        with open_plain(path) as file:
            lines = [Entry(content, path, line) for line, content in enumerate(file, start=1) if content.strip()]
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", path) from error
    if not lines:
        raise FileError("is empty: expected one graph per line", path)
    return lines


def blocks_of_lines(path: Path) -> Iterator[tuple[list[Entry], float]]:
    """The same in blocks of lines, each with the share of the file that was read."""
    with open_content(path) as content:
        lines = enumerate(_bounded_lines(content, path), start=1)
        entries = (Entry(line, path, number) for number, line in lines if line.strip())
        for block in in_blocks(entries, lambda entry: len(entry.content)):
            yield block, share_read(content)


def _bounded_lines(content: Stream, path: Path) -> Iterator[bytes]:
    number = 0
    with io.BufferedReader(content, 1 << 18) as lines:
        while line := lines.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE:
                raise FileError(f"has a line of more than {LONGEST_LINE:,} bytes", path, number)
            yield line


def entries_of_file(path: Path) -> list[Entry]:
    """The graphs of a JSON array; a file with an object holds one graph, or an array ``graphs``."""
    try:
        with open_plain(path) as file:
            content = file.read()
        value = _value(content)
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", path) from error
    except FileError:
        raise
    except (GraphError, RecursionError, ValueError) as error:
        raise FileError(f"is not JSON{_reason(error)}", path) from error
    graphs = value.get("graphs", [value]) if isinstance(value, dict) else value
    if not isinstance(graphs, list) or not graphs:
        raise FileError("has no graphs: expected an array of them", path)
    suspect = _HALF_CHARACTER.search(content) is not None
    return [Entry(graph, path, label=f"graph {number}", suspect=suspect) for number, graph in enumerate(graphs)]


def entries_of_folder(folder: Path) -> list[Entry]:
    """One graph a file, in the order of the names of the files, which are the names of the graphs."""
    try:
        return [Entry(path.read_bytes(), path, name=path.stem) for path in json_files(folder)]
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", error.filename or folder) from error


def json_files(folder: Path) -> list[Path]:
    """The JSON files of a folder, in the order of their names; hidden ones are ignored."""
    return sorted(files_of(folder, (".json",)))


def _value(content: bytes) -> Any:
    """The value of a text in JSON, in which NaN and infinite numbers are refused."""
    return json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise GraphError(f"{name} is not a finite number")


def _reason(error: Exception) -> str:
    return f", at column {error.colno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else f": {error}"
