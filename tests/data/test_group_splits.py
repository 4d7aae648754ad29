"""Splits by groups, and folds: disjoint, covering, of the right sizes, a function of the seed alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.data.splits import group_folds, group_split, split_of_fold, stratified_folds

GROUPS = st.lists(st.integers(0, 12), min_size=1, max_size=80)


@given(GROUPS, st.integers(0, 99))
def test_a_group_is_in_one_part_and_every_graph_in_some_part(groups: list[int], seed: int) -> None:
    split = group_split(groups, seed=seed)
    parts = [set(np.array(groups)[part].tolist()) for part in (split.train, split.valid, split.test)]
    assert sum(map(len, parts)) == len(set(groups))
    assert sorted(np.concatenate([split.train, split.valid, split.test]).tolist()) == list(range(len(groups)))
    assert split.hash == group_split(groups, seed=seed).hash


def test_small_groups_fill_the_parts_to_their_shares_and_the_seed_decides_which() -> None:
    groups = [number // 2 for number in range(100)]
    first, second = group_split(groups, seed=0), group_split(groups, seed=1)
    assert (len(first.train), len(first.valid), len(first.test)) == (80, 10, 10)
    assert first.hash != second.hash
    halves = group_split(groups, (1, 1, 0))
    assert (len(halves.train), len(halves.valid), len(halves.test)) == (50, 50, 0)


def test_large_groups_train() -> None:
    for seed in range(5):
        split = group_split([0] * 40 + list(range(1, 61)), seed=seed)
        assert set(range(40)) <= set(split.train.tolist())


@given(st.lists(st.integers(0, 3), min_size=3, max_size=60), st.integers(3, 6))
def test_folds_share_out_graphs_and_classes_evenly(y: list[int], folds: int) -> None:
    fold = stratified_folds(np.array(y), folds, seed=1)
    sizes = np.bincount(fold, minlength=folds)
    assert sizes.max() - sizes.min() <= 1
    for label in set(y):
        counts = np.bincount(fold[np.array(y) == label], minlength=folds)
        assert counts.max() - counts.min() <= 1


@given(GROUPS, st.integers(3, 5))
def test_folds_keep_groups_together(groups: list[int], folds: int) -> None:
    fold = group_folds(groups, folds, seed=2)
    for group in set(groups):
        assert len(set(fold[np.array(groups) == group])) == 1


def test_groups_of_equal_size_make_equal_folds() -> None:
    assert np.bincount(group_folds([n // 4 for n in range(60)], 5)).tolist() == [12] * 5


@pytest.mark.parametrize("number", [0, 4])
def test_one_fold_tests_the_next_one_validates_and_the_others_train(number: int) -> None:
    fold = np.array([0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
    split = split_of_fold(fold, number, 5)
    assert set(fold[split.test]) == {number}
    assert set(fold[split.valid]) == {(number + 1) % 5}
    assert len(split.train) == 6
