"""CIFAR-10 as graphs of superpixels: mean colour and centre of each superpixel, joined to eight near ones.

These are not exactly the eight nearest. The benchmark's code finds the nine nearest and drops the one that a partial
sort puts last, mostly one of the nearest; the pack was made in the same way.

Images come in the order of CIFAR-10: first the 5,000 training images that are the validation set, then the other 45,000
training images, then the 10,000 test images.
"""

from __future__ import annotations

import io
import lzma
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.batch import pointers
from bankgcn.data.errors import GraphError
from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.neighbors import undirected_edges
from bankgcn.data.splits import Split
from bankgcn.files.archives import Archive
from bankgcn.files.checked import FileError

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
NUM_VALID, NUM_TRAIN, NUM_TEST = 5_000, 45_000, 10_000
REBUILT = (
    "rebuilt from the images by the recipe of the benchmark (SLIC, at most 150 superpixels, 8 near neighbours): "
    "close to the benchmark's graphs, but not its files"
)
_FIELDS = {"x": 2, "neighbors": 2, "num_nodes": 1, "y": 1}  # dimensions of each array of a pack
_LEVELS = np.iinfo(np.uint16).max


def cifar10_split(num_graphs: int = NUM_VALID + NUM_TRAIN + NUM_TEST) -> Split:
    """The official split: 45,000 training, 5,000 validation and 10,000 test images."""
    total = NUM_VALID + NUM_TRAIN + NUM_TEST
    if num_graphs != total:
        raise GraphError(f"the official split of CIFAR-10 is one of {total:,} images, but there are {num_graphs:,}")
    valid, train, test = np.split(np.arange(total), [NUM_VALID, NUM_VALID + NUM_TRAIN])
    return Split(train=train, valid=valid, test=test)


def read_superpixel_pack(path: str | PathLike[str]) -> GraphSet:
    """The graphs in an ``.npz`` file with these arrays, for N superpixels of G images, one image after another.

    - ``x``, uint16, shape ``(5, N)``: mean red, green and blue, then row and column of the centre; 65535 stands for 1.
    - ``neighbors``, integers, shape ``(N, k)``: what each superpixel is joined to, counted within its image.
    - ``num_nodes`` and ``y``, integers, shape ``(G,)``: number of superpixels and class of each image.

    Raises:
        FileError: The file is of another kind.
    """
    path = Path(path)
    packed = _load(path)
    num_nodes = packed["num_nodes"].astype(np.int64)
    y = packed["y"].astype(np.int64)
    for image in np.flatnonzero((y < 0) | (y >= len(CLASSES)))[:1]:
        raise FileError(f"image {image} has class {y[image]}: the classes are 0 to {len(CLASSES) - 1}", path)
    edge_index = _edges(path, num_nodes, packed["neighbors"])
    attributes = np.multiply(packed.pop("x").T, np.float32(1 / _LEVELS), dtype=np.float32)
    return GraphSet.from_edges(
        num_nodes,
        edge_index,
        attributes=attributes,
        y=y,
        classes=CLASSES,
        name="CIFAR10",
        notes=(REBUILT,),
        feature_spec={"kind": "superpixels"},
    )


def _load(path: Path) -> dict[str, NDArray]:
    """The arrays of a pack; raises unless their shapes agree."""
    archive = Archive(path)
    packed = {}
    for name, dimensions in _FIELDS.items():
        if f"{name}.npy" not in archive.names:
            raise FileError(f"has no array {name!r}, but {', '.join(archive.names)}", path)
        try:
            array = np.load(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
        except (ValueError, EOFError, lzma.LZMAError) as error:
            raise FileError(f"its array {name!r} cannot be read: {error}", path) from error
        if array.ndim != dimensions or array.dtype.kind != "u":
            raise FileError(f"its array {name!r} has shape {array.shape} and dtype {array.dtype}", path)
        packed[name] = array
    total = int(packed["num_nodes"].sum(dtype=np.int64))
    shapes = {name: array.shape for name, array in packed.items()}
    if not (
        packed["x"].shape == (5, total)
        and packed["x"].dtype == np.uint16
        and len(packed["neighbors"]) == total
        and len(packed["y"]) == len(packed["num_nodes"])
    ):
        raise FileError(f"its arrays do not fit together: {shapes}, with {total:,} superpixels in all", path)
    return packed


def _edges(path: Path, num_nodes: NDArray[np.int64], neighbors: NDArray[np.unsignedinteger]) -> NDArray[np.integer]:
    """Both directions of the edges, in numbers over the whole set."""
    total, degree = neighbors.shape
    image = np.repeat(np.arange(len(num_nodes), dtype=np.int32), num_nodes)
    for node in np.flatnonzero(neighbors.max(axis=1, initial=0) >= num_nodes[image])[:1]:
        raise FileError(
            f"superpixel {node} has neighbour {neighbors[node].max()}, but image {image[node]} has "
            f"{num_nodes[image[node]]} superpixels",
            path,
        )
    own = (np.arange(total) - pointers(num_nodes)[image]).astype(np.min_scalar_type(num_nodes.max(initial=0)))
    return undirected_edges(num_nodes, num_nodes * degree, np.repeat(own, degree), neighbors.ravel())
