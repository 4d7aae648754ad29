"""Growth of the time of a filter with edges, order and width; the paper gives O(K E d).

python benchmarks/growth.py [--max-edges 10000000] [--json growth.json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from bankgcn.bench.cases import random_shift
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


def main() -> None:
    """Measure on one thread, and print the exponents."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    help_edges = f"directed edges of the largest graph, at least {MIN_EDGES}: an exponent needs two sizes"
    parser.add_argument("--max-edges", type=int, default=EDGES[-1], help=help_edges)
    parser.add_argument("--json", type=Path, help="output file for all figures")
    arguments = parser.parse_args()
    if arguments.max_edges < MIN_EDGES:
        parser.error(f"--max-edges {arguments.max_edges}: expected at least {MIN_EDGES}")
    torch.set_num_threads(1)
    fitted = growth(max_edges=arguments.max_edges)
    for name, fit in fitted.items():
        times = ", ".join(
            f"{size:,}: {1000 * spent:.1f} ms" for size, spent in zip(fit["sizes"], fit["seconds"], strict=True)
        )
        print(f"{name}: exponent {fit['exponent']:.2f} ({times})")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(fitted, indent=1) + "\n")


if __name__ == "__main__":
    main()
