"""How the time of a filter grows with edges, order and width; the paper promises O(K E d)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from statistics import median
from typing import Any

import numpy as np
import torch

from bankgcn.spectral import GraphShift, chebyshev

REPETITIONS = 5


def growth(*, max_edges: int = 10_000_000) -> dict[str, Any]:
    """Seconds of a forward and a backward pass, and the exponent of a power law fitted to them.

    Args:
        max_edges: Entries of the largest shift; the smallest has 100,000.
    """
    edges = [count for count in (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000) if count <= max_edges]
    small = random_shift(200_000)
    return {
        "edges": _fit(edges, (filter_seconds(random_shift(count), order=2, channels=16) for count in edges)),
        "order": _fit(range(1, 9), (filter_seconds(small, order=order, channels=32) for order in range(1, 9))),
        "width": _fit(
            (16, 32, 64, 128, 256), (filter_seconds(small, order=2, channels=c) for c in (16, 32, 64, 128, 256))
        ),
    }


def random_shift(entries: int, degree: int = 8, seed: int = 0) -> GraphShift:
    """The shift of one random graph in which neighbours are near each other, as in a mesh or a road network."""
    num_nodes = entries // degree
    random = np.random.default_rng(seed)
    node = np.arange(num_nodes).repeat(degree // 2)
    other = (node + random.integers(1, 100, node.shape)) % num_nodes
    edges = torch.from_numpy(np.stack([np.concatenate([node, other]), np.concatenate([other, node])]))
    return GraphShift.from_edges(edges, num_nodes=num_nodes, dtype=torch.float32)


def filter_seconds(shift: GraphShift, order: int, channels: int) -> float:
    """Median seconds of a filter and its gradients."""
    x = torch.randn(shift.num_nodes, channels, requires_grad=True)
    c = torch.randn(order + 1, channels, requires_grad=True)
    g = torch.randn(shift.num_nodes, channels)
    times = []
    for _ in range(REPETITIONS + 1):
        started = time.perf_counter()
        torch.autograd.grad(chebyshev.apply(shift, x, c), (x, c), g)
        times.append(time.perf_counter() - started)
    return median(times[1:])


def _fit(sizes: Iterable[int], seconds: Iterable[float]) -> dict[str, Any]:
    size, spent = list(sizes), list(seconds)
    slope = float(np.polyfit(np.log(size), np.log(spent), 1)[0]) if len(size) > 1 else float("nan")
    return {"sizes": size, "seconds": spent, "exponent": slope}
