"""How a network is trained: frozen values, with the paper's as defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bankgcn.choices import pick
from bankgcn.training.metrics import METRICS
from bankgcn.training.ranges import NOT_NEGATIVE, POSITIVE_COUNT, Range, check_ranges

RANGES = {
    "learning_rate": Range(above=0),
    "weight_decay": NOT_NEGATIVE,
    "gamma": NOT_NEGATIVE,
    "batch_size": POSITIVE_COUNT,
    "max_epochs": POSITIVE_COUNT,
    "patience": POSITIVE_COUNT,
    "decay_patience": Range(at_least=0, whole=True, optional=True),
    "decay_factor": Range(at_least=0, below=1),
    "min_learning_rate": NOT_NEGATIVE,
}
"""Which numbers the settings of a training may have."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    r"""The training protocol. The defaults are the paper's for the TU datasets.

    Args:
        learning_rate: Step size of Adam.
        weight_decay: L2 penalty that Adam adds to the gradient.
        gamma: Weight :math:`\gamma` of the diversity term in the objective (Eq. 20).
        coherence: Whether :math:`\Omega` is summed over the layers, or averaged.
        batch_size: Graphs per step.
        max_epochs: Most passes over the training graphs.
        patience: Epochs without improvement after which training stops.
        select: Which validation figure tells improvement, and picks the epoch that is kept: the task ``"loss"``, or the
            ``"score"`` of the metric.
        metric: ``"accuracy"``, or ``"roc_auc"`` for two classes.
        decay_patience: Epochs without improvement of the validation loss after which the learning rate falls;
            ``None`` keeps it.
        decay_factor: What it is multiplied by then.
        min_learning_rate: Where it stops falling.
    """

    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    gamma: float = 0.1
    coherence: Literal["sum", "mean"] = "sum"
    batch_size: int = 64
    max_epochs: int = 500
    patience: int = 30
    select: Literal["loss", "score"] = "loss"
    metric: Literal["accuracy", "roc_auc"] = "accuracy"
    decay_patience: int | None = None
    decay_factor: float = 0.1
    min_learning_rate: float = 1e-5

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, plain_value(value))
        check_ranges(RANGES, vars(self))
        for name, options in (("coherence", ("sum", "mean")), ("select", ("loss", "score"))):
            if getattr(self, name) not in options:
                raise ValueError(f"{name}={getattr(self, name)!r}: expected one of {', '.join(options)}")
        pick(METRICS, self.metric, "metric")


def plain_value(value: Any) -> Any:
    """A number or an array of NumPy's as Python's own, which JSON can hold; anything else as it is."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


LARGE = {"batch_size": 256, "patience": 50, "decay_patience": 20}
"""What the paper sets otherwise for CIFAR-10 and ogbg-molhiv."""
