"""Node-link graphs as a set: JSON lines, an array in a ``.json`` file, or a folder of ``.json`` files.

Each line, item or file is a graph in the format of :mod:`bankgcn.data.readers.node_link`. Readers of other formats that
become such documents use :func:`graph_set`, too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from bankgcn.data import GraphError
from bankgcn.data.edge_data import edge_note, unread_notes
from bankgcn.data.features.graph_features import Columns, value_columns
from bankgcn.data.features.node_schema import MissingEntry, NodeSchema, unreadable_keys
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import EdgeData, Expected, ReadOptions
from bankgcn.data.readers import KnownTargets, Reader, Skipped
from bankgcn.data.readers.node_link import (
    Entry,
    NodeLinkGraph,
    PlacedGraph,
    blocks_of_lines,
    entries_of_file,
    entries_of_folder,
    entries_of_lines,
    json_files,
    lost_entry,
    parsed_entries,
)
from bankgcn.data.target_values import Target, TargetError, Targets, encode_targets, is_unknown, scalar
from bankgcn.data.targets import READ_NO_TARGETS, missing_feature, target_names, target_of_document
from bankgcn.data.workers import Job
from bankgcn.files.archives import plain_stem
from bankgcn.files.checked import FileError, atomic_write, hash_of_parts
from bankgcn.messages import Message, Option, advise, message_of

Entries = Callable[[Path], Sequence[Entry]]

OPTIONS = (
    "target",
    "feature_columns",
    "fill_features",
    "skip_unreadable",
    "skip_missing",
    "missing_words",
    "fill_missing",
    "ignore_case",
    "symmetrise",
)
"""The options that every reader of such graphs heeds."""
HEEDS = ("features", "task", "classes", "has_target", "edges")


def graph_set(
    entries: Sequence[Entry],
    name: str,
    options: ReadOptions,
    expected: Expected,
    schema: NodeSchema | None = None,
    edge_schema: NodeSchema | None = None,
    run: Callable[[Job], Any] = Job.run,
) -> GraphSet:
    """The graphs of some entries.

    Args:
        entries: The graphs, and where they are.
        name: Name of the set.
        options: How they are read.
        expected: What a trained model fixes.
        schema: Which signals the nodes have; by default those that are expected, else all that there are.
        edge_schema: Which features the edges have, by the same rule; none if nothing asks for them.
        run: What returns the result of a job: in this process, or in others.

    Raises:
        FileError: A graph cannot be read; the message names its place.
    """
    skipped, fill = Skipped(options.skip_unreadable), options.fill_missing
    schema, edge_schema = schema or expected_schema(expected), edge_schema or expected_edge_schema(expected)
    reads = expected.edge_data if edge_schema is None else "all"
    job = parsing(entries, options.target, fill is not None, expected.has_target, reads)
    graphs = placed(entries, skipped, run(job))
    edge_notes = _unread_keys(graphs) if reads == "any" else ()
    if fill is not None:
        graphs = _filled(graphs, schema or infer_schema(graphs, skipped), fill)
    schema = infer_schema(graphs, skipped) if schema is None else schema
    if fill is not None and reads == "all":
        graphs = _filled(graphs, edge_schema or infer_schema(graphs, skipped, "edge"), fill)
    if reads != "none" and edge_schema is None:
        edge_schema = infer_schema(graphs, skipped, "edge")
    signals, features = {}, {}
    for one in graphs:
        if one.row not in skipped:
            with skipped.catching(one.row):
                _check_edges(one, options.symmetrise)
                own = _signals(one, schema)
                features[one.row] = (None, None) if edge_schema is None else _signals(one, edge_schema)
                signals[one.row] = own
    notes = skipped.notes(len(entries), "graphs")
    graphs = [one for one in graphs if one.row in signals]
    targets = Targets()
    if expected.has_target and graphs:
        graphs = [one.with_words(options.words) for one in graphs]
        graphs, without, target_notes = _with_target(graphs, options)
        skipped.update(without)
        targets = _encode(graphs, options.target, expected)
        notes += target_notes
    if expected.has_target and not graphs:  # there is nothing to learn from
        raise FileError(f"has no graph that can be read: {skipped.listed()}", entries[0].path)
    parts = [signals[one.row] for one in graphs] or [(schema.matrix([]), schema.labels([]))]
    numbers, words = zip(*parts, strict=True)
    columns = schema.signals(_joined(numbers), _joined(words))
    of_edges = {} if edge_schema is None else _edge_columns(graphs, [features[one.row] for one in graphs], edge_schema)
    edge_notes += of_edges.pop("notes", ()) if reads != "none" else _edge_note(graphs)
    named = any(one.graph.name is not None for one in graphs)
    beside = _features(graphs, options)
    result = GraphSet.from_edges(
        **_edges([one.graph for one in graphs]),
        **of_edges,
        **{**columns, "notes": (*notes, *columns.get("notes", ()), *edge_notes)},
        **targets._asdict(),
        names=[one.graph.name or "" for one in graphs] if named else None,
        name=name,
        symmetrise=options.symmetrise,
        skipped=sorted(skipped.items()),
    )
    return result if beside is None else replace(result, graph_features=beside.values, graph_spec=beside.spec)


def _features(graphs: Sequence[PlacedGraph], options: ReadOptions) -> Columns | None:
    """The features of the graphs: numbers or words under keys of ``graph``, or of the document itself."""
    if options.feature_columns is None:
        return None
    available = {key for one in graphs for key in one.graph.entries}
    cells: dict[str, list[Any]] = {}
    for name in dict.fromkeys(target_names(options.feature_columns, available)):
        cells[name] = []
        for one in graphs:
            value = one.graph.entries.get(name)
            if isinstance(value, list | Mapping):
                raise one.entry.error(f"{name!r} is {type(value).__name__}, expected a number or a word")
            infinite = isinstance(value, float) and not math.isfinite(value)
            if infinite or (value is None and not options.fill_features):
                raise one.entry.error(missing_feature(name, infinite))
            cells[name].append(value)
    return value_columns(cells, options.fill_features)


def parsing(
    entries: Sequence[Entry],
    target: str | None = None,
    null_is_missing: bool = False,
    has_target: bool = True,
    edge_data: EdgeData = "none",
) -> Job:
    """The work on some entries that takes long; see :func:`~bankgcn.data.readers.node_link.parse_node_link`."""
    arguments = (target, null_is_missing, has_target, edge_data)
    return Job(parsed_entries, entries, arguments, lost=lost_entry, joined=lambda parts: list(chain(*parts)))


def placed(
    entries: Sequence[Entry], skipped: Skipped, parsed: Sequence[NodeLinkGraph | FileError]
) -> list[PlacedGraph]:
    """The graphs of entries, as far as they can be read."""
    graphs: list[PlacedGraph] = []
    for row, (entry, graph) in enumerate(zip(entries, parsed, strict=True)):
        with skipped.catching(row):
            if isinstance(graph, FileError):
                raise graph
            graphs.append(PlacedGraph(row, entry, graph))
    return graphs


def infer_schema(graphs: Sequence[PlacedGraph], skipped: Skipped, what: str = "node") -> NodeSchema:
    """The schema of all nodes, or edges; each key must have words everywhere, or numbers everywhere."""
    is_word: dict[str, bool] = {}
    for one in graphs:
        with skipped.catching(one.row):
            _check_kinds(one, is_word, what)
    return NodeSchema.infer((item for one in graphs if one.row not in skipped for item in _items(one, what)), what)


_FIELDS = {"node": "nodes", "edge": "edge_data"}


def _items(one: PlacedGraph, what: str) -> Sequence[dict[str, Any]]:
    """The data of the nodes, or of the edges, of a graph."""
    items: Sequence[dict[str, Any]] = getattr(one.graph, _FIELDS[what])
    return items


def _check_kinds(one: PlacedGraph, is_word: dict[str, bool], what: str) -> None:
    for number, item in enumerate(_items(one, what)):
        for key, value in item.items():
            if is_word.setdefault(key, isinstance(value, str)) != isinstance(value, str):
                before = "words" if is_word[key] else "numbers"
                raise one.entry.error(f"{key!r} of {what} {number} is {value!r}, but {before} came before")


def _unread_keys(graphs: Sequence[PlacedGraph]) -> tuple[str, ...]:
    """Remove what cannot be a feature of edges from their data, and note it."""
    reasons = unreadable_keys(item for one in graphs for item in one.graph.edge_data)
    for one in graphs if reasons else ():
        for item in one.graph.edge_data:
            for key in reasons.keys() & item.keys():
                del item[key]
    return unread_notes(reasons)


def _filled(graphs: Sequence[PlacedGraph], schema: NodeSchema, word: str) -> list[PlacedGraph]:
    """The graphs with this word, or the number that it stands for, for each entry that a node, or an edge, lacks."""
    value, field = scalar(word), _FIELDS[schema.what]
    defaults: dict[str, Any] = dict.fromkeys(schema.categories, word)
    for key, width in schema.attributes.items():
        defaults[key] = [value] * width
    for one in graphs:
        for item in _items(one, schema.what):
            for key in [key for key in schema.attributes if key not in item]:
                if not isinstance(value, int | float):
                    given = Option("fill_missing", word)
                    wrong = Message("{key!r} is a number, so that {given} cannot stand for it", key=key, given=given)
                    raise one.entry.error(wrong)

    def filled(one: PlacedGraph) -> PlacedGraph:
        changes: dict[str, Any] = {field: [{**defaults, **item} for item in _items(one, schema.what)]}
        return replace(one, graph=replace(one.graph, **changes))

    return [filled(one) for one in graphs]


def _signals(one: PlacedGraph, schema: NodeSchema) -> tuple[NDArray[np.float32] | None, NDArray[np.int64] | None]:
    """Attributes and labels of the nodes, or edges, of a graph."""
    items = _items(one, schema.what)
    try:
        return schema.matrix(items), schema.labels(items)
    except GraphError as error:
        advice = [advise("skip_unreadable", True, "leaves such graphs out")]
        if isinstance(error, MissingEntry):
            advice.append(advise("fill_missing", "VALUE", "sets missing entries"))
        raise one.entry.error(Message("{what}", what=message_of(error), advice=advice)) from error


def _check_edges(one: PlacedGraph, symmetrise: bool) -> None:
    """Raise if an edge lacks its reverse; checked here, because here the place of the graph is known."""
    if one.graph.directed and not symmetrise:
        try:
            GraphSet.from_edges(**_edges([one.graph]))
        except GraphError as error:
            raise one.entry.error(error.message) from error


def _edge_note(graphs: Sequence[PlacedGraph]) -> tuple[str, ...]:
    keys = {key for one in graphs for key in one.graph.edge_keys}
    return edge_note(repr(key) for key in sorted(keys))


def _edge_columns(
    graphs: Sequence[PlacedGraph],
    parts: Sequence[tuple[NDArray[np.float32] | None, NDArray[np.int64] | None]],
    schema: NodeSchema,
) -> dict[str, Any]:
    """The features of edges for :meth:`GraphSet.from_edges`, whose directions share a row of data."""
    copies, start = [np.zeros(0, np.int64)], 0
    for one in graphs:
        listed = len(one.graph.edge_data)
        copies.append(start + np.array([*range(listed), *one.graph.mirrored], np.int64))
        start += listed
    numbers, words = zip(*parts, strict=True) if parts else ((schema.matrix([]),), (schema.labels([]),))
    return schema.edge_signals(_joined(numbers), _joined(words), np.concatenate(copies))


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


# ---- targets


def known_targets(
    entries: Sequence[Entry], rows: Sequence[int], options: ReadOptions, expected: Expected, required: bool
) -> tuple[list[int], Targets]:
    """The rows whose targets are known, and these targets.

    Args:
        entries: All entries.
        rows: The rows to look at; their graphs can be read.
        options: Which key holds the targets, and how their words are read.
        expected: What the targets are.
        required: Whether it is an error if no graph has the target that the options name.

    Raises:
        FileError: A target does not fit the task; the message names its place.
    """
    target = options.target
    graphs = [PlacedGraph(row, entries[row], entries[row].parsed(target, null_is_missing=True)) for row in rows]
    graphs = [one.with_words(options.words) for one in graphs]
    labelled = [one for one in graphs if not is_unknown(one.graph.target)]
    if required and target is not None and graphs and not labelled:
        raise _no_target(graphs, target)
    return [one.row for one in labelled], _encode(labelled, target, expected)


def _with_target(
    graphs: list[PlacedGraph], options: ReadOptions
) -> tuple[list[PlacedGraph], dict[int, str], tuple[str, ...]]:
    """The graphs that have a target, the rows of the others with the reason, and a note on them."""
    without = [one for one in graphs if is_unknown(one.graph.target)]
    if options.target is not None and len(without) == len(graphs):
        raise _no_target(graphs, options.target)
    if not without or len(without) == len(graphs):
        return graphs, {}, ()
    if not options.skip_missing:
        advice = [advise("skip_missing", True, "leaves such graphs out"), advise(READ_NO_TARGETS, True, "reads none")]
        raise without[0].entry.error(Message("has no target, but other lines have", advice=advice))
    found = f"{len(without):,} of {len(graphs):,} graphs have no target"
    kept = [one for one in graphs if not is_unknown(one.graph.target)]
    return kept, {one.row: "no target" for one in without}, (f"{found} and are left out",)


def _no_target(graphs: Sequence[PlacedGraph], target: str) -> FileError:
    keys = sorted({key for one in graphs for key in one.graph.metadata})
    listed = f"; their keys are {', '.join(map(repr, keys))}" if keys else ""
    return FileError(f"no graph has the target {target!r}{listed}", graphs[0].entry.path)


def _encode(graphs: Sequence[PlacedGraph], target: str | None, expected: Expected) -> Targets:
    """Targets of all graphs, or none if no graph has one; a single number has the name of its key."""
    values: list[Any] = [one.graph.target for one in graphs]
    if all(map(is_unknown, values)):
        return Targets()
    if target is not None and not any(isinstance(value, list | Mapping) for value in values):
        values = [{target.strip(): value} for value in values]
    try:
        return encode_targets(values, expected.task, expected.classes)
    except TargetError as error:
        if error.graph is None:
            raise FileError(error.message, graphs[0].entry.path) from error
        raise graphs[error.graph].entry.error(error.message) from error


# ---- readers


def read_entries(
    entries: Entries,
    path: str | PathLike[str],
    options: ReadOptions | None = None,
    expected: Expected | None = None,
    run: Callable[[Job], Any] = Job.run,
) -> GraphSet:
    """The graphs of a file or folder.

    Args:
        entries: What finds the graphs: :func:`entries_of_lines` for JSON lines, :func:`entries_of_path` for ``.json``.
        path: The file, in UTF-8, or the folder.
        options: How they are read. Without a target, it is ``y`` of ``graph``, or ``target`` of the document.
        expected: What a trained model fixes: graphs to predict need the signals of its training graphs.
        run: What returns the result of a job: in this process, or in others.

    Raises:
        FileError: A graph cannot be read; the message names its place.
    """
    path = Path(path)
    name = plain_stem(path.resolve())
    return graph_set(entries(path), name, options or ReadOptions(), expected or Expected(), run=run)


def entries_of_path(path: Path) -> list[Entry]:
    """The graphs of a file with an array, or of a folder with a file for each, which then is the graph's name."""
    return entries_of_folder(path) if path.is_dir() else entries_of_file(path)


