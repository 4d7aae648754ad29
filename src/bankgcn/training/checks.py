"""What a training needs, checked before it starts: nothing is written for a run that cannot succeed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.graphs import GraphSet
from bankgcn.data.splits import Split
from bankgcn.training.config import TrainConfig
from bankgcn.training.model import ModelConfig

CLASSES_NAMED = 3  # in a note


def check_run(graphs: GraphSet, split: Split, model: ModelConfig, train: TrainConfig) -> None:
    """Raise unless a network of this kind can be trained on these graphs in this way.

    Raises:
        ValueError: The message names what is missing, and what to do.
    """
    name = graphs.name or "the set"
    if graphs.y is None or not graphs.classes:
        raise ValueError(f"{name} has no classes to learn")
    if train.metric == "roc_auc" and graphs.num_classes > 2:
        raise ValueError(f"the metric roc_auc is for two classes, but {name} has {graphs.num_classes}")
    _check_classes(name, graphs.y, graphs.classes)
    check_parts(graphs.y[split.train], graphs.y[split.valid], train)
    model.check(graphs)


def check_parts(train: NDArray | None, valid: NDArray | None, config: TrainConfig) -> None:
    """Raise unless a training can learn from one part and select its epoch by the other.

    Args:
        train: Classes of the training graphs.
        valid: Classes of the validation graphs.
        config: The protocol.
    """
    if train is None or valid is None:
        raise ValueError("the graphs have no classes to learn")
    if not (len(train) and len(valid)):
        raise ValueError(
            f"there are {len(train):,} training graphs and {len(valid):,} validation graphs, but a training needs "
            "both: add graphs (a split of 8:1:1 needs about ten)"
        )
    if config.select == "score" and config.metric == "roc_auc" and len(np.unique(valid)) < 2:
        raise ValueError(
            f"all {len(valid):,} validation graphs have one class, so they have no ROC-AUC to select the epoch by: "
            'select by their loss (select="loss"), or draw another split (another seed)'
        )


def class_notes(graphs: GraphSet) -> tuple[str, ...]:
    """What a user must know of the classes before training: which of them have a single graph."""
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


def _check_classes(name: str, y: NDArray, classes: tuple[str, ...]) -> None:
    present = np.unique(y)
    if len(present) == 1:
        raise ValueError(
            f"all {len(y):,} graphs of {name} have the class {classes[present[0]]!r}: there is nothing to learn; "
            "check the targets"
        )
    if len(present) == len(y) > 0:
        raise ValueError(
            f"{name} has {len(y):,} graphs and {len(present):,} classes: expected several graphs of each class; "
            "check the targets"
        )
