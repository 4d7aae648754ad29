"""Scikit-learn's handwritten digits as small grid graphs: images without a download."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bankgcn.choices import pick
from bankgcn.data.graphs import GraphSet
from bankgcn.extras import require

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
