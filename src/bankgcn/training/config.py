"""How a network is trained: frozen values, with the paper's as defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bankgcn.choices import pick
from bankgcn.training.metrics import METRICS


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
        for name in ("batch_size", "max_epochs", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: expected at least 1")
        for name in ("weight_decay", "gamma", "min_learning_rate"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}={getattr(self, name)}: expected a number that is not negative")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate={self.learning_rate}: expected a positive number")
        for name, options in (("coherence", ("sum", "mean")), ("select", ("loss", "score"))):
            if getattr(self, name) not in options:
                raise ValueError(f"{name}={getattr(self, name)!r}: expected one of {', '.join(options)}")
        pick(METRICS, self.metric, "metric")


def plain_value(value: Any) -> Any:
    """A number or an array of NumPy's as Python's own, which JSON can hold; anything else as it is."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


LARGE = {"batch_size": 256, "patience": 50, "decay_patience": 20}
"""What the paper sets otherwise for CIFAR-10 and ogbg-molhiv."""
