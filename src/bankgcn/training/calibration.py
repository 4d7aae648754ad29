"""What the validation graphs choose after a training: the temperature of probabilities, and decision thresholds.

The temperature is that of Guo et al. (ICML 2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.tasks import LIKELY, Loss, Task, binary_cross_entropy, cross_entropy

LIKELIHOODS: dict[str, Loss] = {"classes": cross_entropy, "labels": binary_cross_entropy}
"""The mean negative log-likelihood for each kind of task that predicts probabilities."""
LARGEST = math.log(20.0)  # of the logarithm of a temperature, in both directions
STEPS = 60  # of the search: the interval shrinks by 0.62 in each
_GOLDEN = (math.sqrt(5) - 1) / 2
LEAST = 3  # validation graphs of the rarer answer that can choose a threshold: one alone lies above any of them
FEW = 10  # validation graphs of the rarer answer: with fewer, a threshold is very uncertain


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


def fit_thresholds(task: Task, predictions: Tensor, y: NDArray) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """The threshold of the second class, or of each label, with the largest MCC on the validation graphs.

    Matthews' correlation counts both answers alike, and does not grow by predicting the frequent one. A threshold lies
    in the middle between two neighbouring probabilities; of equally good ones, the one nearest to 0.5 is taken.

    Args:
        task: What was learned: two classes, or labels.
        predictions: Calibrated probabilities of the validation graphs, shape ``(num_graphs, out_channels)``.
        y: Their targets.

    Returns:
        The thresholds, and a note on each one that the validation graphs cannot choose or that few of them choose.
    """
    probabilities = predictions.double().numpy()
    if task.kind == "classes":
        answers = {task.names[1]: (probabilities[:, 1], y.astype(np.float64))}
    else:
        answers = {name: (probabilities[:, c], y[:, c]) for c, name in enumerate(task.names)}
    thresholds, notes = [], []
    for name, (probability, answer) in answers.items():
        known = ~np.isnan(answer)
        positive = answer[known] == 1
        rarer = min(int(positive.sum()), int((~positive).sum()))
        threshold = best_threshold(probability[known], positive) if rarer >= LEAST else None
        thresholds.append(LIKELY if threshold is None else threshold)
        if rarer < LEAST:
            notes.append(
                f"the threshold of {name!r} is {LIKELY}: too few validation graphs ({rarer}) have the rarer answer"
            )
        elif threshold is None:
            notes.append(
                f"the threshold of {name!r} is {LIKELY}: no other one is better than guessing on validation graphs"
            )
        elif rarer < FEW:
            notes.append(
                f"the threshold of {name!r} is uncertain: it rests on {rarer} validation graphs of the rarer answer"
            )
    return tuple(thresholds), tuple(notes)


def best_threshold(probability: NDArray[np.float64], positive: NDArray[np.bool_]) -> float | None:
    """The threshold with the largest MCC; ``None`` if one answer is missing, or no threshold has an MCC above 0.

    Example:
        >>> best_threshold(np.array([0.1, 0.2, 0.4]), np.array([False, False, True]))
        0.30000000000000004
    """
    order = np.argsort(-probability, kind="stable")
    ranked, found = probability[order], np.cumsum(positive[order])
    last = np.flatnonzero(ranked[1:] != ranked[:-1])  # the threshold lies below this rank
    if not len(last):
        return None
    taken, hits, total, positives = last + 1.0, found[last], float(len(ranked)), float(found[-1])
    spread = taken * (total - taken) * positives * (total - positives)
    if spread[0] == 0:
        return None
    mcc = (hits * total - taken * positives) / np.sqrt(spread)
    if mcc.max() <= 0:
        return None
    middle = (ranked[last] + ranked[last + 1]) / 2
    best = np.flatnonzero(mcc >= mcc.max() - 1e-12)
    return float(middle[best[np.abs(middle[best] - LIKELY).argmin()]])


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
