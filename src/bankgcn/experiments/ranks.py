"""Ranks of models: how similar two orders are, and how far mean ranks over datasets must be apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

NEMENYI = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164}
"""Critical values of the two-sided Nemenyi test at 0.05, by the number of models (Demsar, JMLR 7, 2006)."""


def mean_ranks(scores: Sequence[float], higher_is_better: bool = True) -> NDArray[np.float64]:
    """The rank of each score, 1 for the best; equal scores share the mean of their ranks.

    Example:
        >>> mean_ranks([70.0, 80.0, 70.0]).tolist()
        [2.5, 1.0, 2.5]
    """
    values = np.asarray(scores, np.float64) * (1 if higher_is_better else -1)
    better = (values[:, None] < values).sum(1)
    equal = (values[:, None] == values).sum(1)
    return better + (equal + 1) / 2


def rank_correlation(first: ArrayLike, second: ArrayLike) -> float:
    """Spearman's rank correlation; NaN if one side has fewer than two different values."""
    a, b = (mean_ranks(np.asarray(scores, np.float64).tolist()) for scores in (first, second))
    if np.ptp(a) == 0 or np.ptp(b) == 0 or len(a) < 2:
        return math.nan
    return float(np.corrcoef(a, b)[0, 1])


def critical_difference(models: int, datasets: int) -> float:
    """Mean ranks that are farther apart differ by the Nemenyi test at 0.05; NaN outside the range of its table."""
    if datasets < 2 or models not in NEMENYI:
        return math.nan
    return NEMENYI[models] * math.sqrt(models * (models + 1) / (6 * datasets))
