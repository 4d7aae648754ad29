"""Sets of graphs that come with the package, so that a first command works without internet access.

MUTAG; scikit-learn's handwritten digits as small grid graphs; and a synthetic task that only high frequencies solve: is
a faint texture smooth or alternating?
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.features.signals import TUSignals
from bankgcn.data.graphs import GraphSet
from bankgcn.extras import require
from bankgcn.settings import pick

MUTAG_ATOMS = ("C", "N", "O", "F", "I", "Cl", "Br")  # what the node labels 0 to 6 mean
MUTAG_BONDS = ("aromatic", "single", "double", "triple")  # what the edge labels 0 to 3 mean
MUTAG_CITATION = (
    "A. K. Debnath, R. L. Lopez de Compadre, G. Debnath, A. J. Shusterman, C. Hansch: Structure-activity relationship "
    "of mutagenic aromatic and heteroaromatic nitro compounds. Journal of Medicinal Chemistry 34(2), 1991, 786-797"
)


def mutag() -> GraphSet:
    """MUTAG: 188 nitro compounds with one-hot atoms as signals; the class says whether they cause mutations.

    ``scripts/embed_mutag.py`` made the file; ``README.md`` beside this module names its source.

    Example:
        >>> graphs = mutag()
        >>> len(graphs), graphs.num_features, graphs.classes
        (188, 7, ('-1', '1'))
    """
    with files("bankgcn.data.builtin").joinpath("mutag.npz").open("rb") as file:
        packed = np.load(file, allow_pickle=False)
        arrays = {name: packed[name].astype(np.int64) for name in packed.files}
    first_atom = np.cumsum(arrays["num_nodes"]) - arrays["num_nodes"]
    bonds = arrays["bonds"] + np.repeat(first_atom, arrays["num_bonds"])
    return GraphSet.from_edges(
        arrays["num_nodes"],
        np.concatenate([bonds, bonds[::-1]], axis=1),
        labels=arrays["atoms"],
        label_widths=len(MUTAG_ATOMS),
        edge_labels=np.tile(arrays["bond_labels"], 2),
        edge_spec=TUSignals(label_low=(0,), label_widths=(len(MUTAG_BONDS),)).spec,
        y=arrays["classes"],
        classes=("-1", "1"),
        name="MUTAG",
        feature_spec=TUSignals(label_low=(0,), label_widths=(len(MUTAG_ATOMS),)).spec,  # as if read from the TU files
    )


STEPS: dict[str, list[tuple[int, int]]] = {"4": [(0, 1), (1, 0)], "8": [(0, 1), (1, 0), (1, 1), (1, -1)]}
"""Half of the steps to a pixel's neighbours; the other half are their reverses."""


def digits(neighbors: Literal[4, 8] = 4, *, coordinates: bool = False) -> GraphSet:
    """The 1,797 digits of 8 x 8 pixels, each a grid graph whose signal is the intensity.

    Args:
        neighbors: 4 joins a pixel to those at its sides, 8 also to those at its corners.
        coordinates: Whether row and column, scaled to [0, 1], are signals too.
    """
    require("sklearn", "the dataset digits")
    from sklearn.datasets import load_digits

    images, y = load_digits(return_X_y=True)
    return images_as_grids(images.reshape(-1, 8, 8) / 16, y, neighbors, coordinates=coordinates, name="digits")


def images_as_grids(
    images: NDArray,
    y: NDArray[np.integer] | None = None,
    neighbors: Literal[4, 8] = 4,
    *,
    coordinates: bool = False,
    name: str = "",
) -> GraphSet:
    """Images of one size as grid graphs, one node per pixel.

    Args:
        images: Intensities, shape ``(G, height, width)``, or with channels, ``(G, height, width, channels)``.
        y: Class of each image.
        neighbors: 4 joins a pixel to those at its sides, 8 also to those at its corners.
        coordinates: Whether row and column, scaled to [0, 1], are signals too.
        name: Name of the set.
    """
    if images.ndim not in (3, 4):
        raise ValueError(f"images have shape {images.shape}, expected (images, height, width) or with channels last")
    count, height, width = images.shape[:3]
    steps = pick(STEPS, str(neighbors), "number of neighbors")
    grid = np.concatenate([_grid_edges(height, width, *step) for step in steps], axis=1)
    grid = np.concatenate([grid, grid[::-1]], axis=1)
    pixels = height * width
    edges = (grid[:, None, :] + pixels * np.arange(count)[:, None]).reshape(2, -1)
    signals = images.reshape(count * pixels, -1)
    if coordinates:
        place = np.stack(np.divmod(np.arange(pixels), width), axis=1) / np.maximum([height - 1, width - 1], 1)
        signals = np.concatenate([signals, np.tile(place, (count, 1))], axis=1)
    spec = {"kind": "pixels", "coordinates": coordinates}
    return GraphSet.from_edges(np.full(count, pixels), edges, attributes=signals, y=y, name=name, feature_spec=spec)


