"""The weight of each graph in the loss: that of its class, times its own; of labels, the weight of each answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bankgcn.tasks import Task
from bankgcn.training.config import TrainConfig


class LossWeights:
    r"""Weights of graphs, by which the loss of a batch is :math:`\sum w \ell / \sum w`.

    With ``class_weight="balanced"``, a graph of a class that has :math:`n_c` of the :math:`n` training graphs weighs
    :math:`n / (C n_c)`, where :math:`C` is the number of classes that the training graphs have. Each label is balanced
    on its own: an answer that :math:`n_a` of the :math:`n` known ones are weighs :math:`n / (2 n_a)`. Validation and
    test graphs are weighed in the same way: all losses of a run measure the same.

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
        check_class_weight(config, task)
        self._of_class: NDArray[np.float64] | None = None
        self._of_answer: NDArray[np.float64] | None = None  # (2, T): of the answers 0 and 1
        if config.class_weight is None:
            return
        if task.kind == "classes":
            self._of_class = _balanced(np.bincount(y, minlength=len(task.names)))
        else:
            columns = y.reshape(len(y), -1)
            self._of_answer = np.stack([_balanced(np.array([(c == 0).sum(), (c == 1).sum()])) for c in columns.T], 1)

    def of(self, y: NDArray, own: ArrayLike | None = None) -> NDArray[np.float64] | None:
        """The weight of each graph with these targets, ``(G,)``; ``None`` if all graphs count equally.

        With balanced labels, the weight of each answer, ``(G, T)``; that of an unknown one does not count.

        Args:
            y: Their targets.
            own: Weights that the user gives.

        Raises:
            ValueError: A weight of the user is negative or not finite, all are 0, or their number is wrong.
        """
        weights = None if own is None else check_weights(own, len(y))
        if self._of_answer is not None:
            of_answers = np.where(y.reshape(len(y), -1) == 1, self._of_answer[1], self._of_answer[0])
            return of_answers if weights is None else of_answers * weights[:, None]
        if self._of_class is None:
            return weights
        return self._of_class[y] if weights is None else self._of_class[y] * weights


def check_class_weight(config: TrainConfig, task: Task) -> None:
    """Raise if classes are to be balanced where there are none."""
    if config.class_weight is not None and task.kind == "values":
        raise ValueError(f"class_weight={config.class_weight} needs classes or labels, but the task is {task.kind}")


def _balanced(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The weight of each class by its number of graphs; 1 for a class without any."""
    total, occurring = counts.sum(), (counts > 0).sum()
    return np.divide(total, occurring * counts, out=np.ones(len(counts)), where=counts > 0)


def known_weight(y: NDArray, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """How much each graph counts in a mean over known targets: their number, or the sum of their weights.

    Example:
        >>> known_weight(np.array([[0.5, np.nan], [1.0, 0.0]]), np.array([3.0, 1.0]))
        array([3., 2.])
    """
    if weights is None or weights.ndim == 1:
        counts = count_known(y)
        return counts.astype(np.float64) if weights is None else counts * weights
    return (~np.isnan(y) * weights).sum(1)


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
