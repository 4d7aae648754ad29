"""Whether one model is better than another: paired statistics over the splits that both use, and ranks over datasets.

A mean of 20 runs with a standard deviation of 5 says little by itself. Runs with the same seed share their split, so
their paired differences say more. But the splits overlap, so the differences are not independent, and the plain paired
t-test reports far too many differences. The corrected test of Nadeau and Bengio (2003) accounts for the overlap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

TEST_TO_TRAIN = 1 / 8
"""Test graphs per training graph in a split of 8:1:1."""

LEVEL = 0.05
"""A p-value below this level counts as a difference."""

COVERAGE = 0.95
"""Of the intervals of mean scores."""
FEWEST = 3
"""Scores of an interval that is shown: the spread of two is hardly known, and if they are equal, it seems to be 0."""

BISECTIONS = 60  # more than the digits of a number

SAME = 1e-12
"""Scores of about 1 that differ by less count as equal: in floating point, 0.9 - 0.8 is not 0.8 - 0.7."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Mean and sample standard deviation (ddof = 1) of scores.

    Args:
        mean: NaN if there is none.
        std: NaN if there are fewer than two.
        count: Number of scores that are not NaN.
    """

    mean: float
    std: float
    count: int

    @classmethod
    def of(cls, scores: ArrayLike) -> Spread:
        """The spread of scores; NaN entries are left out."""
        values = np.asarray(scores, np.float64)
        values = values[~np.isnan(values)]
        mean = float(values.mean()) if len(values) else math.nan
        return cls(mean=mean, std=float(values.std(ddof=1)) if len(values) > 1 else math.nan, count=len(values))


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One model against another on the same splits.

    Args:
        difference: Mean of the paired differences, the first model's score minus the second's.
        interval: Its 95 % interval, with the variance of the t-test; NaN for fewer than two pairs.
        t_test: Two-sided p-value of the corrected resampled t-test; NaN for fewer than two pairs.
        wilcoxon: Two-sided p-value of the signed-rank test; NaN without a pair. It ignores that splits overlap, so
            it reports too many differences.
        wins: Number of splits on which the first is better.
        ties: Number of splits on which both are equal.
        losses: Number of splits on which the first is worse.
        dropped: Number of pairs with a NaN score; they count nowhere else.
    """

    difference: float
    interval: tuple[float, float]
    t_test: float
    wilcoxon: float
    wins: int
    ties: int
    losses: int
    dropped: int

    @property
    def counts(self) -> str:
        """Wins, ties and losses: ``3/1/0``."""
        return f"{self.wins}/{self.ties}/{self.losses}"