def _grid_edges(height: int, width: int, down: int, right: int) -> NDArray[np.int64]:
    """The edges from each pixel to the pixel at this offset, where that is inside the image."""
    row, col = np.divmod(np.arange(height * width), width)
    inside = (row + down < height) & (col + right < width) & (col + right >= 0)
    pixel = np.flatnonzero(inside)
    return np.stack([pixel, pixel + down * width + right])


def smooth_or_alternating(
    num_graphs: int = 600, seed: int = 0, *, background: float = 3.0, texture: float = 0.5, noise: float = 0.25
) -> GraphSet:
    r"""Graphs of two classes that differ only in the frequency of a faint texture.

    Each graph is an even ring of 20 to 40 nodes with chords between nodes of opposite parity, hence two-colourable. Its
    signal has one channel and mean zero: a strong smooth wave of random height and phase, noise, and a faint texture
    of :math:`\pm` ``texture``. The texture of class ``smooth`` has one sign on each half of the ring, that of class
    ``alternating`` changes with every edge. The halves lie a quarter turn off the wave, so that at every height of the
    wave both signs are equally frequent: node by node, the classes have the same values. A network that ignores the
    edges, or one that only smooths, can hardly separate the classes; a filter that passes high frequencies can.

    Args:
        num_graphs: Number of graphs, half of each class.
        seed: Seed of the random graphs and signals.
        background: Mean height of the smooth wave.
        texture: Height of the texture.
        noise: Standard deviation of the noise.
    """
    if num_graphs < 1:
        raise ValueError(f"num_graphs={num_graphs}: expected at least 1")
    random = np.random.default_rng(seed)
    y = np.arange(num_graphs) % 2
    num_nodes = 2 * random.integers(10, 21, num_graphs)
    first = np.concatenate([[0], np.cumsum(num_nodes)])
    edges = [_ring_with_chords(n, random) + start for n, start in zip(num_nodes, first, strict=False)]
    signals = []
    for n, alternating in zip(num_nodes, y, strict=True):
        node = np.arange(n)
        angle = 2 * np.pi * node / n + random.uniform(0, 2 * np.pi)
        sign = np.where(node % 2 == 0, 1, -1) if alternating else np.where(np.sin(angle) >= 0, 1, -1)
        wave = background * random.uniform(0.5, 1.5) * np.cos(angle)
        x = wave + texture * random.choice([-1, 1]) * sign + noise * random.standard_normal(n)
        signals.append(x - x.mean())
    return GraphSet.from_edges(
        num_nodes,
        np.concatenate(edges, axis=1),
        attributes=np.concatenate(signals).astype(np.float32)[:, None],
        y=y,
        classes=("smooth", "alternating"),
        name="smooth-or-alternating",
        notes=("generated",),
        feature_spec={"kind": "generated"},
    )


def _ring_with_chords(n: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Both directions of each edge, shape ``(2, E)``; chords span an odd number of steps, so two colours suffice."""
    start = random.integers(0, n, n // 4)
    step = 1 + 2 * random.integers(1, n // 4 + 1, n // 4)
    ring = np.stack([np.arange(n), (np.arange(n) + 1) % n])
    chords = np.stack([start, (start + step) % n])
    once = np.unique(np.sort(np.concatenate([ring, chords], axis=1), axis=0), axis=1)
    return np.concatenate([once, once[::-1]], axis=1)


BUILTIN: dict[str, Callable[[], GraphSet]] = {
    "mutag": mutag,
    "digits": digits,
    "smooth-or-alternating": smooth_or_alternating,
}
