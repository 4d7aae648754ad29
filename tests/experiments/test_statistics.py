"""Paired statistics and ranks, against SciPy and by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bankgcn.experiments.statistics import (
    NEMENYI,
    Spread,
    compare,
    corrected_interval,
    corrected_t_test,
    critical_difference,
    holm,
    mean_ranks,
    rank_correlation,
    signed_rank_test,
    t_quantile,
    two_sided_t,
)

scores = st.lists(st.integers(-40, 40), min_size=2, max_size=20)


def test_the_unit_of_the_scores_does_not_matter() -> None:
    first, second = [3.0, 3.1, 2.9, 3.2, 3.05], [9.0, 9.3, 8.8, 9.1, 9.2]
    usual = compare(first, second, 1 / 8, higher_is_better=False)
    for unit in (1e-19, 1e19):
        found = compare([unit * s for s in first], [unit * s for s in second], 1 / 8, higher_is_better=False)
        assert found.t_test == pytest.approx(usual.t_test, rel=1e-9)
        assert (found.wins, found.ties, found.wilcoxon) == (5, 0, usual.wilcoxon)
        assert found.difference == pytest.approx(unit * usual.difference)


@given(st.floats(-50, 50), st.integers(1, 60))
def test_students_distribution_equals_scipys(t: float, freedom: int) -> None:
    assert two_sided_t(t, freedom) == pytest.approx(2 * stats.t.sf(abs(t), freedom), abs=1e-13)


@pytest.mark.parametrize("freedom", [1, 2, 19])
def test_no_statistic_gives_no_p_value(freedom: int) -> None:
    assert math.isnan(two_sided_t(math.nan, freedom))


@given(scores)
def test_without_overlap_the_corrected_test_is_the_paired_t_test(differences: list[int]) -> None:
    values = np.array(differences) / 60
    if len(set(differences)) > 1:
        assert corrected_t_test(values, 0.0) == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=1e-12)


def test_overlap_of_the_splits_raises_the_p_value_by_the_factor_of_nadeau_and_bengio() -> None:
    values = np.random.default_rng(0).normal(1, 1, 20)
    t = values.mean() / math.sqrt((1 / 20 + 1 / 8) * values.var(ddof=1))
    assert corrected_t_test(values) == pytest.approx(2 * stats.t.sf(t, 19), rel=1e-10)
    assert corrected_t_test(values) > 10 * stats.ttest_1samp(values, 0).pvalue


def test_the_correction_keeps_its_word_where_the_plain_test_does_not() -> None:
    rng = np.random.default_rng(0)
    shared = rng.normal(0, math.sqrt(1 / 8), (2000, 1))  # what overlapping training sets have in common
    trials = rng.normal(0, 1, (2000, 20)) + shared
    corrected, plain = (np.mean([corrected_t_test(row, ratio) < 0.05 for row in trials]) for ratio in (1 / 8, 0))
    assert corrected == pytest.approx(0.05, abs=0.02)
    assert plain > 0.2


@given(st.lists(st.integers(-40, 40), min_size=1, max_size=9))
def test_signed_ranks_equal_an_enumeration_of_all_signs(differences: list[int]) -> None:
    values = np.array([d for d in differences if d], float)
    ranks = stats.rankdata(np.abs(values))
    sums = np.array(
        [sum(r for r, s in zip(ranks, s, strict=True) if s) for s in itertools.product((0, 1), repeat=len(ranks))]
    )
    positive = ranks[values > 0].sum()
    lower = min(positive, ranks.sum() - positive)
    assert signed_rank_test(np.array(differences) / 7) == pytest.approx(min(1, 2 * np.mean(sums <= lower)), abs=1e-12)


@pytest.mark.parametrize("count", [5, 20, 40])
def test_signed_ranks_without_ties_equal_scipys(count: int) -> None:
    values = np.random.default_rng(count).normal(0.3, 1, count)
    assert signed_rank_test(values) == pytest.approx(stats.wilcoxon(values, method="exact").pvalue, rel=1e-10)


def test_floating_point_does_not_break_ties() -> None:
    better = compare([0.9, 0.8, 0.7, 0.1 + 0.2], [0.8, 0.7, 0.6, 0.3])
    assert (better.wins, better.ties, better.losses) == (3, 1, 0)
    assert better.wilcoxon == pytest.approx(0.25)
    assert better.t_test < 1


def test_a_swap_turns_the_sign_and_nothing_else() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random(20).tolist(), rng.random(20).tolist()
    there, back = compare(first, second), compare(second, first)
    assert there.difference == -back.difference
    assert (there.t_test, there.wilcoxon) == pytest.approx((back.t_test, back.wilcoxon))
    assert (there.wins, there.losses) == (back.losses, back.wins)


def test_of_errors_the_smaller_wins_and_only_the_counts_change_sides() -> None:
    scores, errors = (compare([0.5, 0.6, 0.7], [0.4, 0.7, 0.3], higher_is_better=higher) for higher in (True, False))
    assert (errors.wins, errors.losses) == (scores.losses, scores.wins) == (1, 2)
    assert (errors.difference, errors.t_test, errors.wilcoxon) == (scores.difference, scores.t_test, scores.wilcoxon)


def test_missing_scores_are_counted_and_left_out() -> None:
    whole = compare([0.5, 0.6, 0.7], [0.4, 0.7, 0.3])
    holed = compare([0.5, math.nan, 0.6, 0.7, 0.1], [0.4, 0.2, 0.7, 0.3, math.nan])
    assert holed.dropped == 2
    assert (holed.difference, holed.t_test, holed.wilcoxon) == (whole.difference, whole.t_test, whole.wilcoxon)


def test_too_few_pairs_give_no_p_value() -> None:
    nothing = compare([math.nan], [0.5])
    assert all(math.isnan(value) for value in (nothing.difference, nothing.t_test, nothing.wilcoxon))
    single = compare([0.6], [0.5])
    assert math.isnan(single.t_test)
    assert single.wilcoxon == 1


def test_equal_scores_differ_by_nothing_and_constant_differences_are_certain() -> None:
    same = compare([0.5, 0.6], [0.5, 0.6])
    assert (same.t_test, same.wilcoxon, same.ties) == (1, 1, 2)
    assert compare([0.5, 0.6], [0.4, 0.5]).t_test == 0


def test_scores_of_different_splits_are_refused() -> None:
    with pytest.raises(ValueError, match="2 scores against 1"):
        compare([0.1, 0.2], [0.1])


def test_the_spread_is_that_of_a_sample_and_leaves_nan_out() -> None:
    spread = Spread.of([0.5, math.nan, 0.7, 0.9])
    assert (spread.mean, spread.std, spread.count) == (pytest.approx(0.7), pytest.approx(0.2), 3)
    assert math.isnan(Spread.of([0.5]).std)
    assert math.isnan(Spread.of([]).mean)


@pytest.mark.parametrize("freedom", [1, 2, 5, 19])
def test_the_quantile_of_t_is_scipys(freedom: int) -> None:
    assert t_quantile(0.95, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)


def test_the_interval_is_the_plain_one_without_overlap_and_wider_with_it() -> None:
    scores = [0.61, 0.7, 0.55, 0.68, math.nan]
    known = scores[:-1]
    plain = stats.t.interval(0.95, len(known) - 1, np.mean(known), stats.sem(known))
    assert corrected_interval(scores, test_to_train=0) == pytest.approx(plain)
    low, high = corrected_interval(scores, test_to_train=1 / 8)
    assert high - low == pytest.approx((plain[1] - plain[0]) * math.sqrt(1 + len(known) / 8))
    assert all(map(math.isnan, corrected_interval([0.5])))


def test_an_interval_contains_a_mean_exactly_where_the_test_finds_no_difference() -> None:
    differences = np.array([0.1, 0.02, 0.07, 0.05, 0.11])
    for shift in np.linspace(-0.3, 0.3, 31):
        low, high = corrected_interval(differences - shift)
        assert (low <= 0 <= high) == (corrected_t_test(differences - shift) >= 0.05)


@given(scores, scores)
def test_the_interval_of_a_difference_contains_0_where_the_test_finds_none(first: list[int], second: list[int]) -> None:
    pairs = list(zip(first, second, strict=False))
    versus = compare([a / 50 for a, _ in pairs], [b / 50 for _, b in pairs])
    low, high = versus.interval
    assert low <= versus.difference <= high
    if np.ptp([a - b for a, b in pairs]) and abs(versus.t_test - 0.05) > 1e-9:
        assert (low < 0 < high) == (versus.t_test > 0.05)
        deviation = np.std([(a - b) / 50 for a, b in pairs], ddof=1)
        factor = stats.t.ppf(0.975, len(pairs) - 1) * math.sqrt(1 / len(pairs) + 1 / 8)
        assert (high - low) / 2 == pytest.approx(factor * deviation)


def test_holm_adjusts_by_the_number_of_tests_and_keeps_the_order() -> None:
    assert holm([0.04, math.nan, 0.01, 0.03]) == [pytest.approx(0.06), pytest.approx(math.nan, nan_ok=True), 0.03, 0.06]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


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
