"""A synthetic task that only high frequencies solve: is a faint texture smooth or alternating?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.graphs import GraphSet


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