def targets_of(entries: Entries) -> KnownTargets:
    """What reads the targets of graphs that are found in this way."""
    return lambda path, rows, options, expected, required: known_targets(
        entries(path), rows, options, expected, required
    )


def read_schema(path: str | PathLike[str]) -> NodeSchema:
    """Which signals the nodes of a file of JSON lines have, to read other files in the same way."""
    refuse = Skipped(allowed=False)
    entries = entries_of_lines(Path(path))
    return infer_schema(placed(entries, refuse, parsing(entries).run()), refuse)


@dataclass(frozen=True)
class EntryBlock:
    """Some lines of a file of JSON lines.

    Args:
        entries: The lines.
        source: What is known of the whole file.
    """

    entries: Sequence[Entry]
    source: LinesSurvey

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.entries)

    @property
    def graph_table(self) -> None:
        """It is no table."""
        return

    @property
    def named(self) -> bool:
        """Whether any graph of the file has a name."""
        return self.source.named

    def digest(self, before: str) -> str:
        """A hash of the lines and what came before."""
        return hash_of_parts([before.encode(), *(entry.content for entry in self.entries)])

    def job(self, options: ReadOptions, expected: Expected) -> Job:
        """The work on the lines that takes long."""
        reads = expected.edge_data if expected_edge_schema(expected) is None else "all"
        return parsing(self.entries, options.target, options.fill_missing is not None, expected.has_target, reads)

    def graphs(self, options: ReadOptions, expected: Expected, run: Callable[[Job], Any] = Job.run) -> GraphSet:
        """The graphs; they have names if any graph of the file has one."""
        graphs = graph_set(self.entries, plain_stem(self.entries[0].path.resolve()), options, expected, run=run)
        return replace(graphs, names=("",) * len(graphs)) if self.named and graphs.names is None else graphs

    def known_targets(
        self, rows: Sequence[int], options: ReadOptions, expected: Expected, required: bool
    ) -> tuple[list[int], Targets]:
        """The rows whose targets are known, and these; see :func:`known_targets`."""
        return known_targets(self.entries, rows, options, expected, required and not self.source.examples)

    def all_targets(self, options: ReadOptions, expected: Expected) -> Targets:
        """A target of each kind in the whole file: they have all the columns."""
        entry = self.entries[0]
        graphs = [PlacedGraph(0, entry, replace(NO_GRAPH, target=target)) for target in self.source.examples]
        return _encode([one.with_words(options.words) for one in graphs], options.target, expected)


