"""Growth of the time of a filter with edges, order and width; the paper gives O(K E d)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from statistics import median
from typing import Any

import numpy as np
import torch

from bankgcn.spectral import GraphShift, chebyshev

REPETITIONS = 5
EDGES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
MIN_EDGES = EDGES[1]  # an exponent needs two sizes


def growth(*, max_edges: int = 10_000_000) -> dict[str, Any]:
    """Seconds of a forward and a backward pass, and the exponent of a power law fitted to them.

    Args:
        max_edges: Directed edges of the largest graph, at least ``MIN_EDGES``; the smallest has 100,000.
    """
    edges = [count for count in EDGES if count <= max_edges]
    orders, widths = range(1, 9), (16, 32, 64, 128, 256)
    small = random_shift(200_000)
    return {
        "edges": _fit(edges, [FilterCase(random_shift(count), order=2, channels=16) for count in edges]),
        "order": _fit(orders, [FilterCase(small, order=order, channels=32) for order in orders]),
        "width": _fit(widths, [FilterCase(small, order=2, channels=width) for width in widths]),
    }


def random_shift(num_edges: int, degree: int = 8, seed: int = 0) -> GraphShift:
    """The shift of one random graph whose neighbours have near indices, as in a mesh or a road network."""
    num_nodes = num_edges // degree
    random = np.random.default_rng(seed)
    node = np.arange(num_nodes).repeat(degree // 2)
    other = (node + random.integers(1, 100, node.shape)) % num_nodes
    edges = torch.from_numpy(np.stack([np.concatenate([node, other]), np.concatenate([other, node])]))
    return GraphShift.from_edges(edges, num_nodes=num_nodes, dtype=torch.float32)


class FilterCase:
    """A filter and its gradients, for timing."""

    def __init__(self, shift: GraphShift, order: int, channels: int):
        self.shift = shift
        self.x = torch.randn(shift.num_nodes, channels, requires_grad=True)
        self.c = torch.randn(order + 1, channels, requires_grad=True)
        self.g = torch.randn(shift.num_nodes, channels)

    def seconds(self) -> float:
        """Seconds of one forward and one backward pass."""
        started = time.perf_counter()
        torch.autograd.grad(chebyshev.apply(self.shift, self.x, self.c), (self.x, self.c), self.g)
        return time.perf_counter() - started


def _fit(sizes: Iterable[int], cases: list[FilterCase]) -> dict[str, Any]:
    """Median seconds of each case. The cases take turns, so other work on the machine slows all of them."""
    rounds = [[case.seconds() for case in cases] for _ in range(REPETITIONS + 1)][1:]  # the first round warms up
    size, spent = list(sizes), [median(times) for times in zip(*rounds, strict=True)]
    return {"sizes": size, "seconds": spent, "exponent": float(np.polyfit(np.log(size), np.log(spent), 1)[0])}
