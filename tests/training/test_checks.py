"""What a training needs is checked before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.data.combine import without_weights
from bankgcn.data.graphs import GraphSet
from bankgcn.data.splits import Split, stratified_split
from bankgcn.nn import CONVS, PLAIN_CONVS, GraphNetwork
from bankgcn.tasks import Task
from bankgcn.training import ModelConfig, TrainConfig, fit
from bankgcn.training.checks import check_run, class_notes, data_warnings, settings_for_skew, target_warnings
from bankgcn.training.spec import RunSpec
from refusals import refused

BY_SCORE = TrainConfig(metric="roc_auc", select="score")


def graphs_of(y: list[int], weight: float = 1.0) -> GraphSet:
    """Pairs of joined nodes, with these classes."""
    edges = np.arange(2 * len(y)).reshape(-1, 2)
    both = np.concatenate([edges, edges[:, ::-1]]).T
    return GraphSet.from_edges(
        [2] * len(y),
        both,
        attributes=np.ones(2 * len(y)),
        edge_weight=np.full(2 * len(y), weight),
        y=y,
        classes=[f"c{number}" for number in range(max(y) + 1)],
        name="own",
    )


def check(graphs: GraphSet, config: TrainConfig | None = None, conv: str = "bank", split: Split | None = None) -> None:
    check_run(graphs, split or stratified_split(graphs.y), ModelConfig(conv=conv), config or TrainConfig())


@pytest.mark.parametrize(
    ("y", "named"),
    [
        ([0] * 20, (20, "own", "'c0'")),
        (list(range(20)), ("own", "20 graphs", "20 classes")),
        ([0, 1, 1], ("3 training", "0 validation")),
    ],
)
def test_graphs_from_which_nothing_can_be_learned_are_refused(y: list[int], named: tuple) -> None:
    with refused(ValueError, *named):
        check(graphs_of(y))


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (
            1e9,
            r"all targets of own are 1e\+09 in single precision, which has about 7 digits: there is nothing to learn",
        ),
        (
            1e8,
            r"some targets of own are about 1e\+08 .* rounds the differences away: subtract their mean, about 1e\+08",
        ),
        (1e4, ""),
        (0, ""),
    ],
)
@pytest.mark.parametrize("columns", [1, 2])
def test_targets_whose_differences_are_rounded_away_are_refused(offset: float, message: str, columns: int) -> None:
    values = (offset + np.arange(20) % 11).astype(np.float32)
    y = values if columns == 1 else np.stack([np.where(np.arange(20) < 3, np.nan, values)] * columns, 1)
    graphs = replace(graphs_of([0, 1] * 10), y=y, classes=())
    split = stratified_split([0, 1] * 10)
    if message:
        with pytest.raises(ValueError, match=message):
            check(graphs, split=split)
    else:
        check(graphs, split=split)


def test_graphs_without_classes_are_refused() -> None:
    split = stratified_split([0, 1] * 10)
    with pytest.raises(ValueError, match="own has no targets to learn"):
        check(replace(graphs_of([0, 1] * 10), y=None, classes=()), split=split)


def test_classes_with_one_graph_are_noted() -> None:
    assert class_notes(graphs_of([0, 1] * 10)) == ()
    (note,) = class_notes(graphs_of([0] * 9 + [1] * 9 + [2, 3]))
    assert note == (
        "2 of 4 classes have one graph only ('c2', 'c3'): the model cannot be both trained and tested on such a class"
    )
    (note,) = class_notes(graphs_of([0, 0, *range(1, 10)]))
    assert "9 of 10 classes" in note
    assert "('c1', 'c2', 'c3', ...)" in note
    check(graphs_of([0] * 9 + [1] * 9 + [2, 3]))


def test_roc_auc_selects_no_epoch_where_validation_has_one_class() -> None:
    graphs = graphs_of([0, 1] * 10)
    split = Split(np.arange(16), np.array([16, 18]), np.array([17, 19]))
    with refused(ValueError, "2 validation", select="loss"):
        check(graphs, BY_SCORE, split=split)
    check(graphs, replace(BY_SCORE, select="loss"), split=split)
    check(graphs, replace(BY_SCORE, metric="accuracy"), split=split)
    check(graphs, BY_SCORE)


def test_the_training_itself_refuses_such_validation_graphs() -> None:
    torch.set_default_dtype(torch.float32)
    graphs = smooth_or_alternating(20)
    net = GraphNetwork(1, 2, hidden_channels=8, num_layers=1)
    with pytest.raises(ValueError, match="validation graphs have one class"):
        fit(net, graphs, graphs[np.flatnonzero(graphs.y == 0)], BY_SCORE, generator=torch.Generator())


def test_roc_auc_is_refused_for_more_than_two_classes() -> None:
    with refused(ValueError, 3, metric="roc_auc"):
        check(graphs_of([0, 1, 2] * 10), TrainConfig(metric="roc_auc"))


@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_weighted_graphs_are_refused_by_models_that_take_no_weights(conv: str) -> None:
    graphs = graphs_of([0, 1] * 10, weight=2.0)
    check(without_weights(graphs), conv=conv)
    if CONVS[conv].takes_weights:
        check(graphs, conv=conv)
    else:
        with refused(ValueError, "own", conv, advice={"ignore_weights": True}):
            check(graphs, conv=conv)


def test_a_rare_class_is_a_warning_that_says_what_to_type() -> None:
    (warning,) = target_warnings(graphs_of([0] * 97 + [1] * 3))
    assert warning.startswith("97% of the graphs have the class 'c0', and the smallest class has 3 (class_weight=")
    (warning,) = target_warnings(graphs_of([0] * 97 + [1] * 3), train=TrainConfig(class_weight="balanced"))
    assert "class_weight" not in warning
    assert target_warnings(graphs_of([0] * 60 + [1] * 40)) == ()


def test_whole_numbers_that_may_be_values_are_a_warning_unless_the_task_was_chosen() -> None:
    numbers = replace(graphs_of(list(range(14)) * 5), classes=tuple(map(str, range(-3, 11))))
    (warning,) = target_warnings(numbers)
    assert "14 different whole numbers" in warning
    assert 'task="values"' in warning
    assert target_warnings(numbers, chosen=True) == ()
    assert target_warnings(graphs_of(list(range(14)) * 5)) == ()  # words


def test_few_graphs_for_each_class_are_a_warning() -> None:
    (warning,) = target_warnings(graphs_of(list(range(10)) * 2))
    assert warning.startswith("there are 10 classes for 20 graphs")
    values = GraphSet.from_edges([1], np.zeros((2, 0), int), y=np.array([0.5], np.float32))
    assert target_warnings(values) == ()


def test_the_largest_and_smallest_numbers_of_single_precision_can_be_learned() -> None:
    single = np.finfo(np.float32)
    for size in (single.max, single.smallest_subnormal):
        y = np.array([0, size] * 10, np.float32)
        check(replace(graphs_of([0, 1] * 10), y=y, classes=()), split=stratified_split([0, 1] * 10))
    y = np.array([single.max, np.nextafter(single.max, np.float32(0))] * 10, np.float32)
    with refused(ValueError, "own", "mean", "3.40282e+38"):
        check(replace(graphs_of([0, 1] * 10), y=y, classes=()), split=stratified_split([0, 1] * 10))


def of_classes(counts: Sequence[int]) -> tuple[GraphSet, Task]:
    names = tuple("abc"[: len(counts)])
    graphs = smooth_or_alternating(sum(counts))
    return replace(graphs, y=np.repeat(np.arange(len(counts)), counts), classes=names), Task(names=names)


@pytest.mark.parametrize(
    ("counts", "chosen"),
    [
        ((80, 20), {"metric": "roc_auc", "threshold": "validation"}),
        ((3, 97), {"metric": "roc_auc", "threshold": "validation"}),
        ((79, 21), {}),
        ((90, 5, 5), {"metric": "balanced_accuracy"}),
        ((40, 30, 30), {}),
    ],
)
def test_a_frequent_class_calls_for_another_score(counts: Sequence[int], chosen: dict[str, str]) -> None:
    assert settings_for_skew(*of_classes(counts)) == chosen


def test_a_label_is_skewed_by_its_known_answers_and_values_never() -> None:
    y = np.array([[0, 1], [1, 1], [0, 1], [1, 1], [np.nan, 0]], np.float32)
    graphs = replace(smooth_or_alternating(5), y=y, classes=(), targets=("x", "y"))
    assert settings_for_skew(graphs, Task(kind="labels", names=("x", "y"))) == {"threshold": "validation"}
    y[:2, 1] = np.nan
    assert settings_for_skew(graphs, Task(kind="labels", names=("x", "y"))) == {}
    values = Task(kind="values", names=("x", "y"), center=(0, 0), scale=(1, 1))
    assert settings_for_skew(graphs, values) == {}


def test_warnings_of_skewed_classes_advise_what_the_training_does_not_do() -> None:
    graphs, _ = of_classes((97, 3))
    assert 'class_weight="balanced"' in target_warnings(graphs)[0]
    assert 'metric="balanced_accuracy"' in target_warnings(graphs)[0]
    done = TrainConfig(class_weight="balanced", metric="roc_auc")
    assert target_warnings(graphs, train=done) == (
        "97% of the graphs have the class 'a', and the smallest class has 3",
    )
    spec = RunSpec(dataset="own.csv")
    assert data_warnings(graphs, spec) == target_warnings(graphs)
    assert data_warnings(graphs, spec.with_(dataset="MUTAG")) == ()


@pytest.mark.parametrize(("counts", "found"), [((5, 5, 5), "3 classes"), ((), "values")])
def test_a_threshold_needs_two_classes_or_labels(counts: Sequence[int], found: str) -> None:
    graphs = (
        of_classes(counts)[0]
        if counts
        else replace(smooth_or_alternating(15), y=np.arange(15, dtype=np.float32), classes=())
    )
    split = Split(np.arange(9), np.arange(9, 12), np.arange(12, 15))
    with refused(ValueError, found, threshold="validation"):
        check_run(graphs, split, ModelConfig(), TrainConfig(threshold="validation"))
