"""Intervals and sets by conformal prediction: each against its definition by brute force, and what it guarantees."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.files.checked import FileError
from bankgcn.files.tensors import write_arrays
from bankgcn.tasks import Task
from bankgcn.training.intervals import (
    Conformal,
    Group,
    ValidationPredictions,
    coverage,
    least_graphs,
    rank,
)

VALUES = Task(kind="values", names=("a", "b"), center=(0.0, 0.0), scale=(1.0, 1.0))
ONE_VALUE = Task(kind="values", names=("a",), center=(0.0,), scale=(1.0,))
CLASSES = Task(names=("x", "y", "z"))
LABELS = Task(kind="labels", names=("one", "two"))


def exact_rank(count: int, level: str) -> int:
    """The rank of the quantile in exact arithmetic."""
    return math.ceil((count + 1) * Fraction(level))


def holds_value(y: float, groups: list[tuple[list[float], float, float]], level: str) -> bool:
    """Whether a value lies between the bounds of CV+ (Barber et al., 2021), from all validation graphs one by one.

    Each group has the scores of its validation graphs, and the prediction and scale of its models for the new graph.
    """
    highest = sorted(mean + score * scale for scores, mean, scale in groups for score in scores)
    lowest = sorted((mean - score * scale for scores, mean, scale in groups for score in scores), reverse=True)
    place = exact_rank(len(highest), level)
    return place > len(highest) or lowest[place - 1] <= y <= highest[place - 1]


def p_value(candidate: float, scores: list[float]) -> Fraction:
    """The share of graphs, the new one among them, that are at least as strange as the candidate."""
    return Fraction(1 + sum(score >= candidate for score in scores), len(scores) + 1)


@given(st.integers(1, 300), st.integers(1, 99))
def test_the_rank_is_exact_where_floating_point_is_not(count: int, percent: int) -> None:
    assert rank(count, percent / 100) == exact_rank(count, f"{percent}/100")


@pytest.mark.parametrize(("level", "least"), [(0.9, 9), (0.95, 19), (0.8, 4), (0.5, 1), (0.99, 99)])
def test_a_level_needs_so_many_validation_graphs(level: float, least: int) -> None:
    assert least_graphs(level) == least
    assert rank(least, level) == least
    assert rank(least - 1, level) > least - 1


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("spread", [False, True])
def test_bounds_of_values_are_those_of_the_definition(several: bool, spread: bool) -> None:
    rng = np.random.default_rng(several + 2 * spread)
    groups, news, exact = [], [], []
    for _ in range(1 + several):
        mean, y = rng.normal(size=(23, 1)), rng.normal(size=(23, 1))
        deviation = rng.gamma(2, size=(23, 1)) if spread else None
        floor = float(np.median(deviation)) if spread else 0.0
        scale = deviation + floor if spread else np.ones((23, 1))
        new, new_deviation = rng.normal(size=(40, 1)), rng.gamma(2, size=(40, 1)) if spread else None
        groups.append(Group(mean, deviation, y))
        news.append((new, new_deviation))
        exact.append((np.abs(y - mean) / scale, new, new_deviation + floor if spread else np.ones((40, 1))))
    intervals = Conformal(ONE_VALUE, groups, 0.8).apply(news)
    for graph in range(40):
        own = [(scores[:, 0].tolist(), new[graph, 0], scale[graph, 0]) for scores, new, scale in exact]
        for y in (intervals.low[graph, 0], intervals.high[graph, 0]):
            inside, outside = (y + sign * 1e-9 for sign in ((1, -1) if y == intervals.low[graph, 0] else (-1, 1)))
            assert holds_value(inside, own, "0.8")
            assert not holds_value(outside, own, "0.8")


@pytest.mark.parametrize("several", [False, True])
def test_sets_of_classes_hold_the_classes_that_are_not_too_strange(several: bool) -> None:
    rng = np.random.default_rng(several)
    groups, news = [], []
    for _ in range(1 + several):
        groups.append(Group(rng.dirichlet(np.ones(3), 60), None, rng.integers(3, size=60)))
        news.append((rng.dirichlet(np.ones(3), 50), None))
    decided = np.mean([new for new, _ in news], axis=0).argmax(1)
    intervals = Conformal(CLASSES, groups, 0.9).apply(news, decided)
    pooled: list[list[float]] = [[] for _ in range(3)]
    for graph in range(50):
        for c in range(3):
            # The count over all groups, each with its own probability for the new graph (cross-conformal).
            same = [(1 - p[y == c, c], 1 - new[graph, c]) for (p, _, y), (new, _) in zip(groups, news, strict=True)]
            pooled[c] = [score for scores, _ in same for score in scores]
            stranger = sum(int((scores >= candidate).sum()) for scores, candidate in same)
            expected = Fraction(1 + stranger, len(pooled[c]) + 1) > Fraction("0.1")
            assert intervals.sets[graph, c] == (expected or decided[graph] == c)
    if not several:
        scores, candidate = (1 - groups[0].mean[groups[0].y == 0, 0]).tolist(), 1 - news[0][0][0, 0]
        in_set = p_value(candidate, scores) > Fraction("0.1")
        assert intervals.sets[0, 0] == (in_set or decided[0] == 0)


def test_classes_with_few_validation_graphs_share_their_scores_and_a_note_says_so() -> None:
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(3), 40), np.array([0] * 30 + [1] * 8 + [2] * 2)
    conformal = Conformal(CLASSES, [Group(p, None, y)], 0.9)
    assert conformal.notes == (
        "too few validation graphs for each class by itself (90 % needs 9, and z has 2): the sets hold 90 % of all "
        "graphs, but not of each class",
    )
    new = rng.dirichlet(np.ones(3), 30)
    sets = conformal.apply([(new, None)], new.argmax(1)).sets
    threshold = np.sort(1 - p[np.arange(40), y])[exact_rank(40, "0.9") - 1]
    np.testing.assert_array_equal(sets, (1 - new <= threshold) | (np.arange(3) == new.argmax(1)[:, None]))


def test_each_label_has_a_set_of_its_answers() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(size=(50, 2))
    y = np.where(rng.uniform(size=(50, 2)) < 0.2, np.nan, rng.integers(2, size=(50, 2)))
    new = rng.uniform(size=(20, 2))
    decided = (new >= 0.5).astype(int)
    sets = Conformal(LABELS, [Group(p, None, y)], 0.8).apply([(new, None)], decided).sets
    assert sets.shape == (20, 2, 2)
    for label in range(2):
        for answer in range(2):
            same = y[:, label] == answer
            scores = np.abs(answer - p[same, label])
            threshold = np.sort(scores)[exact_rank(int(same.sum()), "0.8") - 1]
            expected = (np.abs(answer - new[:, label]) <= threshold + 1e-12) | (decided[:, label] == answer)
            np.testing.assert_array_equal(sets[:, label, answer], expected)


@pytest.mark.parametrize(("count", "level"), [(9, 0.9), (25, 0.9), (60, 0.8)])
def test_the_coverage_on_exchangeable_graphs_is_that_of_the_rank(count: int, level: float) -> None:
    # Without ties, a new graph lies in its interval with the probability ceil((n + 1) level) / (n + 1), exactly.
    rng, trials = np.random.default_rng(0), 4000
    held = 0
    for _ in range(trials):
        mean, sd = rng.normal(size=(count + 1, 1)), rng.gamma(3, size=(count + 1, 1))
        y = mean + rng.standard_t(3, size=mean.shape)
        known = Group(mean[:-1], None, y[:-1])
        interval = Conformal(ONE_VALUE, [known], level).apply([(mean[-1:], sd[-1:])])
        held += bool(interval.low[0, 0] <= y[-1, 0] <= interval.high[0, 0])
    expected = rank(count, level) / (count + 1)
    assert abs(held / trials - expected) < 4 * math.sqrt(expected * (1 - expected) / trials)


def test_few_validation_graphs_are_refused_with_the_level_that_they_allow() -> None:
    group = Group(np.zeros((5, 1)), None, np.zeros((5, 1)))
    message = (
        r"an interval of 90 % needs at least 9 validation graphs with a known target, and the run has 5: choose "
        r"interval=0.83 or less, or train with more validation graphs"
    )
    with pytest.raises(ValueError, match=message):
        Conformal(ONE_VALUE, [group], 0.9)
    assert np.isfinite(Conformal(ONE_VALUE, [group], 0.83).apply([(np.zeros((1, 1)), None)]).low).all()
    for level in (0.0, 1.0, 90, float("nan")):
        with pytest.raises(ValueError, match="expected a share between 0 and 1, such as 0.9"):
            Conformal(ONE_VALUE, [group], level)


def test_one_value_with_few_known_targets_has_no_bounds_and_a_note() -> None:
    y = np.zeros((20, 2))
    y[3:, 1] = np.nan
    conformal = Conformal(VALUES, [Group(np.zeros((20, 2)), None, y)], 0.9)
    assert conformal.notes == ("b has no interval: 90 % needs 9 validation graphs with a known target, and it has 3",)
    intervals = conformal.apply([(np.ones((2, 2)), None)])
    assert dict(intervals.columns(VALUES)) == {
        "a_low": [1.0, 1.0], "a_high": [1.0, 1.0], "b_low": [None, None], "b_high": [None, None]
    }  # fmt: skip


def test_columns_of_sets_name_classes_and_answers() -> None:
    p = np.tile([0.8, 0.15, 0.05], (30, 1))
    classes = Conformal(CLASSES, [Group(p, None, np.array([0, 1] * 15))], 0.5)
    assert dict(classes.apply([(p[:1], None)], np.array([0])).columns(CLASSES)) == {"set": ["x|y"]}
    both = np.full((30, 2), 0.5)
    labels = Conformal(LABELS, [Group(both, None, np.tile([0.0, 1.0], (30, 1)))], 0.5)
    columns = dict(labels.apply([(both[:1], None)], np.ones((1, 2), int)).columns(LABELS))
    assert columns == {"set_one": ["0|1"], "set_two": ["0|1"]}


def test_coverage_counts_known_targets_alone() -> None:
    mean = np.zeros((20, 2))
    y = np.tile(np.arange(20.0)[:, None], (1, 2))
    intervals = Conformal(VALUES, [Group(mean, None, y)], 0.9).apply([(mean, None)])
    y[10:, 1] = np.nan
    figures = coverage(VALUES, intervals, y)
    assert figures["level"] == 0.9
    assert figures["targets"] == [
        {"name": "a", "graphs": 20, "coverage": 0.95, "width": 36.0},
        {"name": "b", "graphs": 10, "coverage": 1.0, "width": 36.0},
    ]
    assert figures["coverage"] == pytest.approx(29 / 30)


def test_stored_predictions_come_back_and_are_checked(tmp_path: Path) -> None:
    stored = ValidationPredictions(np.array([[0.5], [1.5]]), np.array([[1.0], [np.nan]]), "abc")
    path = tmp_path / "validation.safetensors"
    stored.save(path)
    again = ValidationPredictions.load(path, ONE_VALUE)
    np.testing.assert_array_equal(again.predictions, stored.predictions)
    np.testing.assert_array_equal(again.y, stored.y)
    assert again.split == "abc"
    with pytest.raises(FileError, match="2 targets"):
        ValidationPredictions.load(path, VALUES)
    write_arrays(path, "predictions for validation graphs", {"split": "abc"}, {
        "predictions": np.array([[np.inf]]), "y": np.array([[1.0]])
    })  # fmt: skip
    with pytest.raises(FileError, match="not finite"):
        ValidationPredictions.load(path, ONE_VALUE)
