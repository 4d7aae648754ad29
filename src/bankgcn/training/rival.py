"""A model that is no network as a run: made, fitted to the training graphs, chosen by the validation graphs."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.data.graphs import GraphSet
from bankgcn.rivals import RIVAL_TYPES, Forest, Layout, Lesson, Rival
from bankgcn.rivals.columns import GraphColumns
from bankgcn.rivals.forest import TREES
from bankgcn.tasks import Task
from bankgcn.training.callbacks import Callbacks
from bankgcn.training.config import ModelConfig
from bankgcn.training.evaluation import evaluate_outputs
from bankgcn.training.fitting import Context, Epoch, FitResult

if TYPE_CHECKING:  # which makes such models
    from bankgcn.training.prepare import PreparedRun

PATH = "scikit-learn"
"""The path that such a training takes; see :class:`bankgcn.training.fitting.FitResult`."""


def make_rival(config: ModelConfig, graphs: GraphSet, task: Task) -> Rival:
    """An empty model for these graphs."""
    edge_attributes = graphs.num_edge_attributes if config.edge_uses else 0
    layout = Layout(graphs.num_attributes, edge_attributes, config.edge_dim(graphs), graphs.num_graph_features)
    return RIVAL_TYPES[config.conv](task.kind, task.out_channels, layout)


def fit_rival(rival: Rival, train: GraphSet, valid: GraphSet, context: Context, seed: int) -> FitResult:
    """Fit a model by its training and validation graphs, as one epoch.

    Args:
        rival: The model; it is fitted in place.
        train: Graphs to learn from.
        valid: Graphs that choose.
        context: What else it needs.
        seed: What draws at random.

    Raises:
        ValueError: Several processes cannot share the work.
    """
    if context.group.size > 1:
        raise ValueError(f"{context.group.size} processes train together, but scikit-learn fits this model in one")
    lesson = _lesson(train, valid, context.task, context.weights, context.valid_weights, seed)
    watching, result = Callbacks(context.callbacks), None
    try:
        done = rival.fit(lesson)
        learned = evaluate_outputs(rival.logits(train), cast(NDArray, train.y), context.task, context.weights)
        chosen = evaluate_outputs(rival.logits(valid), cast(NDArray, valid.y), context.task, context.valid_weights)
        epoch = Epoch(1, learned.loss, chosen.loss, chosen.score, 0.0, 0.0)
        result = FitResult(epoch, (epoch,), "fitted", PATH, choice=done)
        watching.on_epoch_end(epoch)
    finally:
        watching.on_end(result)
    return result


def _lesson(
    train: GraphSet,
    valid: GraphSet,
    task: Task,
    weights: NDArray[np.float64] | None,
    valid_weights: NDArray[np.float64] | None,
    seed: int,
) -> Lesson:
    def cost(outputs: Tensor) -> tuple[float, float]:
        found = evaluate_outputs(outputs, cast(NDArray, valid.y), task, valid_weights)
        return task.scoring.cost(found.score), math.inf if math.isnan(found.loss) else found.loss

    return Lesson(
        train=train, valid=valid, task=task, cost=cost, weights=weights, seed=seed, threads=torch.get_num_threads()
    )


SHARE = 0.25
"""The most that the forest beside a network may take of the time of its training."""
SAFETY = 0.8  # of this time that an estimate may fill
PROBE, PROBE_TREES = 64, 25  # graphs and trees by which the time of a forest is estimated
FEWER_TREES = 100  # where all of them would take too long
LEAST = 50  # training graphs, if there are more: a forest on fewer tells nothing


@dataclass(frozen=True)
class ForestBeside:
    """What a forest has on the split of a network.

    Args:
        valid_score: Its score on the validation graphs.
        test_score: Its score on the test graphs.
        sample: Number of the training graphs that it was fitted to.
        train: Number of all training graphs.
        trees: Number of its trees.
    """

    valid_score: float
    test_score: float
    sample: int
    train: int
    trees: int


def forest_beside(run: PreparedRun, seconds: float) -> ForestBeside | None:
    """The scores of a forest on the split of a run, in a share of the time that its training took.

    If the time does not allow the whole forest on all training graphs, by an estimate, there are fewer trees, quick
    descriptors of molecules, and as many training graphs as it allows; ``None`` if these are too few to tell anything.
    The time to load libraries does not count. There are no thresholds.

    Args:
        run: The run, with the features of its graphs.
        seconds: How long the training took.
    """
    grower = _Grower(run)
    ends = time.perf_counter() + SHARE * seconds
    number, trees, quick = 0, TREES, False
    for trees, quick in ((TREES, False), (FEWER_TREES, True)):
        number = grower.affordable(trees, quick, SAFETY * (ends - time.perf_counter()))
        if number == len(grower.order):
            break
    if number < min(LEAST, len(grower.order)):
        return None
    forest = grower.grow(number, trees, quick)
    y, task = cast(NDArray, run.graphs.y), grower.task
    parts = (run.split.valid, run.split.test)
    of_valid, of_test = (task.score(forest.logits(run.graphs[part]), y[part]) for part in parts)
    return ForestBeside(of_valid, of_test, number, len(grower.order), trees)


class _Grower:
    """Grows forests on the first ones of the training graphs of a run, in a random order, and measures how long."""

    def __init__(self, run: PreparedRun):
        self.run, self.task = run, replace(run.task, thresholds=())
        config = ModelConfig(conv="forest", edges=run.spec.model.edges)
        self.layout = make_rival(config, run.graphs, self.task).layout
        self.seed = run.spec.seeds.weights
        self.order = np.random.Generator(np.random.PCG64(self.seed)).permutation(run.split.train)
        self.valid = run.graphs[run.split.valid]
        for quick in (False, True):  # loads libraries, before a clock starts
            self.grow(min(2, len(self.order)), 1, quick)

    def grow(self, number: int, trees: int, quick: bool) -> Forest:
        """A forest on so many graphs."""
        chosen = np.sort(self.order[:number])
        forest = Forest(self.task.kind, self.task.out_channels, self.layout)
        weights = self.run.loss_weights(chosen)
        forest.fit(_lesson(self.run.graphs[chosen], self.valid, self.task, weights, None, self.seed), trees, quick)
        return forest

    def affordable(self, trees: int, quick: bool, seconds: float) -> int:
        """The number of training graphs that a forest can be grown on, and applied to the others, in this time."""
        started, small = time.perf_counter(), min(PROBE, len(self.order))
        few = self.order[: -(-small // 8)]
        GraphColumns.of(self.run.graphs[few], quick)
        of_column = (time.perf_counter() - started) / len(few)
        held_out = len(self.run.split.valid) + len(self.run.split.test)
        if of_column * (held_out + LEAST) > seconds:
            return 0
        GraphColumns.of(self.run.graphs[self.order[:small]], quick)
        ends = [time.perf_counter()]
        for probe_trees in (1, PROBE_TREES):  # the difference tells what a tree costs beside what a forest does
            self.grow(small, probe_trees, quick)
            ends.append(time.perf_counter())
        of_tree = max(ends[2] - 2 * ends[1] + ends[0], 0.0) / (PROBE_TREES - 1) / small
        left = seconds - (ends[2] - started) - (ends[1] - ends[0]) - of_column * held_out
        return int(np.clip(left / (of_column + trees * of_tree), 0, len(self.order)))
