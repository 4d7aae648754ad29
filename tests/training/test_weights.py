"""Weights of graphs in the loss: balanced classes, weights of the user, and both together."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.data.graphs import GraphSet
from bankgcn.kernels import use_kernels
from bankgcn.nn import BankGCN
from bankgcn.tasks import Task
from bankgcn.training import TrainConfig, evaluate, fit
from bankgcn.training.checks import LossWeights, known_weight
from bankgcn.training.execute import execute
from bankgcn.training.spec import RunSpec
from bankgcn.training.stepper import ProcessGroup
from refusals import refused

TASK = Task(names=("a", "b", "c"))
BALANCED = TrainConfig(class_weight="balanced", gamma=0.0, max_epochs=2)


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)  # as graphs are stored


def test_balanced_classes_have_equal_sums_of_weights() -> None:
    y = np.array([0, 1, 1, 1, 1, 2, 2])
    weights = LossWeights(BALANCED, TASK, y).of(y)
    assert [weights[y == number].sum() for number in range(3)] == pytest.approx([7 / 3] * 3)


def test_a_class_without_training_graphs_does_not_divide_by_zero() -> None:
    weights = LossWeights(BALANCED, TASK, np.array([0, 0, 1]))
    assert weights.of(np.array([0, 1, 2])).tolist() == pytest.approx([0.75, 1.5, 1.0])


def test_own_weights_multiply_those_of_the_classes() -> None:
    y = np.array([0, 1, 1])
    of_class, own = LossWeights(BALANCED, TASK, y).of(y), np.array([1.0, 0.0, 4.0])
    assert LossWeights(BALANCED, TASK, y).of(y, own).tolist() == (of_class * own).tolist()
    assert LossWeights(TrainConfig(), TASK, y).of(y, own).tolist() == own.tolist()
    assert LossWeights(TrainConfig(), TASK, y).of(y) is None


@pytest.mark.parametrize(
    ("own", "named"),
    [
        ([1.0, 2.0], ((2,), (3,))),
        ([1.0, -2.0, 1.0], ("graph 1", -2.0)),
        ([1.0, 2.0, math.nan], ("graph 2", "nan")),
        ([0.0, 0.0, 0.0], ("all 3 graphs", "zero")),
    ],
)
def test_weights_that_make_no_sense_are_refused(own: list[float], named: tuple) -> None:
    with refused(ValueError, *named):
        LossWeights(TrainConfig(), TASK, np.zeros(3, np.int64)).of(np.zeros(3, np.int64), own)


def test_only_classes_can_be_balanced() -> None:
    with refused(ValueError, "values", class_weight="balanced"):
        LossWeights(BALANCED, Task(kind="values", names=("y",)), np.zeros(3))


def unbalanced() -> tuple[GraphSet, GraphSet]:
    """Training graphs, six of one class and two of the other, and validation graphs."""
    graphs = smooth_or_alternating(24)
    first, second = (np.flatnonzero(graphs.y == number) for number in (0, 1))
    return graphs[np.concatenate([first[:6], second[:2]])], graphs[np.concatenate([first[6:9], second[2:5]])]


def trained(train: GraphSet, valid: GraphSet, config: TrainConfig, **weights: np.ndarray) -> tuple[float, torch.Tensor]:
    torch.manual_seed(0)
    net = BankGCN(1, 2, hidden_channels=8, num_layers=2, num_subspaces=2)
    result = fit(net, train, valid, config, generator=torch.Generator().manual_seed(0), **weights)
    return result.epochs[0].valid_loss, torch.cat([value.reshape(-1) for value in net.state_dict().values()])


def test_a_weight_of_two_is_the_same_as_the_graph_twice() -> None:
    train, valid = unbalanced()
    config = TrainConfig(gamma=0.0, max_epochs=3, batch_size=64)
    weights = np.where(np.arange(len(train)) < 3, 2.0, 1.0)
    twice = train[[0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7]]
    torch.testing.assert_close(
        trained(train, valid, config, weights=weights), trained(twice, valid, config), rtol=1e-4, atol=1e-5
    )


def test_a_graph_of_weight_zero_is_the_same_as_none() -> None:
    train, valid = unbalanced()
    config = TrainConfig(gamma=0.0, max_epochs=3, batch_size=64)
    weights = (np.arange(len(train)) > 0).astype(np.float64)
    torch.testing.assert_close(
        trained(train, valid, config, weights=weights), trained(train[1:], valid, config), rtol=1e-4, atol=1e-5
    )


def test_balanced_training_is_that_with_the_weights_of_the_classes() -> None:
    train, valid = unbalanced()
    weights = [np.where(part.y == 0, 8 / 12, 8 / 4) for part in (train, valid)]
    balanced, by_hand = trained(train, valid, BALANCED), replace(BALANCED, class_weight=None)
    expected = trained(train, valid, by_hand, weights=weights[0], valid_weights=weights[1])
    torch.testing.assert_close(balanced, expected)
    assert abs(balanced[0] - trained(train, valid, by_hand)[0]) > 1e-3


def test_the_shares_of_the_processes_follow_the_weights() -> None:
    train, _ = unbalanced()
    weights, whole = LossWeights(BALANCED, TASK, train.y).of(train.y), train.batch()
    shares = [ProcessGroup(rank, 2).shard(whole, weights)[1] for rank in (0, 1)]
    # each process has three graphs of the first class and one of the second
    assert shares == pytest.approx([0.5, 0.5])
    lopsided = np.array([1.0, 0.0] * 4)
    assert [ProcessGroup(rank, 2).shard(whole, lopsided)[1] for rank in (0, 1)] == [1.0, 0.0]


def test_a_run_weighs_all_of_its_losses() -> None:
    spec = RunSpec(dataset="MUTAG").with_(max_epochs=1, hidden_channels=8, num_layers=1, num_subspaces=2)
    plain, balanced = execute(spec), execute(spec.with_(class_weight="balanced"))
    assert plain is not None
    assert balanced is not None
    assert balanced.record.config.to_dict()["train"]["class_weight"] == "balanced"
    assert "class_weight" not in plain.record.config.to_dict()["train"]
    for name in ("valid_loss", "test_loss"):
        assert getattr(plain.record, name) != getattr(balanced.record, name)


def test_the_loss_is_weighed_and_the_score_is_not() -> None:
    graphs = smooth_or_alternating(12)
    net, task = BankGCN(1, 2, hidden_channels=8, num_layers=2, num_subspaces=2), Task(names=("a", "b"))
    one, chosen = np.zeros(12), 5
    one[chosen] = 3.0
    found = evaluate(net, graphs, task, one)
    assert found.loss == pytest.approx(evaluate(net, graphs[chosen], task).loss)
    assert found.score == evaluate(net, graphs, task).score


LABELS = Task(kind="labels", names=("x", "y"))


def labelled() -> GraphSet:
    """Graphs with a rare label, and one that is unknown for some."""
    y = np.array([[0, 0], [0, 1], [1, 0], [0, np.nan], [0, 1], [0, 0], [0, 1], [0, np.nan]], np.float32)
    return replace(smooth_or_alternating(8), y=y, classes=(), targets=("x", "y"))


def test_each_label_is_balanced_by_its_known_answers() -> None:
    y = labelled().y
    assert y is not None
    weights = LossWeights(BALANCED, LABELS, y).of(y)
    for column in (0, 1):
        answers = [weights[y[:, column] == answer, column].sum() for answer in (0, 1)]
        assert answers == pytest.approx([(~np.isnan(y[:, column])).sum() / 2] * 2)
    own = np.arange(8.0)
    np.testing.assert_allclose(LossWeights(BALANCED, LABELS, y).of(y, own), weights * own[:, None])
    np.testing.assert_allclose(known_weight(y, weights).sum(), 14)  # the number of known answers


def test_a_label_with_one_answer_in_training_does_not_divide_by_zero() -> None:
    weights = LossWeights(BALANCED, LABELS, np.array([[0.0, 1.0], [0.0, 0.0]])).of(np.array([[1.0, 1.0]]))
    assert weights.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("batch_size", [3, 8])
def test_program_and_autograd_weigh_answers_alike(batch_size: int) -> None:
    graphs, found = labelled(), {}
    config = replace(BALANCED, batch_size=batch_size)
    for fused in (True, False):
        torch.manual_seed(0)
        net = BankGCN(1, 2, hidden_channels=8, num_layers=2, num_subspaces=2)
        with use_kernels(fused):
            result = fit(net, graphs, graphs, config, task=LABELS, generator=torch.Generator().manual_seed(0))
        found[result.path] = [(epoch.train_loss, epoch.valid_loss) for epoch in result.epochs]
    assert set(found) == {"whole network", "plain"}
    np.testing.assert_allclose(found["whole network"], found["plain"], rtol=1e-4)
