"""Graphs in files of other programs: GraphML (``.graphml``), GML (``.gml``), and tables of edges.

NetworkX reads GraphML and GML, a file of one or several graphs, or a folder of such files. Numbers and words of the
nodes are their signals, ``weight`` is the weight of an edge, and the data of a graph hold its target.

Tables of edges have a row for each edge, with a column that names its graph. They are ``edges``, ``nodes`` and
``graphs`` of a folder, or ``NAME_edges``, ``NAME_nodes`` and ``NAME_graphs``. Without a table of nodes, the nodes are
the ends of the edges. The table of graphs has the targets. Each graph then is a document as in
:mod:`bankgcn.data.readers.node_link`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError

from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import EdgeData, Expected, ReadOptions
from bankgcn.data.readers import Reader
from bankgcn.data.readers.json_graphs import (
    HEEDS,
    OPTIONS,
    expected_edge_schema,
    expected_schema,
    graph_set,
    known_targets,
    targets_of,
)
from bankgcn.data.readers.node_link import Entry
from bankgcn.data.target_values import Targets, scalar, with_decimal_points
from bankgcn.data.targets import clean_targets, target_columns
from bankgcn.extras import require
from bankgcn.files.archives import beginning, open_plain, plain_ending, plain_stem
from bankgcn.files.checked import FileError, files_of
from bankgcn.files.tables import DELIMITERS, TABLE_FORMATS, TextTable, open_table

LABEL = "label"  # of a node in GML: its category, or merely its name
IDENTITY = "id"  # of an edge in GraphML: names it, and says nothing of it
_OF_NETWORKX = ("node_default", "edge_default")  # entries of a graph that no user wrote


def read_graph_files(
    path: str | PathLike[str], options: ReadOptions | None = None, expected: Expected | None = None
) -> GraphSet:
    """The graphs of a file, or of the files of a folder in the order of their names.

    Labels of nodes in GML are words of the nodes, unless they differ within each graph: then they are names, and are
    left out.

    Args:
        path: The file or folder.
        options: How it is read.
        expected: What a trained model fixes.

    Raises:
        FileError: A graph cannot be read; the message names the file.
    """
    path, expected = Path(path), expected or Expected()
    entries = graph_entries(path)
    entries = entries if expected_schema(expected) else _without_names(entries)
    return graph_set(entries, plain_stem(path.resolve()), options or ReadOptions(), expected)


def graph_entries(path: Path) -> list[Entry]:
    """The graphs; a file that cannot be read is an entry with its error."""
    entries: list[Entry] = []
    for file in graph_paths(path):
        try:
            graphs = _graphs(file)
        except FileError as error:
            entries.append(Entry(error, file))
            continue
        for number, graph in enumerate(graphs):
            label = f"graph {number}" if len(graphs) > 1 else ""
            name = plain_stem(file) if path.is_dir() and not label else None
            entries.append(Entry(_document_of(graph), file, label=label, name=name))
    if not entries:
        raise FileError("has no graphs", path)
    return entries


def graph_paths(path: Path) -> list[Path]:
    """The file itself, or the files of a folder in the order of their names."""
    return sorted(files_of(path, tuple(_PARSERS))) if path.is_dir() else [path]


def _graphs(file: Path) -> list[Any]:
    require("networkx", "reading GraphML and GML")
    import networkx as nx

    ending = plain_ending(file)
    try:
        with open_plain(file) as opened:
            text = opened.read().decode("utf-8-sig")
        return _PARSERS[ending](text)
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", file) from error
    except UnicodeDecodeError as error:
        raise FileError(f"is not text in UTF-8 ({error.reason}): save it as UTF-8", file) from error
    except FileError:
        raise
    except (nx.NetworkXError, ParseError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(f"cannot be read as {_FORMATS[ending]}: {error}", file) from error


def _parse_graphml(text: str) -> list[Any]:
    from networkx.readwrite.graphml import GraphMLReader

    if "<!ENTITY" in text:  # entities can multiply a short text, and no program writes them
        raise ValueError("it defines entities, which are not read")
    return list(GraphMLReader(node_type=str)(string=text))


def _parse_gml(text: str) -> list[Any]:
    import networkx as nx

    return [nx.parse_gml(text.splitlines(), label="id")]


_PARSERS: Mapping[str, Callable[[str], list[Any]]] = {".graphml": _parse_graphml, ".gml": _parse_gml}
_FORMATS = {".graphml": "GraphML", ".gml": "GML (one graph in each file)"}


def _document_of(graph: Any) -> dict[str, Any]:
    import networkx as nx

    document = nx.node_link_data(graph, edges="edges")
    metadata = {str(key): value for key, value in document["graph"].items() if key not in _OF_NETWORKX}
    edges = [{key: edge[key] for key in edge if key != IDENTITY} for edge in document["edges"]]
    return {**document, "graph": metadata, "edges": edges}


def _without_names(entries: list[Entry]) -> list[Entry]:
    """The graphs without the labels of nodes in GML, if these differ within each graph."""
    documents = [entry.content for entry in entries if plain_ending(entry.path) == ".gml" and _is_document(entry)]
    labels = [[str(node[LABEL]) for node in document["nodes"] if LABEL in node] for document in documents]
    if all(len(set(each)) == len(each) for each in labels):
        for document in documents:
            document["nodes"] = [{key: node[key] for key in node if key != LABEL} for node in document["nodes"]]
    return entries


def _is_document(entry: Entry) -> bool:
    return not isinstance(entry.content, FileError)


GRAPH_FILES = Reader(
    kind="graphs in GraphML or GML",
    accepts="a .graphml or .gml file or a folder of them",
    read=read_graph_files,
    options=OPTIONS,
    heeds=HEEDS,
    suffixes=tuple(_PARSERS),
    sniff=lambda path: path.is_dir() and bool(graph_paths(path)),
    files=graph_paths,
    known_targets=targets_of(graph_entries),
)


GRAPH = ("graph", "graph_id", "graph_index")
NODE = ("node", "node_id", "id")
ENDS = (("source", "src", "from"), ("target", "dst", "to"))
WEIGHT = ("weight",)
EDGE = ("edge", "edge_id", "id")
_HEADER_BYTES = 1 << 16


class TablePaths(NamedTuple):
    """The files of a set: the table of edges, and those of nodes and graphs, if there are such."""

    edges: Path
    nodes: Path | None
    graphs: Path | None

    @property
    def present(self) -> list[Path]:
        """The files that there are."""
        return [path for path in self if path is not None]


@dataclass(frozen=True)
class EdgeTables:
    """The tables of a set."""

    edges: TextTable
    nodes: TextTable | None
    graphs: TextTable | None

    @classmethod
    def read(cls, path: Path) -> EdgeTables:
        """Read the tables of a folder, or those beside a table of edges."""
        paths = table_paths(path)
        return cls(open_table(paths.edges), *(None if each is None else open_table(each) for each in paths[1:]))

    def target_names(self, target: str | None) -> str | None:
        """The columns of the targets, separated by commas: the given ones, or else the only candidate."""
        if self.graphs is None and target is not None:
            path = self.edges.path
            raise FileError(
                f"there is no table with the targets beside it: {_beside(path, 'graphs')}.csv with the columns 'graph' "
                f"and {target!r}",
                path,
            )
        if self.graphs is None:
            return None
        names = target_columns(self.graphs, [_column(self.graphs, GRAPH)], target)
        return target or (names[0] if names else None)

    def entries(
        self,
        target: str | None,
        task: str | None,
        schema: NodeSchema | None,
        edge_data: EdgeData = "none",
        edge_schema: NodeSchema | None = None,
    ) -> list[Entry]:
        """Each graph as a node-link document, in the order of the table of graphs, else of nodes, else of edges."""
        documents: dict[str, dict[str, Any]] = {}
        for name, metadata in self._metadata(target, task):
            documents[name] = {"nodes": [], "edges": [], "graph": metadata}
        listed = None if self.graphs is None else set(documents)
        ids = self._add_nodes(documents, listed, schema)
        self._add_edges(documents, listed, ids, edge_data, edge_schema)
        if not documents:
            raise FileError("has no graphs", self.edges.path)
        path = self.edges.path
        return [Entry(document, path, label=f"graph {name!r}", name=name) for name, document in documents.items()]

    def _metadata(self, target: str | None, task: str | None) -> list[tuple[str, dict[str, Any]]]:
        """The name of each graph, and its row of the table of graphs."""
        if self.graphs is None:
            return []
        key = _column(self.graphs, GRAPH)
        targets = target_columns(self.graphs, [key], target) if target else []
        table = clean_targets(self.graphs, targets, task, ReadOptions())
        place = table.header.index(key)
        first: dict[str, int] = {}
        for row, line in zip(table.rows, table.lines, strict=True):
            if first.setdefault(row[place].strip(), line) != line:
                raise FileError(f"graph {row[place]!r} is listed twice", table.path, line)
        columns = [(at, name) for at, name in enumerate(table.header) if at != place]
        return [(row[place].strip(), {name: scalar(row[at]) for at, name in columns}) for row in table.rows]

    def _add_nodes(
        self, documents: dict[str, dict[str, Any]], listed: set[str] | None, schema: NodeSchema | None
    ) -> dict[str, set[str]] | None:
        """Add the nodes to their graphs, and return the ids of each graph; ``None`` if there is no table of nodes."""
        table = self.nodes
        if table is None:
            return None
        graph, node = (table.header.index(_column(table, names)) for names in (GRAPH, NODE))
        signals = _signals(table, (graph, node), schema)
        ids: dict[str, set[str]] = {}
        for number, (row, line) in enumerate(zip(table.rows, table.lines, strict=True)):
            name, identity = row[graph].strip(), row[node].strip()
            of_graph = ids.setdefault(name, set())
            if identity in of_graph:
                raise FileError(f"graph {name!r} has two nodes {identity!r}", table.path, line)
            of_graph.add(identity)
            values = {key: column[number] for key, column in signals.items() if column[number] is not None}
            _document(documents, listed, name, table, line)["nodes"].append({**values, "id": identity})
        return ids

    def _add_edges(
        self,
        documents: dict[str, dict[str, Any]],
        listed: set[str] | None,
        ids: dict[str, set[str]] | None,
        edge_data: EdgeData,
        schema: NodeSchema | None,
    ) -> None:
        """Add the edges to their graphs, and their ends to the nodes if there is no table of nodes."""
        table = self.edges
        graph, *ends = (table.header.index(_column(table, names)) for names in (GRAPH, *ENDS))
        weight = next((place for place, name in enumerate(table.header) if name.lower() in WEIGHT), None)
        weights = None if weight is None else _numbers_of(table, weight)
        known = {graph, *ends, *(place for place, name in enumerate(table.header) if name.lower() in (*WEIGHT, *EDGE))}
        features = {} if edge_data == "none" else _signals(table, sorted(known), schema)
        nodes_of: dict[str, set[str]] = {} if ids is None else ids
        for number, (row, line) in enumerate(zip(table.rows, table.lines, strict=True)):
            name = row[graph].strip()
            document = _document(documents, listed, name, table, line)
            pair = [row[end].strip() for end in ends]
            for identity in pair:
                if identity in nodes_of.setdefault(name, set()):
                    continue
                if ids is not None:
                    raise FileError(f"graph {name!r} has no node {identity!r}", table.path, line)
                nodes_of[name].add(identity)
                document["nodes"].append({"id": identity})
            edge: dict[str, Any] = {"source": pair[0], "target": pair[1]}
            if weights is not None:
                edge["weight"] = weights[number]
            edge |= {key: column[number] for key, column in features.items() if column[number] is not None}
            document["edges"].append(edge)


def read_edge_tables(
    path: str | PathLike[str], options: ReadOptions | None = None, expected: Expected | None = None
) -> GraphSet:
    """The graphs of a table of edges, or of a folder with ``edges``, and of the tables of nodes and graphs beside it.

    Args:
        path: The table of edges, or the folder.
        options: How they are read; the target is a column of the table of graphs. Edges have no direction.
        expected: What a trained model fixes.

    Raises:
        FileError: The message names the table and the line.
    """
    path, options, expected = Path(path), options or ReadOptions(), expected or Expected()
    tables = EdgeTables.read(path)
    target = tables.target_names(options.target) if expected.has_target else None
    schemas = expected_schema(expected), expected.edge_data, expected_edge_schema(expected)
    entries = tables.entries(target, expected.task, *schemas)
    return graph_set(entries, _set_name(path), replace(options, target=target), expected)


def read_known_targets(
    path: Path, rows: Sequence[int], options: ReadOptions, expected: Expected, required: bool
) -> tuple[list[int], Targets]:
    """The targets of the table of graphs; see :func:`bankgcn.data.readers.json_graphs.known_targets`."""
    tables = EdgeTables.read(path)
    try:
        target = tables.target_names(options.target)
    except FileError:
        if required:
            raise
        return [], Targets()  # the table may be of other graphs, with other columns
    entries = tables.entries(target, expected.task, None)
    return known_targets(entries, rows, replace(options, target=target), expected, required)


def table_paths(path: Path) -> TablePaths:
    """The tables of a folder, or those beside a table of edges."""
    if path.is_dir():
        edges = _table_named(path, "edges")
        if edges is None:
            raise FileError("has no table of edges: edges.csv", path)
        return TablePaths(edges, _table_named(path, "nodes"), _table_named(path, "graphs"))
    return TablePaths(path, *(_table_named(path.parent, _beside(path, what)) for what in ("nodes", "graphs")))


def is_edge_table(path: Path) -> bool:
    """Whether this is a folder with a table of edges, or a text table with columns of graphs, sources and targets."""
    if path.is_dir():
        return _table_named(path, "edges") is not None
    if not path.is_file() or plain_ending(path) not in (".csv", ".tsv"):
        return False
    header = beginning(path, _HEADER_BYTES).decode("utf-8-sig", "replace").partition("\n")[0].lower()
    names = {name.strip().strip('"') for name in header.split(max(DELIMITERS, key=header.count))}
    return all(names & set(usual) for usual in (GRAPH, *ENDS)) and not any("smiles" in name for name in names)


def _beside(edges: Path, what: str) -> str:
    """Name of the table of nodes or graphs beside a table of edges, without its ending."""
    stem = plain_stem(edges)
    return f"{stem[: -len('edges')]}{what}" if stem.lower().endswith("edges") else f"{stem}_{what}"


def _table_named(folder: Path, stem: str) -> Path | None:
    """The table of this name, whatever its format."""
    candidates = (
        folder / f"{stem}{ending}{packed}" for ending in TABLE_FORMATS for packed in ("", ".gz", ".bz2", ".xz")
    )
    return next((path for path in candidates if path.is_file()), None)


def _set_name(path: Path) -> str:
    stem = plain_stem(path.resolve())
    return stem[: -len("_edges")] or stem if stem.lower().endswith("_edges") else stem


def _column(table: TextTable, usual: Sequence[str]) -> str:
    """The only column with a usual name."""
    columns = [name for name in table.header if name.lower() in usual]
    if len(columns) != 1:
        what = "more than one column" if columns else "no column"
        raise FileError(f"has {what} {usual[0]!r} (or {', '.join(usual[1:])}): {table.listed()}", table.path)
    return columns[0]


def _document(
    documents: dict[str, dict[str, Any]], listed: set[str] | None, name: str, table: TextTable, line: int
) -> dict[str, Any]:
    """The document of a graph, which must be listed if there is a table of graphs."""
    if not name:
        raise FileError("the graph has no name", table.path, line)
    if listed is not None and name not in listed:
        raise FileError(f"graph {name!r} is not in the table of graphs", table.path, line)
    return documents.setdefault(name, {"nodes": [], "edges": [], "graph": {}})


def _signals(table: TextTable, others: Sequence[int], schema: NodeSchema | None) -> dict[str, list[Any]]:
    """The columns of the nodes: numbers if all cells are numbers, else words; ``None`` where a cell is empty.

    With the schema of a model, a column has the kind that it had in training.
    """
    columns: dict[str, list[Any]] = {}
    for place, name in enumerate(table.header):
        if place in others or (schema is not None and name not in {*schema.attributes, *schema.categories}):
            continue
        cells = [row[place] for row in table.rows]
        if table.delimiter != ",":
            cells = with_decimal_points(cells) or cells
        values = [scalar(cell) for cell in cells]
        words = any(isinstance(value, str) for value in values) if schema is None else name in schema.categories
        columns[name] = [None if v is None else c.strip() if words else v for v, c in zip(values, cells, strict=True)]
    return columns


def _numbers_of(table: TextTable, place: int) -> list[int | float]:
    """The weights of the edges."""
    cells = [row[place] for row in table.rows]
    cells = (with_decimal_points(cells) if table.delimiter != "," else None) or cells
    values = []
    for cell, line in zip(cells, table.lines, strict=True):
        value = scalar(cell)
        if not isinstance(value, int | float):
            raise FileError(f"weight {cell!r} is not a number", table.path, line)
        values.append(value)
    return values


EDGE_TABLES = Reader(
    kind="a table of edges",
    accepts="a table of edges with columns graph, source and target",
    read=read_edge_tables,
    options=OPTIONS,
    heeds=HEEDS,
    sniff=is_edge_table,
    files=lambda path: table_paths(path).present,
    known_targets=read_known_targets,
)
