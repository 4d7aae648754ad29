"""Where graphs in JSON are: on the lines of a file, in an array, or in the files of a folder."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from bankgcn.data.errors import GraphError
from bankgcn.data.invariants import check_text
from bankgcn.data.readers.node_link import NodeLinkGraph, parse_node_link
from bankgcn.data.target_values import TargetWords
from bankgcn.files.archives import open_plain
from bankgcn.files.atomic import files_of
from bankgcn.files.checked import FileError
from bankgcn.messages import Message

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
        self, target: str | None = None, null_is_missing: bool = False, has_target: bool = True
    ) -> NodeLinkGraph:
        """The graph; see :func:`~bankgcn.data.readers.node_link.parse_node_link`.

        Raises:
            FileError: It cannot be read.
        """
        if isinstance(self.content, FileError):
            raise self.content
        try:
            document = _value(self.content) if isinstance(self.content, bytes) else self.content
            if self.suspect or (isinstance(self.content, bytes) and _HALF_CHARACTER.search(self.content)):
                check_text(document, "the text")
            graph = parse_node_link(document, target, null_is_missing, has_target)
        except GraphError as error:
            raise self.error(error.message) from error
        except (RecursionError, ValueError) as error:
            raise self.error(f"is not a graph in JSON{_reason(error)}") from error
        return graph if graph.name is not None or self.name is None else replace(graph, name=self.name)


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
