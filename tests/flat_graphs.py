"""Rings and chains for the tests of the kernels."""

from __future__ import annotations

import numpy as np

from bankgcn.data import GraphSet
from bankgcn.kernels.network.flat_arrays import FlatArrays


def ring(size: int, labels: list[int] | None = None, weights: list[float] | None = None) -> FlatArrays:
    start = np.arange(size)
    edges = np.stack([start, (start + 1) % size])
    edge_weight = None if weights is None else np.tile(weights, 2)
    both = np.concatenate([edges, edges[::-1]], axis=1)
    return GraphSet.from_edges([size], both, labels=labels or [0] * size, edge_weight=edge_weight).flat


def chains(count: int, size: int) -> GraphSet:
    """Paths of equal nodes."""
    left = np.arange(count * size).reshape(count, size)[:, :-1].reshape(-1)
    edges = np.concatenate([[left, left + 1], [left + 1, left]], axis=1)
    return GraphSet.from_edges([size] * count, edges, labels=np.zeros(count * size, np.int64))
