"""CIFAR-10 as graphs of superpixels, from either of the two files that hold them."""

from __future__ import annotations

from pathlib import Path

from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.gnn_benchmark import read_gnn_benchmark
from bankgcn.data.readers.reader import Reader
from bankgcn.data.readers.superpixels import cifar10_split, read_superpixel_pack


def read_cifar10(path: Path, options: ReadOptions | None = None, expected: Expected | None = None) -> GraphSet:
    """The graphs of an ``.npz`` pack, or else of the file of PyG's ``GNNBenchmarkDataset``."""
    return read_superpixel_pack(path) if path.suffix == ".npz" else read_gnn_benchmark(path)


READER = Reader(
    kind="CIFAR-10 as superpixels",
    read=read_cifar10,
    official_split=lambda _, num_graphs: cifar10_split(num_graphs),
)
