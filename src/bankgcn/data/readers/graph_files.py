"""Graphs in GraphML (``.graphml``) and GML (``.gml``): a file of one or several, or a folder of such files.

NetworkX reads the files; each graph then is a document as in :mod:`bankgcn.data.readers.node_link`. Numbers and words
of the nodes are their signals, ``weight`` is the weight of an edge, and the data of a graph hold its target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.json_entries import Entry
from bankgcn.data.readers.json_graphs import HEEDS, OPTIONS, expected_schema, graph_set, targets_of
from bankgcn.data.readers.reader import Reader
from bankgcn.extras import require
from bankgcn.files.archives import open_plain, plain_ending, plain_stem
from bankgcn.files.atomic import files_of
from bankgcn.files.checked import FileError

LABEL = "label"  # of a node in GML: its category, or merely its name
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
            entries.append(Entry(_document(graph), file, label=label, name=name))
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


def _document(graph: Any) -> dict[str, Any]:
    import networkx as nx

    document = nx.node_link_data(graph, edges="edges")
    metadata = {str(key): value for key, value in document["graph"].items() if key not in _OF_NETWORKX}
    return {**document, "graph": metadata}


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


READER = Reader(
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
