"""Images of any kind as graphs of superpixels, each joined to the nearest ones: from an array or a folder.

Needs scikit-image: ``pip install 'bankgcn[images]'``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data import GraphError
from bankgcn.data.batch import pointers
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers import Progress, Reader, Skipped
from bankgcn.data.target_values import Target, TargetError, Targets, encode_targets
from bankgcn.extras import require
from bankgcn.files.checked import FileError, files_of, visible
from bankgcn.messages import Message, advise

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

CELLS_AT_ONCE = 1 << 23  # of adjacency matrices: eight megabytes beside the result


def nearest(positions: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """The nearest other points of each point, nearest first; equally near points in order of their numbers.

    Args:
        positions: Shape ``(n, dimensions)``.
        count: Number of points to find.

    Returns:
        Shape ``(n, count)``, or ``(n, n - 1)`` if there are fewer points.

    Example:
        >>> nearest(np.array([[0.0], [1.0], [3.0]]), 1).tolist()
        [[1], [0], [1]]
    """
    positions = np.asarray(positions, np.float64)
    distance = ((positions[:, None] - positions) ** 2).sum(-1)
    np.fill_diagonal(distance, np.inf)  # a point is not its own neighbour
    return np.argsort(distance, axis=1, kind="stable")[:, : min(count, max(len(positions) - 1, 0))]


def undirected_edges(
    num_nodes: NDArray[np.integer],
    num_edges: NDArray[np.integer],
    source: NDArray[np.integer],
    target: NDArray[np.integer],
) -> NDArray[np.integer]:
    """Both directions of each edge, once, from a list in which some edges have one direction only.

    Uses small dense adjacency matrices instead of sorting: 60,000 graphs take a few seconds, and little more memory
    than the result.

    Args:
        num_nodes: Number of nodes of each graph, shape ``(G,)``. A graph of n nodes takes n * n bytes for a moment.
        num_edges: Number of edges of each graph in ``source`` and ``target``, shape ``(G,)``.
        source: Node where each edge starts, counted within its graph, shape ``(E,)``; graph by graph.
        target: Node where each edge ends.

    Returns:
        An edge list for ``GraphSet.from_edges``, sorted, with nodes counted over the whole set.

    Example:
        >>> undirected_edges(np.array([1, 2]), np.array([0, 1]), np.array([1]), np.array([0]))
        array([[1, 2],
               [2, 1]], dtype=int32)
    """
    node_ptr, edge_ptr = pointers(num_nodes), pointers(num_edges)
    dtype = np.int32 if node_ptr[-1] <= np.iinfo(np.int32).max else np.int64
    edges = np.empty((2, 2 * len(source)), dtype)  # the largest possible size; unwritten pages take no memory
    filled = 0
    size = int(num_nodes.max(initial=1))
    step = max(1, CELLS_AT_ONCE // size**2)
    for first in range(0, len(num_nodes), step):
        last = min(first + step, len(num_nodes))
        chosen = slice(edge_ptr[first], edge_ptr[last])
        graph = np.repeat(np.arange(last - first), num_edges[first:last])
        adjacent = np.zeros((last - first, size, size), bool)
        adjacent[graph, source[chosen], target[chosen]] = True
        adjacent[graph, target[chosen], source[chosen]] = True
        graph, row, col = adjacent.nonzero()
        end = filled + len(graph)
        edges[0, filled:end] = row + node_ptr[first + graph]
        edges[1, filled:end] = col + node_ptr[first + graph]
        filled = end
    return edges[:, :filled]


SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"})


def image_files(folder: Path) -> list[Path]:
    """The images of a folder or of its subfolders, in order of their names; hidden files and folders are ignored."""
    try:
        direct = sorted(files_of(folder, SUFFIXES))
        deeper = [file for inside in sorted(_subfolders(folder)) for file in sorted(files_of(inside, SUFFIXES))]
    except OSError as error:
        raise FileError(f"cannot be listed: {error.strerror}", folder) from error
    if direct and deeper:
        raise FileError(
            f"has images itself ({direct[0].name}) and in its subfolders ({deeper[0].parent.name}/{deeper[0].name}): "
            "subfolders are classes, and images outside them have none",
            folder,
        )
    if not direct and not deeper:
        raise FileError(f"has no images, nor have its subfolders ({', '.join(sorted(SUFFIXES))})", folder)
    return direct or deeper


def has_images(folder: Path) -> bool:
    """Whether there are images in a folder or in its subfolders."""
    return any(next(files_of(each, SUFFIXES), None) is not None for each in (folder, *_subfolders(folder)))


def _subfolders(folder: Path) -> Iterator[Path]:
    return (inside for inside in visible(folder) if inside.is_dir())


def read_image(path: Path) -> tuple[NDArray[np.uint8] | NDArray[np.uint16], bool]:
    """Red, green and blue of the pixels, shape ``(height, width, 3)``, and whether some are transparent.

    Grey images of 16 bits keep their depth; all others have 8 bits. Transparent pixels keep the colour that the file
    gives them.

    Raises:
        FileError: The file is not an image, or its pixels are real numbers or have 32 bits: no value means white there.
        ImportError: Pillow is not installed.
    """
    require("PIL", "reading images")
    from PIL import Image

    try:
        with Image.open(path) as image:
            return _pixels(image)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FileError(f"cannot be read as an image: {error}", path) from error


def _pixels(image: Image) -> tuple[NDArray, bool]:
    # Converting 16 bits to RGB would make all values above 255 white. In some formats Pillow keeps 16 bits in 32.
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        grey = np.asarray(image).astype(np.uint16)
        return np.repeat(grey[:, :, None], 3, axis=2), False
    if image.mode in ("I", "F"):
        raise ValueError(
            f"its pixels have Pillow's mode {image.mode!r}, in which no value means white; "
            "save it with 8 or 16 bits, or scale its pixels yourself and pass them to from_images"
        )
    rgba = np.asarray(image.convert("RGBA"))
    return rgba[:, :, :3], bool((rgba[:, :, 3] < 255).any())


@dataclass(frozen=True, kw_only=True)
class Slicing:
    """How an image becomes a graph; the defaults are the settings of the CIFAR-10 benchmark.

    The edges differ from the benchmark's: here a superpixel is joined to its nearest ones, there to all but one of nine
    near ones, and a partial sort decides which one is left out. The symmetrised graphs of the benchmark have about 8 %
    more edges. Do not mix graphs made here with those of :mod:`bankgcn.data.readers.benchmark_sets`.

    Args:
        segments: Largest number of superpixels.
        compactness: Weight of distance against colour difference when SLIC groups pixels.
        neighbors: Number of others that each superpixel is joined to: those with the nearest centres.
    """

    segments: int = 150
    compactness: float = 10.0
    neighbors: int = 8

    def __post_init__(self) -> None:
        if self.segments < 1 or self.neighbors < 0 or not self.compactness > 0:
            raise ValueError(f"{self}: segments and compactness must be positive, neighbors not negative")

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Slicing:
        """How the images of a set were cut; see :mod:`bankgcn.data.features.spec`."""
        return cls(**{field.name: spec[field.name] for field in fields(cls)})


def from_images(
    images: Sequence[NDArray] | NDArray,
    y: Sequence[Target] | NDArray | Tensor | None = None,
    *,
    task: str | None = None,
    slicing: Slicing | None = None,
    name: str = "",
    progress: Progress | None = None,
) -> GraphSet:
    """One graph per image: its superpixels, each joined to its nearest ones, in both directions.

    The signals of a superpixel are its mean colour (or grey), and the row and column of its centre in units of the
    longer side of the image. Colours of type uint8 and uint16 are scaled to [0, 1]; real ones stay as they are.

    Args:
        images: Shape ``(n, height, width)`` or ``(n, height, width, channels)`` with 1 or 3 channels, or a sequence of
            single images, which may differ in size.
        y: The target or targets of each image; see :func:`bankgcn.data.target_values.encode_targets`.
        task: What the targets are, if it is not to be guessed; see the same.
        slicing: How an image becomes a graph.
        name: Name of the set.
        progress: Called after each image.

    Raises:
        GraphError: An image has an impossible shape or values, or targets do not fit.
        ImportError: scikit-image is not installed.
    """
    targets = None if y is None else list(y)
    if targets is not None and len(targets) != len(images):
        raise GraphError(f"there are {len(images)} images but {len(targets)} targets")
    slicing = slicing or Slicing()
    encoded = Targets() if targets is None else _encode(targets, task)
    named = ((f"image {number}", image) for number, image in enumerate(images))
    signals = _signals(named, len(images), slicing, progress)
    return GraphSet.from_edges(**_superpixel_graphs(signals, slicing), **encoded._asdict(), name=name)


def read_image_folder(
    folder: str | PathLike[str],
    options: ReadOptions | None = None,
    expected: Expected | None = None,
    progress: Progress | None = None,
) -> GraphSet:
    """One graph per image of a folder, as :func:`from_images` makes them.

    The subfolders are the classes; images directly in the folder have no class. A folder must not have both. All images
    are read as red, green and blue, see :func:`read_image`; a note counts those with
    transparent pixels. Files without the ending of an image are ignored.

    Args:
        folder: The folder.
        options: How it is read: whether images that cannot be read are left out.
        expected: What a trained model fixes: how an image becomes a graph.
        progress: Called after each image.

    Raises:
        FileError: There are no images, or one cannot be read.
        ImportError: scikit-image is not installed.
    """
    folder, slicing = Path(folder), _expected_slicing(expected or Expected())
    files, skipped = image_files(folder), Skipped((options or ReadOptions()).skip_unreadable)
    transparent: list[Path] = []

    def images() -> Iterator[tuple[str, NDArray]]:
        for row, file in enumerate(files):
            with skipped.catching(row):
                pixels, has_transparent = _read(file)
                transparent.extend([file] * has_transparent)
            if row not in skipped:
                yield str(file), pixels

    signals = _signals(images(), len(files), slicing, progress)
    if not signals:
        raise FileError(f"has no image that can be read: {skipped.listed()}", folder)
    notes = skipped.notes(len(files), "images")
    if transparent:
        notes += (f"{len(transparent):,} images have transparent pixels, which are read as opaque",)
    read = [file for row, file in enumerate(files) if row not in skipped]
    classes = [file.parent.name for file in read]
    targets = Targets() if files[0].parent == folder else encode_targets(classes, "classes")
    return GraphSet.from_edges(
        **_superpixel_graphs(signals, slicing),
        **targets._asdict(),
        names=[file.relative_to(folder).as_posix() for file in read],
        name=folder.name,
        notes=notes,
        skipped=sorted(skipped.items()),
    )


def _expected_slicing(expected: Expected) -> Slicing:
    """How a trained model expects images to become graphs; as in the benchmark by default."""
    return Slicing.from_spec(expected.features) if expected.features.get("kind") == "images" else Slicing()


def _read(file: Path) -> tuple[NDArray, bool]:
    """:func:`read_image`, with an error that says which option may help."""
    try:
        return read_image(file)
    except FileError as error:
        advice = [advise("skip_unreadable", True, "leaves such images out")]
        raise FileError(Message("{what}", what=error.message, advice=advice), file) from error


def superpixels(image: NDArray, segments: int, compactness: float) -> NDArray[np.float32]:
    """Signals of the superpixels of an image: mean of each channel, then row and column of the centre.

    SLIC finds about as many superpixels as requested, so the request is lowered until there are few enough.

    Args:
        image: Shape ``(height, width)`` or ``(height, width, channels)`` with 1 or 3 channels.
        segments: Largest number of superpixels.
        compactness: See :class:`Slicing`.

    Returns:
        Shape ``(superpixels, channels + 2)``.
    """
    require("skimage", "reading images")
    from skimage.segmentation import slic
    from skimage.util import img_as_float64

    pixels = img_as_float64(_checked(image))
    requested = segments
    count, segment = _numbered(slic(pixels, requested, compactness, channel_axis=-1))
    while count > segments and requested > 1:
        requested -= 1
        count, segment = _numbered(slic(pixels, requested, compactness, channel_axis=-1))
    height, width, _ = pixels.shape
    row, col = np.mgrid[:height, :width] / max(height, width)
    size = np.bincount(segment)
    means = [np.bincount(segment, weights=column.ravel()) / size for column in (*np.moveaxis(pixels, -1, 0), row, col)]
    return np.stack(means, axis=1).astype(np.float32)


def _numbered(segment: NDArray[np.integer]) -> tuple[int, NDArray[np.int64]]:
    """The number of superpixels, and for each pixel the superpixel it belongs to, counted from 0."""
    labels, numbers = np.unique(segment, return_inverse=True)
    return len(labels), numbers.ravel()


def _checked(image: NDArray) -> NDArray:
    """The image with its channels last; an error if it is not an image."""
    image = np.asarray(image)
    if image.ndim == 2:
        image = image[:, :, None]
    if image.ndim != 3 or image.shape[2] not in (1, 3) or not image.size:
        raise GraphError(f"has shape {image.shape}, expected (height, width) or (height, width, channels): 1 or 3")
    if image.dtype.kind == "f":
        if not np.isfinite(image).all():
            raise GraphError("has a pixel that is not a finite number")
        return image.astype(np.float64)
    if image.dtype not in (np.bool_, np.uint8, np.uint16):  # for other types it is unknown which value is white
        raise GraphError(f"has pixels of type {image.dtype}, expected uint8, uint16, bool or real numbers")
    return image


def _signals(
    images: Iterable[tuple[str, NDArray]], total: int, slicing: Slicing, progress: Progress | None
) -> list[NDArray[np.float32]]:
    """The superpixels of each image; images come with their names in messages."""
    signals: list[NDArray[np.float32]] = []
    for done, (which, image) in enumerate(images, start=1):
        try:
            signals.append(superpixels(image, slicing.segments, slicing.compactness))
        except GraphError as error:
            raise GraphError(f"{which}: {error}") from error
        if signals[-1].shape[1] != signals[0].shape[1]:
            raise GraphError(f"{which} has {signals[-1].shape[1] - 2} channels, the first {signals[0].shape[1] - 2}")
        if progress is not None:
            progress(done, total)
    return signals


def _superpixel_graphs(signals: Sequence[NDArray[np.float32]], slicing: Slicing) -> dict[str, Any]:
    """Keyword arguments of ``GraphSet.from_edges``: nodes, edges and signals."""
    if not signals:
        raise GraphError("there are no images")
    return {
        "num_nodes": [len(signal) for signal in signals],
        "edge_index": _edges([signal[:, -2:] for signal in signals], slicing.neighbors),
        "attributes": np.concatenate(signals),
        "feature_spec": {"kind": "images", **asdict(slicing)},
    }


def _edges(centres: Sequence[NDArray[np.float32]], neighbors: int) -> NDArray[np.integer]:
    """Edges from each superpixel to its nearest ones, in both directions, with nodes counted over all images."""
    near = [nearest(positions, neighbors) for positions in centres]
    source = [np.repeat(np.arange(len(targets)), targets.shape[1]) for targets in near]
    return undirected_edges(
        np.array([len(targets) for targets in near]),
        np.array([targets.size for targets in near]),
        np.concatenate(source),
        np.concatenate([targets.ravel() for targets in near]),
    )


def _encode(targets: Sequence[Target | NDArray | Tensor], task: str | None) -> Targets:
    try:
        return encode_targets(targets, task)
    except TargetError as error:
        where = "" if error.graph is None else f"image {error.graph}: "
        raise GraphError(f"{where}{error}") from error


READER = Reader(
    kind="a folder of images",
    accepts="a folder of images",
    read=read_image_folder,
    options=("skip_unreadable",),
    heeds=("features",),
    sniff=lambda path: path.is_dir() and has_images(path),
    files=image_files,
    reports_progress=True,
)
