"""Ranks of models, beside SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bankgcn.experiments.ranks import NEMENYI, critical_difference, mean_ranks, rank_correlation


def test_ranks_and_their_correlation_are_those_of_scipy_even_with_ties() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 5, size=(2, 7)).astype(float)
        np.testing.assert_allclose(mean_ranks(a), stats.rankdata(-a))
        np.testing.assert_allclose(mean_ranks(a, higher_is_better=False), stats.rankdata(a))
        if np.ptp(a) and np.ptp(b):
            assert rank_correlation(a, b) == pytest.approx(stats.spearmanr(a, b).statistic)


def test_without_an_order_there_is_no_correlation() -> None:
    assert math.isnan(rank_correlation([1.0, 1.0], [1.0, 2.0]))
    assert math.isnan(rank_correlation([1.0], [1.0]))


def test_critical_values_are_those_of_the_studentized_range() -> None:
    for models, value in NEMENYI.items():
        expected = stats.studentized_range.ppf(0.95, models, np.inf) / math.sqrt(2)
        assert value == pytest.approx(expected, abs=0.002)
    assert critical_difference(5, 30) == pytest.approx(2.728 * math.sqrt(5 * 6 / (6 * 30)))


def test_one_dataset_has_no_critical_difference() -> None:
    assert math.isnan(critical_difference(8, 1))
    assert math.isnan(critical_difference(11, 6))