class LinesSurvey(NamedTuple):
    """What is known of a file of JSON lines, whose graphs are not held.

    Args:
        named: Whether any graph has a name.
        examples: The first target of each kind.
    """

    named: bool
    examples: list[Target]


NO_GRAPH = NodeLinkGraph([], [], False, False, None, None, {})


def line_blocks(path: Path, options: ReadOptions) -> Iterator[tuple[EntryBlock, float]]:
    """The lines of a file in blocks."""
    survey = _survey(path, options)
    return ((EntryBlock(entries, survey), share) for entries, share in blocks_of_lines(path))


def _survey(path: Path, options: ReadOptions) -> LinesSurvey:
    """Look at all lines once. Those that are no graphs are reported when they are read."""
    named, examples = False, dict[Any, Target]()
    for entries, _ in blocks_of_lines(path):
        for entry in entries:
            with suppress(ValueError, RecursionError, AttributeError, TypeError):
                document = json.loads(entry.content)
                metadata = document.get("graph", {})
                named = named or document.get("name", metadata.get("name")) is not None
                target = target_of_document(document, metadata, options.target)
                if not is_unknown(options.words(target)):
                    examples.setdefault(_kind(target), target)
    return LinesSurvey(named, list(examples.values()))


def _kind(target: Any) -> Any:
    """What decides on the columns of a target."""
    if isinstance(target, Mapping):
        return tuple(target)
    return len(target) if isinstance(target, list) else type(target)


