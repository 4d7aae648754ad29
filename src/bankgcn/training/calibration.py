"""Calibrated probabilities: one temperature, fitted to the validation graphs (Guo et al., ICML 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.tasks import Loss, Task, binary_cross_entropy, cross_entropy

LIKELIHOODS: dict[str, Loss] = {"classes": cross_entropy, "labels": binary_cross_entropy}
"""The mean negative log-likelihood for each kind of task that predicts probabilities."""
LARGEST = math.log(20.0)  # of the logarithm of a temperature, in both directions
STEPS = 60  # of the search: the interval shrinks by 0.62 in each
_GOLDEN = (math.sqrt(5) - 1) / 2


def fit_temperature(task: Task, outputs: Tensor, y: NDArray) -> float:
    """The temperature T for which ``outputs / T`` gives the validation graphs the largest likelihood.

    The logarithm of T has a normal prior with deviation 1. It keeps T finite where all validation graphs are predicted
    correctly, and has no effect on large validation sets.

    Args:
        task: What was learned.
        outputs: Outputs of the network for the validation graphs.
        y: Their targets.

    Returns:
        The temperature; 1 for values, which have no probabilities.
    """
    if task.kind not in LIKELIHOODS or not len(y):
        return 1.0
    targets, logits = task.targets(y), outputs.double()
    targets = targets.double() if task.kind == "labels" else targets
    known = len(y) if task.kind == "classes" else int((~np.isnan(y)).sum())

    def cost(log_temperature: float) -> float:
        mean = LIKELIHOODS[task.kind](logits / math.exp(log_temperature), targets, None).item()
        return known * mean + log_temperature**2 / 2

    return math.exp(_smallest(cost, -LARGEST, LARGEST))


def _smallest(cost: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one minimum is smallest, by golden-section search."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    cost_left, cost_right = cost(left), cost(right)
    for _ in range(STEPS):
        if cost_left <= cost_right:
            high, right, cost_right = right, left, cost_left
            left = high - _GOLDEN * (high - low)
            cost_left = cost(left)
        else:
            low, left, cost_left = left, right, cost_right
            right = low + _GOLDEN * (high - low)
            cost_right = cost(right)
    return (low + high) / 2
