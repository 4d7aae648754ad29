"""Splits: every graph in one part, every class in its share, and the same again for the same seed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.data import GraphError
from bankgcn.data.splits import Split, limit_training, random_split, split_targets, stratified_split
from bankgcn.files.checked import FileError
from refusals import refused

LABELS = st.lists(st.integers(0, 5), max_size=120).map(lambda labels: np.array(labels, np.int64))
RATIOS = st.sampled_from([(8, 1, 1), (0.8, 0.1, 0.1), (6, 2, 2), (1, 1, 1), (9, 1, 0), (7, 0, 3)])


@given(LABELS, RATIOS, st.integers(0, 2**32))
def test_parts_are_disjoint_cover_all_and_have_their_share_of_every_class(
    y: np.ndarray, ratios: tuple[float, ...], seed: int
) -> None:
    split = stratified_split(y, ratios, seed)
    parts = [split.train, split.valid, split.test]
    assert np.sort(np.concatenate(parts)).tolist() == list(range(len(y)))
    for part, ratio in zip(parts, ratios, strict=True):
        share = ratio / sum(ratios)
        assert (np.diff(part) > 0).all()
        assert abs(len(part) - share * len(y)) < 2
        for label in np.unique(y):
            assert abs((y[part] == label).sum() - share * (y == label).sum()) < 1


@given(LABELS, st.integers(0, 2**32))
def test_a_split_is_a_function_of_labels_and_seed(y: np.ndarray, seed: int) -> None:
    split = stratified_split(y, seed=seed)
    again = stratified_split(y.astype(np.uint8), (0.8, 0.1, 0.1), seed)
    assert again.hash == split.hash


def test_shares_that_are_whole_are_exact() -> None:
    y = np.repeat(np.arange(6), 100)  # as in ENZYMES
    split = stratified_split(y, seed=3)
    for part, count in ((split.train, 80), (split.valid, 10), (split.test, 10)):
        assert np.bincount(y[part]).tolist() == [count] * 6


def test_what_rounding_leaves_is_shared_out_between_validation_and_test() -> None:
    split = stratified_split(np.repeat(np.arange(10), 15))  # 12, 1.5, 1.5 of each class
    assert (len(split.train), len(split.valid), len(split.test)) == (120, 15, 15)


def test_seeds_give_different_splits_and_the_same_ones_for_ever() -> None:
    y = np.repeat([0, 1], 10)
    assert stratified_split(y, seed=0).test.tolist() == [9, 16]
    assert stratified_split(y, seed=1).test.tolist() == [1, 13]


@pytest.mark.parametrize(
    ("y", "ratios", "message"),
    [
        ([0.5, 1.0], (8, 1, 1), "dtype float64"),
        ([[0], [1]], (8, 1, 1), r"shape \(2, 1\)"),
        ([0, 1], (8, 1), "expected three numbers"),
        ([0, 1], (1, -1, 1), "not negative"),
        ([0, 1], (0, 0, 0), "not all 0"),
        ([0, 1], (1, np.nan, 1), "expected three numbers"),
    ],
)
def test_bad_arguments_are_refused(y: list, ratios: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stratified_split(y, ratios)


def test_limited_training_keeps_so_many_of_each_class_and_all_the_rest() -> None:
    y = np.arange(1000) % 10
    split = stratified_split(y)
    limited = limit_training(split, y, per_class=7, seed=1)
    assert np.bincount(y[limited.train]).tolist() == [7] * 10
    assert set(limited.train) <= set(split.train)
    assert limited.valid.tolist() == split.valid.tolist()
    assert limited.test.tolist() == split.test.tolist()
    assert limit_training(split, y, 7, seed=1).hash == limited.hash
    assert limit_training(split, y, 7, seed=2).hash != limited.hash
    with refused(ValueError, "class 0", "80 training", per_class=81):
        limit_training(split, y, per_class=81)


@pytest.mark.parametrize(
    ("parts", "message"),
    [(([0, 1], [1], [2]), "graph 1 is in a split more than once"), (([0], [-1], [2]), "holds graph -1")],
)
def test_a_split_that_leaks_cannot_be_made(parts: tuple, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Split(*map(np.array, parts))


def test_a_saved_split_comes_back(tmp_path: Path) -> None:
    split = stratified_split([0, 1] * 20)
    split.save(tmp_path / "split.json", "40-80-60-abc")
    loaded = Split.load(tmp_path / "split.json", "40-80-60-abc")
    assert loaded.hash == split.hash
    assert loaded.train.tolist() == split.train.tolist()


def test_a_split_of_other_graphs_is_refused(tmp_path: Path) -> None:
    stratified_split([0, 1]).save(tmp_path / "split.json", "2-4-3-abc")
    with refused(FileError, "2-4-3-abc", "2-4-3-def", at="split.json"):
        Split.load(tmp_path / "split.json", "2-4-3-def")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": [0]}, "was changed"),
        ({"train": [0, 0]}, "damaged: graph 0 is in a split more than once"),
        ({"train": "all"}, "damaged"),
        ({"train": [10**30]}, "damaged"),
        ({"train": [[0, 1], [2]]}, "damaged"),
        ({"format": "bankgcn split 2"}, "not a split in the format 'bankgcn split 1'"),
    ],
)
def test_a_split_file_that_was_changed_is_refused(tmp_path: Path, change: dict, message: str) -> None:
    path = tmp_path / "split.json"
    stratified_split([0, 1] * 5).save(path, "abc")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FileError, match=message):
        Split.load(path, "abc")


@pytest.mark.parametrize("content", ["", "[1, 2]", '{"format": "bankgcn split 1"}', "{", "\x00"])
def test_a_file_that_is_no_split_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "file").write_text(content)
    with pytest.raises(FileError, match=r"file: is (not a split|damaged)"):
        Split.load(tmp_path / "file", "abc")


@given(st.integers(0, 300), st.integers(0, 99))
def test_a_random_split_is_a_function_of_size_and_seed_that_covers_all_graphs(num_graphs: int, seed: int) -> None:
    split = random_split(num_graphs, seed=seed)
    together = np.concatenate([split.train, split.valid, split.test])
    assert sorted(together) == [*range(num_graphs)]
    for part, share in zip((split.train, split.valid, split.test), (0.8, 0.1, 0.1), strict=True):
        assert abs(len(part) - share * num_graphs) < 1
    assert split.hash == split_targets(np.linspace(0, 1, num_graphs, dtype=np.float32), seed).hash


def test_a_random_split_never_changes() -> None:
    assert random_split(20, seed=0).test.tolist() == [5, 9]
    assert random_split(20, seed=1).test.tolist() == [1, 3]


def test_classes_are_split_by_classes() -> None:
    y = np.array([0] * 10 + [1] * 10)
    assert split_targets(y, 4).hash == stratified_split(y, seed=4).hash


@pytest.mark.parametrize("y", [np.zeros(10, np.float32), np.zeros((10, 2), np.float32)])
def test_only_classes_can_limit_the_training_graphs(y: np.ndarray) -> None:
    with pytest.raises(ValueError, match="expected one integer class per graph"):
        limit_training(random_split(10), y, per_class=1)
