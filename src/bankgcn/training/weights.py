"""The weight of each graph in the loss: that of its class, times its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bankgcn.tasks import Task
from bankgcn.training.config import TrainConfig


class LossWeights:
    r"""Weights of graphs, by which the loss of a batch is :math:`\sum w \ell / \sum w`.

    With ``class_weight="balanced"``, a graph of a class that has :math:`n_c` of the :math:`n` training graphs weighs
    :math:`n / (C n_c)`, where :math:`C` is the number of classes that the training graphs have. Validation and test
    graphs are weighed in the same way: all losses of a run measure the same.

    Args:
        config: The protocol.
        task: What is learned.
        y: Targets of the training graphs.

    Raises:
        ValueError: There are no classes to balance.

    Example:
        >>> balanced = LossWeights(TrainConfig(class_weight="balanced"), Task(names=("a", "b")), np.array([0, 1, 1, 1]))
        >>> balanced.of(np.array([1, 0])).round(3)
        array([0.667, 2.   ])
    """

    def __init__(self, config: TrainConfig, task: Task, y: NDArray):
        self._of_class: NDArray[np.float64] | None = None
        if config.class_weight is None:
            return
        if task.kind != "classes":
            raise ValueError(f"class_weight={config.class_weight} needs classes, but the task is {task.kind}")
        counts = np.bincount(y, minlength=len(task.names))
        self._of_class = np.divide(len(y), (counts > 0).sum() * counts, out=np.ones(len(counts)), where=counts > 0)

    def of(self, y: NDArray, own: ArrayLike | None = None) -> NDArray[np.float64] | None:
        """The weight of each graph with these targets; ``None`` if all graphs count equally.

        Args:
            y: Their targets.
            own: Weights that the user gives.

        Raises:
            ValueError: A weight of the user is negative or not finite, all are 0, or their number is wrong.
        """
        weights = None if own is None else check_weights(own, len(y))
        if self._of_class is None:
            return weights
        return self._of_class[y] if weights is None else self._of_class[y] * weights


def count_known(y: NDArray) -> NDArray[np.int64]:
    """Number of known targets of each graph: the loss is a mean over them.

    Example:
        >>> count_known(np.array([[0.5, np.nan], [1.0, 0.0]]))
        array([1, 2])
    """
    return (~np.isnan(y)).reshape(len(y), -1).sum(1)


def check_weights(own: ArrayLike, count: int) -> NDArray[np.float64]:
    """Weights that a user gives, one for each graph.

    Raises:
        ValueError: A weight is negative or not finite, all are 0, or their number is wrong.
    """
    weights = np.asarray(own, np.float64)
    if weights.shape != (count,):
        raise ValueError(f"the weights have shape {weights.shape}, expected ({count},): one for each graph")
    for graph in np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[:1]:
        raise ValueError(f"the weight of graph {graph} is {weights[graph]}: weights must be finite and not negative")
    if count and not weights.any():
        raise ValueError(f"the weights of all {count:,} graphs are zero: there is nothing to learn")
    return weights
