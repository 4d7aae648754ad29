"""ogbg-molhiv from the files that the Open Graph Benchmark publishes, without its package.

The folder is the unpacked ``hiv.zip``, or PyG's and OGB's ``ogbg_molhiv``: ``raw/*.csv.gz`` and
``split/scaffold/*.csv.gz``.
"""

from __future__ import annotations

import gzip
import zlib
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.errors import GraphError
from bankgcn.data.features.atoms import ATOM_FEATURE_WIDTHS, ATOM_FEATURES, atom_signals
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.molecules import atom_kind
from bankgcn.data.readers.reader import Reader
from bankgcn.data.splits import Split
from bankgcn.files.checked import FileError
from bankgcn.files.tables import parse_table

MAX_BYTES = 1 << 30  # unpacked; the largest file of molhiv has 20 MB


def read_molhiv(
    folder: str | PathLike[str], options: ReadOptions | None = None, expected: Expected | None = None
) -> GraphSet:
    """The 41,127 molecules, and whether each inhibits the replication of HIV (class "1") or not ("0").

    Args:
        folder: The folder that contains ``raw``.
        options: How it is read: what an atom carries; see :func:`bankgcn.data.features.atoms.atom_signals`.
        expected: What a trained model fixes.

    Raises:
        FileError: A file is missing, damaged, or contradicts another; the message names the line.
    """
    raw = Path(folder) / "raw"
    num_nodes = _counts(raw / "num-node-list.csv.gz")
    num_edges = _counts(raw / "num-edge-list.csv.gz")
    _check_length(raw / "num-edge-list.csv.gz", len(num_edges), len(num_nodes), "molecules")
    y = _read(raw / "graph-label.csv.gz", columns=1)[:, 0]
    _check_length(raw / "graph-label.csv.gz", len(y), len(num_nodes), "molecules")
    for graph in np.flatnonzero((y != 0) & (y != 1))[:1]:
        raise FileError(f"label {y[graph]} is neither 0 nor 1", raw / "graph-label.csv.gz", graph + 1)
    atoms = _atom_features(raw / "node-feat.csv.gz", int(num_nodes.sum()))
    bonds = _bonds(raw / "edge.csv.gz", num_nodes, num_edges)
    return GraphSet.from_edges(
        num_nodes,
        np.concatenate([bonds, bonds[::-1]], axis=1),
        **atom_signals(atoms, atom_kind(options or ReadOptions(), expected or Expected())),
        y=y,
        classes=("0", "1"),
        name="ogbg-molhiv",
    )


def scaffold_split(folder: str | PathLike[str], num_graphs: int) -> Split:
    """The official split, in which training, validation and test molecules differ in their scaffolds.

    Args:
        folder: The folder that contains ``split``.
        num_graphs: Number of molecules.

    Raises:
        FileError: A file is missing or damaged, or a molecule is in two parts.
    """
    scaffold = Path(folder) / "split" / "scaffold"
    parts = []
    for name in ("train", "valid", "test"):
        path = scaffold / f"{name}.csv.gz"
        part = _read(path, columns=1)[:, 0]
        for place in np.flatnonzero((part < 0) | (part >= num_graphs))[:1]:
            raise FileError(f"there is no molecule {part[place]}: there are {num_graphs}", path, place + 1)
        parts.append(part)
    try:
        return Split(*parts)
    except GraphError as error:
        raise FileError(str(error), scaffold) from error


def _read(path: Path, columns: int) -> NDArray[np.int64]:
    """The whole numbers of a gzipped file."""
    try:
        with gzip.open(path) as file:
            content = file.read(MAX_BYTES + 1)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise FileError(f"cannot be unpacked: {error}", path) from error
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", path) from error
    if len(content) > MAX_BYTES:
        raise FileError(f"has more than {MAX_BYTES:,} bytes when unpacked", path)
    return parse_table(content, path, np.int64, columns=columns)


def _counts(path: Path) -> NDArray[np.int64]:
    counts = _read(path, columns=1)[:, 0]
    for graph in np.flatnonzero((counts < 0) | (counts > MAX_BYTES))[:1]:
        raise FileError(f"{counts[graph]} is not a number of nodes or edges", path, graph + 1)
    return counts


def _check_length(path: Path, length: int, expected: int, what: str) -> None:
    if length != expected:
        raise FileError(f"has {length:,} lines, but there are {expected:,} {what}", path, min(length, expected) + 1)


def _atom_features(path: Path, num_atoms: int) -> NDArray[np.int64]:
    features = _read(path, columns=len(ATOM_FEATURES))
    _check_length(path, len(features), num_atoms, "atoms")
    for atom, column in np.argwhere((features < 0) | (features >= ATOM_FEATURE_WIDTHS))[:1]:
        feature = ATOM_FEATURES[column]
        raise FileError(
            f"{feature.name} {features[atom, column]} is not among 0 to {feature.width - 1}", path, atom + 1
        )
    return features


def _bonds(path: Path, num_nodes: NDArray[np.int64], num_edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """The two atoms of each bond, counted over all molecules, shape ``(2, bonds)``. Each bond must occur once."""
    bonds = _read(path, columns=2)
    _check_length(path, len(bonds), int(num_edges.sum()), "bonds")
    graph = np.repeat(np.arange(len(num_nodes)), num_edges)
    for bond in np.flatnonzero(((bonds < 0) | (bonds >= num_nodes[graph, None])).any(1))[:1]:
        i, j = bonds[bond]
        raise FileError(
            f"bond ({i}, {j}) leaves molecule {graph[bond]}, which has {num_nodes[graph[bond]]} atoms", path, bond + 1
        )
    bonds += (np.cumsum(num_nodes) - num_nodes)[graph, None]
    _, first = np.unique(np.sort(bonds, axis=1) @ [num_nodes.sum(), 1], return_index=True)
    for bond in np.setdiff1d(np.arange(len(bonds)), first)[:1]:
        raise FileError("the bond is listed twice: expected each bond once", path, bond + 1)
    return bonds.T


READER = Reader(
    kind="OGB's molhiv",
    read=read_molhiv,
    options=("features",),
    heeds=("features",),
    files=lambda path: sorted((path / "raw").glob("*.csv.gz")),
    holds_molecules=True,
    official_split=scaffold_split,
)