def write_jsonlines(graphs: GraphSet, path: str | PathLike[str]) -> None:
    """Write graphs to a file, atomically: signals as list ``x``, weights, class names or other targets, and names.

    Features of edges are the list ``edge_attr``. An edge whose directions differ in them is listed in both.

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
    features = batch.edge_attr
    unequal = graphs.unequal_edge is not None
    reverse = {(j, i): place for place, (i, j) in enumerate(batch.edge_index.T.tolist())} if unequal else {}
    for place, (i, j) in enumerate(batch.edge_index.T.tolist()):
        if i < j or (unequal and features is not None and (features[place] != features[reverse[i, j]]).any()):
            weight = {} if batch.edge_weight is None else {"weight": batch.edge_weight[place].item()}
            carried = {} if features is None else {"edge_attr": features[place].tolist()}
            edges.append({"source": i, "target": j, **weight, **carried})
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


def expected_edge_schema(expected: Expected) -> NodeSchema | None:
    """The features of edges that a trained model expects, if they have names."""
    spec = expected.edge_features
    return NodeSchema.from_spec(spec, "edge") if spec.get("kind") == "named" else None


def expected_schema(expected: Expected) -> NodeSchema | None:
    """The signals that a trained model expects, if they have names."""
    return NodeSchema.from_spec(expected.features) if expected.features.get("kind") == "named" else None


read_jsonlines = partial(read_entries, entries_of_lines)
read_json = partial(read_entries, entries_of_path)

JSON_LINES = Reader(
    kind="a file of JSON lines",
    accepts="a .jsonl or .ndjson of graphs",
    read=read_jsonlines,
    blocks=line_blocks,
    options=OPTIONS,
    heeds=HEEDS,
    suffixes=(".jsonl", ".ndjson"),
    known_targets=targets_of(entries_of_lines),
)
JSON_FILES = Reader(
    kind="a .json file or a folder of them",
    accepts="a .json array or a folder of .json graphs",
    read=read_json,
    options=OPTIONS,
    heeds=HEEDS,
    suffixes=(".json",),
    sniff=lambda path: path.is_dir() and bool(json_files(path)),
    files=lambda path: json_files(path) if path.is_dir() else [path],
    known_targets=targets_of(entries_of_path),
)
