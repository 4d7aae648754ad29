"""What a training needs, checked before it starts: nothing is written for a run that cannot succeed."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from bankgcn.data.catalog import CATALOG
from bankgcn.data.graphs import GraphSet
from bankgcn.data.splits import Split
from bankgcn.messages import Message, Option, advise
from bankgcn.metrics import METRICS
from bankgcn.tasks import DEFAULT_METRIC, Task, kind_of
from bankgcn.training.config import ModelConfig, TrainConfig
from bankgcn.training.spec import RunSpec

CLASSES_NAMED = 3  # in a note
MANY_INTEGERS = 6  # so many different whole numbers may be values
FEW_GRAPHS = 4  # fewer graphs than this for each class can hardly be split into three parts
COARSE = 100  # a standard deviation of fewer steps of single precision than this loses too much by rounding
IMBALANCE = 10  # how many times the graphs of the smallest class the largest has
SKEWED = 0.8  # share of the largest class from which on "always this class" is a good score


def check_run(graphs: GraphSet, split: Split, model: ModelConfig, train: TrainConfig, kind: str | None = None) -> Task:
    """The task of a run, if a network of this kind can be trained on these graphs in this way.

    Args:
        graphs: The graphs.
        split: Which of them train, validate and test.
        model: What the network is made of.
        train: How it is trained.
        kind: The kind of task; by default the kind that the targets look like.

    Raises:
        ValueError: The message names what is missing, and what to do.
    """
    name = graphs.name or "the set"
    if graphs.y is None:
        raise ValueError(f"{name} has no targets to learn")
    model.check(graphs)
    kind = kind or kind_of(graphs.y)
    names = graphs.classes or graphs.targets
    Task(kind=kind, names=names, metric=train.metric, loss=train.loss or "")  # checks that metric and loss fit
    if kind == "classes":
        _check_classes(name, graphs.y, graphs.classes)
    else:
        _check_numbers(name, graphs.y)
    if not (len(split.train) and len(split.valid)):
        raise ValueError(
            f"there are {len(split.train):,} training graphs and {len(split.valid):,} validation graphs, but a "
            "training needs both: add graphs (a split of 8:1:1 needs about ten)"
        )
    task = task_of(graphs[split.train], train, kind)
    check_selection(graphs.y[split.valid], train, task)
    check_class_weight(train, task)
    if train.threshold is not None and not _has_thresholds(task):
        outputs = f"{len(task.names)} classes" if kind == "classes" else kind
        given = Option("threshold", train.threshold)
        wrong = "{given} is for two classes or for labels, but there are {outputs}"
        raise ValueError(Message(wrong, given=given, outputs=outputs))
    return task


def _has_thresholds(task: Task) -> bool:
    """Whether a threshold decides: of two classes, or of labels."""
    return task.kind == "labels" or (task.kind == "classes" and len(task.names) == 2)


def settings_for_skew(graphs: GraphSet, task: Task) -> dict[str, str]:
    """The settings of a training that fit targets of which nearly all are the same, by their names; mostly none.

    All graphs count, whatever their part: so the folds of a cross-validation have the same metric.

    Args:
        graphs: The graphs, of the user's own.
        task: What is learned.

    Returns:
        Where one of two classes has 80 % of the graphs or more, ROC-AUC and a threshold that the validation graphs
        choose; where one of several classes has, the balanced accuracy; where one answer of a label has, thresholds.
    """
    if graphs.y is None or not len(graphs) or _largest_share(graphs.y, task) < SKEWED:
        return {}
    if task.kind == "labels":
        return {"threshold": "validation"}
    return (
        {"metric": "roc_auc", "threshold": "validation"} if _has_thresholds(task) else {"metric": "balanced_accuracy"}
    )


def skew_note(graphs: GraphSet, task: Task, chosen: Mapping[str, str]) -> str:
    """What :func:`settings_for_skew` found and what follows from it, for the user.

    Args:
        graphs: The graphs.
        task: What is learned.
        chosen: The settings that are used, of those that it returned.
    """
    assert graphs.y is not None
    share = round(100 * _largest_share(graphs.y, task))
    if task.kind == "labels":
        subject, thresholds = "for a label, one answer has", "the threshold of each label"
    else:
        largest = task.names[int(np.bincount(graphs.y).argmax())]
        subject, thresholds = f"the class {largest!r} has", f"the threshold of {task.names[1]!r}"
    metric = chosen.get("metric")
    skew = f"{subject} {share} % of the graphs, so "
    of_metric, of_threshold = "", ""
    if metric:
        keep = [advise("metric", DEFAULT_METRIC, "keeps accuracy")]
        of_metric = Message("the score is the {label}", label=METRICS[metric].label, advice=keep)
    if "threshold" in chosen:
        likely = [advise("threshold", "likely", "predicts what is most probable")]
        of_threshold = Message("the validation graphs choose {thresholds}", thresholds=thresholds, advice=likely)
    joint = ", and " if metric and of_threshold else ""
    return Message("{skew}{one}{joint}{other}", skew=skew, one=of_metric, joint=joint, other=of_threshold)


def _largest_share(y: NDArray, task: Task) -> float:
    """The share of the largest class, or the largest share of an answer among the known ones of a label."""
    if task.kind == "classes":
        return float(np.bincount(y).max() / len(y))
    if task.kind == "values":
        return 0.0
    columns = y.reshape(len(y), -1)
    counts = np.maximum((~np.isnan(columns)).sum(0), 1)
    return float(np.maximum((columns == 0).sum(0) / counts, (columns == 1).sum(0) / counts).max(initial=0))


def data_warnings(graphs: GraphSet, spec: RunSpec) -> tuple[str, ...]:
    """What is doubtful of the targets of a run; nothing for datasets of the catalogue, whose targets are known."""
    if spec.dataset in CATALOG:
        return ()
    return target_warnings(graphs, chosen=spec.task is not None, train=spec.train)


def task_of(graphs: GraphSet, train: TrainConfig, kind: str | None = None) -> Task:
    """The task of learning the targets of these training graphs.

    Raises:
        ValueError: There are no targets, or they cannot be learned in this way.
    """
    if graphs.y is None:
        raise ValueError("the graphs have no targets to learn")
    if not len(graphs):
        raise ValueError("there are 0 training graphs: a training needs some")
    return Task.fitted(graphs.y, graphs.classes or graphs.targets, kind, loss=train.loss, metric=train.metric)


def check_selection(valid: NDArray | None, train: TrainConfig, task: Task) -> None:
    """Raise unless the validation graphs can select the epoch.

    Args:
        valid: Targets of the validation graphs.
        train: The protocol.
        task: What is learned.
    """
    if valid is None:
        raise ValueError("the validation graphs have no targets")
    if not len(valid):
        raise ValueError("there are 0 validation graphs: a training needs some")
    if train.select == "score" and math.isnan(task.score(torch.zeros(len(valid), task.out_channels), valid)):
        same = "one class" if task.kind == "classes" else "one value"
        reason = f"all {len(valid):,} validation graphs have {same}, so they have no {task.scoring.label}"
        choose = "{reason} to select the epoch by: select by their loss ({select}), or draw another split by {seed}"
        raise ValueError(Message(choose, reason=reason, select=Option("select", "loss"), seed=Option("seed")))


def class_notes(graphs: GraphSet) -> tuple[str, ...]:
    """Notes for the user before training: which classes have a single graph."""
    if graphs.y is None or not graphs.classes:
        return ()
    numbers, counts = np.unique(graphs.y, return_counts=True)
    alone = [repr(graphs.classes[number]) for number in numbers[counts == 1]]
    if not alone:
        return ()
    named = ", ".join([*alone[:CLASSES_NAMED], *(["..."] if len(alone) > CLASSES_NAMED else [])])
    have = "has" if len(alone) == 1 else "have"
    return (
        f"{len(alone):,} of {len(numbers):,} classes {have} one graph only ({named}): "
        "the model cannot be both trained and tested on such a class",
    )


def target_warnings(graphs: GraphSet, chosen: bool = False, train: TrainConfig | None = None) -> tuple[str, ...]:
    """Warnings for the user before training: classes that may be meant as values, few graphs a class, imbalance.

    Args:
        graphs: The graphs.
        chosen: Whether the user chose the kind of task.
        train: How a network is trained: what it does already is not advised.
    """
    if graphs.y is None or not graphs.classes:
        return ()
    warnings: list[str] = []
    counts = np.bincount(graphs.y, minlength=len(graphs.classes))
    counts = counts[counts > 0]
    if not chosen and len(counts) >= MANY_INTEGERS and all(map(_is_whole_number, graphs.classes)):
        observation = f"the targets are {len(counts):,} different whole numbers, which are learned as classes"
        advice = [
            advise("task", "values", "learns them as numbers"),
            advise("task", "classes", "hides this warning"),
        ]
        warnings.append(Message("{observation}", observation=observation, advice=advice))
    if len(counts) * FEW_GRAPHS > len(graphs):
        warnings.append(
            f"there are {len(counts):,} classes for {len(graphs):,} graphs, so that the scores are very uncertain: "
            "check the targets"
        )
    if counts.max() >= IMBALANCE * counts.min():
        warnings.append(_imbalance(graphs, counts, train or TrainConfig()))
    return tuple(warnings)


def _imbalance(graphs: GraphSet, counts: NDArray[np.int64], train: TrainConfig) -> str:
    """How unequal the classes are, and what the training does not do about it yet."""
    assert graphs.y is not None
    largest = graphs.classes[int(np.bincount(graphs.y).argmax())]
    advice = []
    if train.class_weight is None:
        advice.append(advise("class_weight", "balanced", "gives small classes more weight"))
    if train.metric == DEFAULT_METRIC:
        advice.append(advise("metric", "balanced_accuracy", "scores all classes alike"))
    shares = f"{counts.max() / len(graphs):.0%} of the graphs have the class {largest!r}, and the smallest class has "
    return Message("{shares}{count:,}", shares=shares, count=int(counts.min()), advice=advice)


def _is_whole_number(name: str) -> bool:
    return name.removeprefix("-").isdecimal()


def _check_classes(name: str, y: NDArray, classes: tuple[str, ...]) -> None:
    present = np.unique(y)
    if len(present) == 1:
        raise ValueError(
            f"all {len(y):,} graphs of {name} have the class {classes[int(present[0])]!r}: there is nothing to learn; "
            "check the targets"
        )
    if len(present) == len(y) > 0:
        raise ValueError(
            f"{name} has {len(y):,} graphs and {len(present):,} classes: expected several graphs of each class; "
            "check the targets"
        )


def _check_numbers(name: str, y: NDArray) -> None:
    present = np.unique(y[~np.isnan(y)])
    if len(present) == 1:
        raise ValueError(
            f"all targets of {name} are {present[0]:g} in single precision, which has about 7 digits: there is nothing "
            "to learn; check the targets"
        )
    for column in y.reshape(len(y), -1).T:
        values = column[~np.isnan(column)]
        size = float(np.abs(values).max(initial=0))
        step = size * float(np.finfo(np.float32).eps)
        if len(values) and 0 < values.std(dtype=np.float64) < COARSE * step:
            middle = values.mean(dtype=np.float64)
            raise ValueError(
                f"some targets of {name} are about {size:g} and differ by so little that single precision, which has "
                f"about 7 digits, rounds the differences away: subtract their mean, about {middle:g}, from them"
            )


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
        given = Option("class_weight", config.class_weight)
        wrong = "{given} needs classes or labels, but the task is {kind}"
        raise ValueError(Message(wrong, given=given, kind=task.kind))


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
