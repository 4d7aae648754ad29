"""What a training needs, checked before it starts: nothing is written for a run that cannot succeed."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from bankgcn.data.graphs import GraphSet
from bankgcn.data.splits import Split
from bankgcn.tasks import Task, kind_of
from bankgcn.training.config import TrainConfig
from bankgcn.training.model import ModelConfig
from bankgcn.training.weights import LossWeights

CLASSES_NAMED = 3  # in a note
MANY_INTEGERS = 6  # so many different whole numbers may be values
FEW_GRAPHS = 4  # fewer graphs than this for each class can hardly be split into three parts
COARSE = 100  # a standard deviation of fewer steps of single precision than this loses too much by rounding
IMBALANCE = 10  # how many times the graphs of the smallest class the largest has


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
    LossWeights(train, task, graphs.y[split.train])  # checks that class_weight fits
    return task


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
        raise ValueError(
            f"all {len(valid):,} validation graphs have {same}, so they have no {task.scoring.label} to select the "
            'epoch by: select by their loss (select="loss"), or draw another split (another seed)'
        )


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


def target_warnings(graphs: GraphSet, chosen: bool = False) -> tuple[str, ...]:
    """Warnings for the user before training: classes that may be meant as values, few graphs a class, imbalance.

    Args:
        graphs: The graphs.
        chosen: Whether the user chose the kind of task.
    """
    if graphs.y is None or not graphs.classes:
        return ()
    warnings = []
    counts = np.bincount(graphs.y, minlength=len(graphs.classes))
    counts = counts[counts > 0]
    if not chosen and len(counts) >= MANY_INTEGERS and all(map(_is_whole_number, graphs.classes)):
        warnings.append(
            f"the targets are {len(counts):,} different whole numbers, which are learned as classes "
            "(--task values learns them as numbers, --task classes hides this warning)"
        )
    if len(counts) * FEW_GRAPHS > len(graphs):
        warnings.append(
            f"there are {len(counts):,} classes for {len(graphs):,} graphs, so that the scores are very uncertain: "
            "check the targets"
        )
    if counts.max() >= IMBALANCE * counts.min():
        largest = graphs.classes[int(np.bincount(graphs.y).argmax())]
        warnings.append(
            f"{counts.max() / len(graphs):.0%} of the graphs have the class {largest!r}, and the smallest class has "
            f"{counts.min():,}: --class-weight balanced gives small classes more weight, and "
            "--metric balanced_accuracy scores all classes alike"
        )
    return tuple(warnings)


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
        known = column[~np.isnan(column)]
        size = float(np.abs(known).max(initial=0))
        step = size * float(np.finfo(np.float32).eps)
        if len(known) and 0 < known.std(dtype=np.float64) < COARSE * step:
            middle = known.mean(dtype=np.float64)
            raise ValueError(
                f"some targets of {name} are about {size:g} and differ by so little that single precision, which has "
                f"about 7 digits, rounds the differences away: subtract their mean, about {middle:g}, from them"
            )