def compare(
    first: Sequence[float], second: Sequence[float], test_to_train: float = TEST_TO_TRAIN, higher_is_better: bool = True
) -> Comparison:
    """Compare two models by their scores on the same splits, in the same order.

    Args:
        first: Scores of the first model.
        second: Scores of the second model.
        test_to_train: Number of test graphs per training graph; 0 if the splits do not overlap, or are all the same.
        higher_is_better: Direction of the metric; ``False`` for errors, where the smaller score wins.

    Example:
        >>> compare([0.8, 0.7, 0.9], [0.7, 0.7, 0.6]).wins
        2
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} scores against {len(second)}: expected scores on the same splits")
    scores = np.array([first, second], np.float64)
    paired = scores[:, ~np.isnan(scores).any(0)]
    # Errors have the unit of the target, so they may all be tiny. A power of two changes no digit.
    unit = 2.0 ** np.frexp(np.abs(paired).max(initial=0.0))[1]
    scaled = (paired[0] - paired[1]) / unit
    scaled[np.abs(scaled) < SAME] = 0.0
    gains = scaled if higher_is_better else -scaled
    low, high = corrected_interval(scaled, test_to_train)
    return Comparison(
        difference=float(scaled.mean() * unit) if len(scaled) else math.nan,
        interval=(float(low * unit), float(high * unit)),
        t_test=corrected_t_test(scaled, test_to_train),
        wilcoxon=signed_rank_test(scaled),
        wins=int((gains > 0).sum()),
        ties=int((gains == 0).sum()),
        losses=int((gains < 0).sum()),
        dropped=len(first) - len(scaled),
    )


def corrected_t_test(differences: NDArray[np.float64], test_to_train: float = TEST_TO_TRAIN) -> float:
    r"""Two-sided p-value of the corrected resampled t-test (Nadeau and Bengio, Machine Learning 52, 2003).

    .. math:: t = \bar d \Big/ \sqrt{(1/n + n_{test}/n_{train})\, \sigma^2}, \quad n - 1 \text{ degrees of freedom}

    Args:
        differences: One for each split, of scores of about 1.
        test_to_train: :math:`n_{test}/n_{train}`; 0 gives the plain paired t-test.
    """
    count = len(differences)
    if count < 2:
        return math.nan
    if np.ptp(differences) < SAME:  # without spread, every difference is certain
        return 1.0 if abs(differences[0]) < SAME else 0.0
    error = math.sqrt((1 / count + test_to_train) * float(differences.var(ddof=1)))
    return two_sided_t(float(differences.mean()) / error, count - 1)


def corrected_interval(
    scores: ArrayLike, test_to_train: float = TEST_TO_TRAIN, coverage: float = COVERAGE
) -> tuple[float, float]:
    """The interval of a mean score over splits that overlap, with the variance of :func:`corrected_t_test`.

    Args:
        scores: One for each split; NaN entries are left out.
        test_to_train: As for :func:`corrected_t_test`.
        coverage: Probability that such an interval contains the mean.

    Returns:
        Both bounds; NaN for fewer than two scores.

    Example:
        >>> low, high = corrected_interval([0.7, 0.8, 0.9], test_to_train=0)
        >>> round(low, 3), round(high, 3)
        (0.552, 1.048)
    """
    spread = Spread.of(scores)
    if spread.count < 2:
        return math.nan, math.nan
    reach = t_quantile(coverage, spread.count - 1) * spread.std * math.sqrt(1 / spread.count + test_to_train)
    return spread.mean - reach, spread.mean + reach


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number by Holm's method; NaN entries stay and do not count.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    order = sorted((p, place) for place, p in enumerate(p_values) if not math.isnan(p))
    adjusted, largest = list(p_values), 0.0
    for rank, (p, place) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        adjusted[place] = largest
    return adjusted


def t_quantile(coverage: float, freedom: int) -> float:
    """The number that Student's ``|T|`` exceeds with probability ``1 - coverage``, by bisection."""
    low, high = 0.0, 1.0
    while two_sided_t(high, freedom) > 1 - coverage:
        high *= 2
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided_t(middle, freedom) > 1 - coverage else (low, middle)
    return (low + high) / 2


def two_sided_t(t: float, freedom: int) -> float:
    r"""Probability that :math:`|T| \ge |t|` for Student's T with an integer number of degrees of freedom.

    The finite series in :math:`\theta = \arctan(t/\sqrt\nu)` (Abramowitz and Stegun 26.7.3 and 26.7.4) is exact to
    about 1e-15, and needs no SciPy.
    """
    if math.isnan(t):
        return math.nan
    theta = math.atan(abs(t) / math.sqrt(freedom))
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    term, total = cosine if odd else 1.0, 0.0
    for power in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cosine**2 * (power - 1) / power
    inside = 2 / math.pi * (theta + sine * total) if odd else sine * total
    return min(1.0, max(0.0, 1 - inside))


def signed_rank_test(differences: NDArray[np.float64]) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test, exact for any number of ties; differences of 0 are left out.

    The differences are those of scores of about 1.

    Under the null hypothesis both signs of each rank are equally likely, so adding one rank after the other builds the
    distribution of the sum of positive ranks.
    """
    if not len(differences):
        return math.nan
    nonzero = differences[np.abs(differences) >= SAME]
    doubled = _doubled_ranks(np.abs(nonzero))  # twice a rank is an integer, even where ties share a mean rank
    ways = np.ones(1)
    for rank in doubled:
        ways = (np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))) / 2
    positive = int(doubled[nonzero > 0].sum())
    lower = min(positive, int(doubled.sum()) - positive)
    return float(min(1.0, 2 * ways[: lower + 1].sum()))


def _doubled_ranks(sizes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Twice the rank of each number; equal numbers share the mean of their ranks."""
    rounded = np.round(sizes / SAME)
    below = (rounded[:, None] > rounded).sum(1)
    equal = (rounded[:, None] == rounded).sum(1)
    return 2 * below + equal + 1


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
