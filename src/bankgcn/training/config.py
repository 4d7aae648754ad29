"""How a network is trained: frozen values, with the paper's as defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bankgcn.metrics import METRICS
from bankgcn.nn.names import REDUCTION_NAMES
from bankgcn.settings import check_settings, setting
from bankgcn.tasks import DEFAULT_METRIC, LOSSES

PANEL = "Training"


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
        metric: How predictions are scored: a name in :data:`bankgcn.metrics.METRICS`. The default stands for the first
            metric of the task, whatever the task is.
        loss: What is minimised, see :data:`bankgcn.tasks.TASKS`; by default the first loss of the task.
        class_weight: ``"balanced"`` weighs the loss of each graph so that all classes count equally, or both answers
            of each label; see :class:`bankgcn.training.checks.LossWeights`. By default all graphs count equally.
        threshold: ``"validation"`` chooses the probability from which on the second one of two classes, or a label, is
            decided, by the validation graphs; see :func:`bankgcn.training.assessment.fit_thresholds`. By default what
            is most probable is decided.
        decay_patience: Epochs without improvement of the validation loss after which the learning rate falls;
            ``None`` keeps it.
        decay_factor: What it is multiplied by then.
        min_learning_rate: Where it stops falling.
    """

    max_epochs: int = setting(500, "Most passes over the training graphs.", panel=PANEL, name="epochs", at_least=1)
    patience: int = setting(30, "Epochs without improvement after which training stops.", panel=PANEL, at_least=1)
    batch_size: int = setting(64, "Graphs in a step (of each process).", panel=PANEL, at_least=1)
    learning_rate: float = setting(1e-3, "Step size of Adam.", panel=PANEL, above=0)
    weight_decay: float = setting(0.0, "L2 penalty.", panel=PANEL, at_least=0)
    gamma: float = setting(0.1, "Weight of the filters' diversity, Omega (bank).", panel=PANEL, at_least=0)
    coherence: Literal["sum", "mean"] = setting(
        "sum", "How Omega of the layers is combined (bank):", panel=PANEL, choices=REDUCTION_NAMES, advanced=True
    )
    select: Literal["loss", "score"] = setting(
        "loss", "Validation figure that selects the epoch:", panel=PANEL, choices=("loss", "score"), advanced=True
    )
    metric: str = setting(
        DEFAULT_METRIC, "The score; the default stands for the first that fits the task:", panel=PANEL, choices=METRICS
    )
    loss: str | None = setting(
        None, "The loss; by default the first that fits the task:", panel=PANEL, choices=LOSSES, none="", advanced=True
    )
    class_weight: Literal["balanced"] | None = setting(
        None,
        "Weights of the classes in the loss; balanced: all classes, or both answers of a label, count equally:",
        panel=PANEL,
        none="none",
        choices=("balanced",),
    )
    threshold: Literal["validation"] | None = setting(
        None,
        "How a class of two, or a label, is decided; likely: what is most probable; validation: by a threshold that "
        "the validation graphs choose, as for your own data if one class has 80 %:",
        panel=PANEL,
        none="likely",
        choices=("validation",),
    )
    decay_patience: int | None = setting(
        None,
        "Epochs without improvement after which the step size falls; 0: never.",
        panel=PANEL,
        none=0,
        at_least=0,
        advanced=True,
    )
    decay_factor: float = setting(0.1, "Factor by which it falls.", panel=PANEL, at_least=0, below=1, advanced=True)
    min_learning_rate: float = setting(1e-5, "Where it stops falling.", panel=PANEL, at_least=0, advanced=True)

    def __post_init__(self) -> None:
        check_settings(self)
