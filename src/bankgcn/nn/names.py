"""The names that settings choose from, without what they stand for: the command line lists them without PyTorch."""

from __future__ import annotations

from itertools import combinations
from typing import Literal

ACTIVATION_NAMES = ("before", "after", "none")
NORM_NAMES = ("l2", "layer", "graph", "batch", "none")
POOLING_NAMES = ("topk", "sag", "asap")
REDUCTION_NAMES = ("sum", "mean")
EDGE_USES: dict[Literal["weights", "input", "both", "none"], tuple[str, ...]] = {
    "weights": ("weights",),
    "input": ("input",),
    "both": ("weights", "input"),
    "none": (),
}
HEADS = ("linear", "mlp")
PROJECTIONS = ("linear", "mlp")
INITIAL_ALPHA_NAMES = ("xavier", "zeros")
BASIS_NAMES = ("chebyshev", "monomial", "legendre", "jacobi", "bernstein", "interpolation", "pulses")
READOUT_PART_NAMES = ("mean", "max", "sum")

READOUTS: dict[str, tuple[str, ...]] = {
    "_".join(parts): parts
    for number in range(1, len(READOUT_PART_NAMES) + 1)
    for parts in combinations(READOUT_PART_NAMES, number)
}
"""The parts of each readout: ``"mean_max"`` is ``("mean", "max")``."""
