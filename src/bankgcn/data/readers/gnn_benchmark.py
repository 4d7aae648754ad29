"""CIFAR-10 superpixels from the file of PyG's ``GNNBenchmarkDataset``: the original graphs of "Benchmarking GNNs".

The file is ``CIFAR10_v2.pt``, alone or in the zip that PyG downloads: three lists (training, validation, test) of
dictionaries of tensors, one dictionary per graph. Reading it runs no code that it may contain.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.neighbors import undirected_edges
from bankgcn.data.readers.superpixels import CLASSES
from bankgcn.files.archives import Archive
from bankgcn.files.checked import FileError

FILE = "CIFAR10_v2.pt"
PARTS = ("training", "validation", "test")


def read_gnn_benchmark(path: str | PathLike[str]) -> GraphSet:
    """The graphs of PyG's file, in the order of CIFAR-10: validation, training, test.

    The neighbours in the file are directed; here each edge has both directions.

    Args:
        path: ``CIFAR10_v2.pt``, ``CIFAR10_v2.zip``, or a folder that contains one of them, directly or in ``raw`` or
            ``CIFAR10/raw``.

    Raises:
        FileError: The file is of another kind, or a graph in it is wrong; the message names the graph.
    """
    path = _find(Path(path))
    parts = _load(path)
    for name, part in zip(PARTS, parts, strict=True):
        for number, graph in enumerate(part):
            _check(graph, path, f"{name} graph {number}")
    train, valid, test = parts
    return _flat([*valid, *train, *test])


def _find(path: Path) -> Path:
    if not path.is_dir():
        return path
    names = (FILE, FILE.replace(".pt", ".zip"))
    for file in (path / folder / name for name in names for folder in ("", "raw", "CIFAR10/raw")):
        if file.is_file():
            return file
    raise FileError(f"has neither {names[0]} nor {names[1]}, nor has its folder raw or CIFAR10/raw", path)


def _load(path: Path) -> Any:
    """The three lists of dictionaries."""
    file: Path | io.BytesIO = path
    mapped = zipfile.is_zipfile(path)  # torch's own format is a zip, and only that can be mapped into memory
    if path.suffix == ".zip":
        archive = Archive(path)
        if FILE not in archive.names:
            raise FileError(f"has no member {FILE}, but {', '.join(archive.names)}", path)
        file, mapped = io.BytesIO(archive.read(FILE)), False
    try:
        parts = torch.load(file, weights_only=True, map_location="cpu", mmap=mapped)
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", path) from error
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise FileError(f"is not a file of tensors: {str(error).splitlines()[0]}", path) from error
    if not isinstance(parts, list | tuple) or len(parts) != len(PARTS) or not all(isinstance(p, list) for p in parts):
        raise FileError("does not hold three lists of graphs", path)
    return parts


def _check(graph: Any, path: Path, name: str) -> None:
    """Raise unless the tensors of a graph have the right shapes, types and values."""
    fields = graph if isinstance(graph, dict) else {}
    absent = torch.zeros(())
    x, pos, edge_index, y = (torch.as_tensor(fields.get(key, absent)) for key in ("x", "pos", "edge_index", "y"))
    if not (
        x.dim() == edge_index.dim() == 2
        and x.shape[1] == 3
        and pos.shape == (len(x), 2)
        and len(edge_index) == 2
        and not edge_index.is_floating_point()
    ):
        raise FileError(f"{name} has no x (n, 3), pos (n, 2) and edge_index (2, e)", path)
    if edge_index.numel() and not (edge_index.min() >= 0 and edge_index.max() < len(x)):
        raise FileError(f"{name} has an edge to a missing node: it has {len(x)} nodes", path)
    if y.numel() != 1 or y.item() not in range(len(CLASSES)):
        raise FileError(f"{name} has class {y.tolist()}: the classes are 0 to {len(CLASSES) - 1}", path)


def _flat(graphs: list[dict[str, Tensor]]) -> GraphSet:
    num_nodes = np.array([len(graph["x"]) for graph in graphs])
    num_edges = np.array([graph["edge_index"].shape[1] for graph in graphs])
    source, target = torch.cat([graph["edge_index"].to(torch.int32) for graph in graphs], dim=1).numpy()
    return GraphSet.from_edges(
        num_nodes,
        undirected_edges(num_nodes, num_edges, source, target),
        attributes=torch.cat([torch.cat([graph["x"], graph["pos"]], dim=1) for graph in graphs]),
        y=[int(graph["y"]) for graph in graphs],
        classes=CLASSES,
        name="CIFAR10",
        feature_spec={"kind": "superpixels"},
    )
