"""Graph sets in the TU format, from the official zip or an unpacked folder.

A set called NAME is a few text files: ``NAME_A.txt`` has one edge per line (``row, column``, nodes counted from 1 over
the whole set), ``NAME_graph_indicator.txt`` has the graph of each node, and others have the labels and attributes of
nodes, edges and graphs, one line each.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data import GraphError
from bankgcn.data.catalog import TUFeatures
from bankgcn.data.edge_data import edge_note
from bankgcn.data.features.signals import (
    Floats,
    Integers,
    TUSignals,
    labels_from_range,
    signal_arrays,
    structural_signals,
)
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers import Reader
from bankgcn.data.target_values import TargetError, Targets, encode_targets
from bankgcn.files.archives import Archive, Files, Folder
from bankgcn.files.checked import FileError
from bankgcn.files.tables import Number, parse_table
from bankgcn.messages import Message, advise


class TUFiles:
    """The text files of one set in the TU format.

    Args:
        path: A zip or a folder.
    """

    def __init__(self, path: Path):
        self.files = _open(path)
        edge_files = _edge_files(self.files)
        if len(edge_files) != 1:
            what = "no file NAME_A.txt" if not edge_files else f"several sets: {', '.join(map(str, edge_files))}"
            zipped = "; a zip of one table is read, too" if path.suffix.lower() == ".zip" and not edge_files else ""
            raise FileError(f"{what}; a set in the TU format has one{zipped}", path)
        self.folder = edge_files[0].parent
        self.name = edge_files[0].name.removesuffix("_A.txt")

    def _member(self, part: str) -> str:
        return str(self.folder / f"{self.name}_{part}.txt")

    def has(self, part: str) -> bool:
        """Whether the set has the file of a part, such as ``"node_labels"``."""
        return self._member(part) in self.files.names

    def where(self, part: str) -> Path:
        """Path of the file of a part, for messages."""
        return self.files.where(self._member(part))

    def paths(self) -> list[Path]:
        """The files on disk: the zip, or the text files of the set."""
        if isinstance(self.files, Archive):
            return [self.files.path]
        names = [PurePosixPath(name) for name in self.files.names]
        return [self.files.where(str(name)) for name in names if name.parent == self.folder and name.suffix == ".txt"]

    def features(self) -> TUFeatures:
        """All the signals that the files have."""
        return TUFeatures(attributes="raw" if self.has("node_attributes") else "none", labels=self.has("node_labels"))

    def table(
        self, part: str, dtype: type[Number], *, columns: int | None = None, rows: tuple[int, str] | None = None
    ) -> NDArray[Number]:
        """The numbers of a part, shape ``(rows, columns)``.

        Args:
            part: The part.
            dtype: ``np.int64`` or ``np.float32``.
            columns: Number of columns that the file must have, if that is known.
            rows: Number of lines that the file must have, and what they count.
        """
        if not self.has(part):
            raise FileError("is missing", self.where(part))
        table = parse_table(self.files.read(self._member(part)), self.where(part), dtype, columns=columns)
        if rows is not None and len(table) != rows[0]:
            line = min(len(table), rows[0] + 1)  # the last line if there are too few, else the first too many
            raise FileError(f"{len(table):,} lines for {rows[0]:,} {rows[1]}", self.where(part), line)
        return table


def has_tu_files(path: Path) -> bool:
    """Whether a zip or a folder has the edge file of a set in the TU format."""
    return bool(_edge_files(_open(path)))


def _edge_files(files: Files) -> list[PurePosixPath]:
    paths = [PurePosixPath(name) for name in files.names if name.endswith("_A.txt")]
    return [name for name in paths if not name.name.startswith(".")]  # macOS adds "._x" to a zip


def _open(path: Path) -> Files:
    if path.is_dir():
        folder = path.resolve().name
        return Folder(path, inside=("raw", folder, f"{folder}/raw"))
    return Archive(path)


__all__ = ["TUFeatures", "read_tu"]


def read_tu(
    path: str | Path,
    options: ReadOptions | None = None,
    expected: Expected | None = None,
    *,
    name: str = "",
    notes: tuple[str, ...] = (),
) -> GraphSet:
    """Read a set in the TU format.

    Args:
        path: The zip, or the folder with the text files (in the folder itself, in its ``raw`` as PyG leaves them, or
            in a folder of the same name).
        options: How it is read: whether the missing reverses of edges are added.
        expected: Which signals to read: those of the training graphs of a model, else those that are published, else
            all. A set without signals gets the one-hot degree and the clustering coefficient of each node. The task
            ``"classes"`` reads the graph labels, ``"values"`` and ``"labels"`` the graph attributes if there are any,
            else the graph labels as numbers; by default classes where there are graph labels.
        name: Name of the set; by default the name in its files.
        notes: What a user of this set must know.

    Raises:
        FileError: A file is missing, damaged, or contradicts another one; the message names the line.
    """
    expected = expected or Expected()
    of_model = expected.features if expected.features.get("kind") in ("tu", "structure") else {}
    files = TUFiles(Path(path))
    fitted = TUSignals.from_spec(of_model) if of_model.get("kind") == "tu" else None
    features = expected.published or files.features()
    if of_model:
        features = fitted.features if fitted else TUFeatures()
    graph_of = _graph_of_nodes(files)
    num_nodes = np.bincount(graph_of)
    targets = _targets(files, len(num_nodes), expected.task)
    edges = _edges(files, graph_of, expected.edge_data != "none")
    signals = _signals(files, features, len(graph_of), fitted)
    try:
        graphs = GraphSet.from_edges(
            num_nodes,
            edges.pop("ends").T - 1,
            **targets._asdict(),
            name=name or files.name,
            symmetrise=(options or ReadOptions()).symmetrise,
            notes=(*notes, *edges.pop("notes"), *signals.pop("notes")),
            **edges,
            **signals,
        )
    except GraphError as error:
        raise _with_line(error, files) from error
    if graphs.num_features:
        return graphs
    return structural_signals(graphs, of_model["max_degree"] if of_model else None)


def _graph_of_nodes(files: TUFiles) -> Integers:
    """Graph of each node, counted from 0."""
    graph_of = files.table("graph_indicator", np.int64, columns=1)[:, 0]
    step = np.diff(graph_of, prepend=0)
    for node in np.flatnonzero((step != 0) & (step != 1))[:1]:
        before = graph_of[node - 1] if node else 0
        raise FileError(
            f"graph {graph_of[node]} follows graph {before}: graphs are numbered from 1, in order, without gaps",
            files.where("graph_indicator"),
            int(node) + 1,
        )
    if graph_of[0] != 1:
        raise FileError("the first graph is numbered 0, expected 1", files.where("graph_indicator"), 1)
    return graph_of - 1


def _targets(files: TUFiles, num_graphs: int, task: str | None) -> Targets:
    """Classes or numbers from the graph labels, or numbers from the graph attributes; nothing where there are none."""
    if not files.has("graph_labels") and not files.has("graph_attributes"):
        return Targets()
    if task is None:
        task = "classes" if files.has("graph_labels") else "values"
    rows = (num_graphs, "graphs in the indicator file")
    part = "graph_labels" if task == "classes" or not files.has("graph_attributes") else "graph_attributes"
    try:
        if part == "graph_labels":
            return encode_targets(files.table(part, np.int64, columns=1, rows=rows)[:, 0].tolist(), task)
        return encode_targets(files.table(part, np.float32, rows=rows).tolist(), task)
    except TargetError as error:
        line = None if error.graph is None else error.graph + 1
        raise FileError(error.message, files.where(part), line) from error


def _edges(files: TUFiles, graph_of: Integers, with_attributes: bool) -> dict[str, Any]:
    """Edges as ``ends``, pairs of nodes counted from 1, and their labels, attributes and notes.

    Labels are always read. A set in which nothing asks for attributes is as it was before they could be read.
    """
    edges = files.table("A", np.int64, columns=2)
    outside = (edges < 1) | (edges > len(graph_of))
    for line in np.flatnonzero(outside.any(axis=1))[:1]:
        node = edges[line][outside[line]][0]
        raise FileError(f"there is no node {node}: nodes are 1 to {len(graph_of)}", files.where("A"), int(line) + 1)
    graph = graph_of[edges - 1] + 1
    for line in np.flatnonzero(graph[:, 0] != graph[:, 1])[:1]:
        (row, col), (one, other) = edges[line], graph[line]
        message = f"edge {row}, {col} joins graph {one} to graph {other}"
        raise FileError(message, files.where("A"), int(line) + 1)
    labels, attributes, rows = None, None, (len(edges), "edges")
    if files.has("edge_labels"):
        labels = files.table("edge_labels", np.int64, rows=rows)
    if with_attributes and files.has("edge_attributes"):
        attributes = files.table("edge_attributes", np.float32, rows=rows)
    features = TUFeatures(attributes="none" if attributes is None else "raw", labels=labels is not None)
    spec = TUSignals.fitted(features, attributes, labels, files.where("edge_labels")).spec
    notes = edge_note(part for part in ("labels", "attributes") if files.has(f"edge_{part}"))
    kept = _without_repeats(
        {
            "ends": edges,
            "edge_labels": None if labels is None else labels_from_range(labels)[0],
            "edge_attributes": attributes,
            "notes": () if with_attributes else notes,
        },
        len(graph_of),
    )
    if labels is not None:  # a repeated edge may have had the largest label
        spec["label_widths"] = (kept["edge_labels"].max(axis=0) + 1).tolist()
    return {**kept, "edge_spec": {} if labels is None and attributes is None else spec}


def _without_repeats(edges: dict[str, Any], num_nodes: int) -> dict[str, Any]:
    """Each edge once: without weights, a repeated line is a mistake, not a heavier edge."""
    ends = edges["ends"]
    _, first = np.unique(ends[:, 0] * (num_nodes + 1) + ends[:, 1], return_index=True)
    repeats = len(ends) - len(first)
    if not repeats:
        return edges
    first.sort()
    kept = {name: array[first] if isinstance(array, np.ndarray) else array for name, array in edges.items()}
    return {**kept, "notes": (*edges["notes"], f"{repeats:,} repeated edges left out")}


def _signals(files: TUFiles, features: TUFeatures, num_nodes: int, fitted: TUSignals | None) -> dict[str, Any]:
    """Signals and notes for ``GraphSet.from_edges``; without ``fitted``, they are fitted to these graphs."""
    rows = (num_nodes, "nodes in the indicator file")
    attributes: Floats | None = None
    labels: Integers | None = None
    if features.attributes != "none":
        attributes = files.table("node_attributes", np.float32, rows=rows)
    if features.labels:
        labels = files.table("node_labels", np.int64, rows=rows)
    if fitted is None:
        fitted = TUSignals.fitted(features, attributes, labels, files.where("node_labels"))
    if attributes is not None:
        attributes = fitted.scaled(attributes, files.where("node_attributes"))
    places = None if labels is None else fitted.places(labels, files.where("node_labels"))
    arrays = signal_arrays(attributes, places, fitted.label_widths)
    notes = (*fitted.outside(attributes), *arrays.get("notes", ()))
    return {**arrays, "feature_spec": fitted.spec, "notes": notes}


def _with_line(error: GraphError, files: TUFiles) -> FileError:
    """The error of a graph set as an error of its edge file, with the line of the first edge without its reverse."""
    edges = files.table("A", np.int64, columns=2)
    nodes = int(edges.max()) + 1
    reverse = np.isin(edges[:, 1] * nodes + edges[:, 0], edges[:, 0] * nodes + edges[:, 1])
    alone = np.flatnonzero(~reverse)
    if not len(alone):
        return FileError(error.message, files.where("A"))
    row, col = edges[alone[0]]
    missing = f"edge {row}, {col} has no reverse {col}, {row}, nor have {len(alone) - 1:,} others"
    advice = [advise("symmetrise", True, "adds them")]
    return FileError(Message("{missing}", missing=missing, advice=advice), files.where("A"), int(alone[0]) + 1)


READER = Reader(
    kind="a set in the TU format",
    accepts="a folder or zip in the TU format",
    read=read_tu,
    options=("symmetrise",),
    heeds=("features", "published", "task", "edges"),
    suffixes=(".zip",),
    sniff=lambda path: path.is_dir() and has_tu_files(path),
    files=lambda path: TUFiles(path).paths(),
    set_name=lambda path: TUFiles(path).name,
)
