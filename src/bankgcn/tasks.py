"""What a network learns to predict: a class, real values, or several yes/no labels. Each kind is a row of ``TASKS``.

A :class:`Task` is a value: it knows the width of the output, the loss, the metrics, and how outputs become predictions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bankgcn.messages import Message, Option, advise
from bankgcn.metrics import METRICS, Metric
from bankgcn.settings import pick

if TYPE_CHECKING:  # the names of tasks, losses and metrics need no PyTorch and no NumPy
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

Loss = Callable[["Tensor", "Tensor", "Tensor | None"], "Tensor"]
"""From outputs, targets and weights to a mean.

The weights are those of graphs, shape ``(G,)``, or those of single targets, ``(G, T)``; ``None`` weighs all equally.
"""

DEFAULT_METRIC = "accuracy"
"""The default of every configuration. For values and labels, it stands for the first metric of the task."""

LIKELY = 0.5
"""The threshold of a probability where none is chosen: what is more likely than not is decided."""


def cross_entropy(outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """Mean cross-entropy of classes."""
    import torch.nn.functional as F

    if weights is None:
        return F.cross_entropy(outputs, targets)
    return _weighted_mean(F.cross_entropy(outputs, targets, reduction="none"), weights)


def squared_error(outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """Mean squared error over the known entries."""
    return _mean_of_known((outputs - targets.nan_to_num()).square(), targets, weights)


def absolute_error(outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """Mean absolute error over the known entries."""
    return _mean_of_known((outputs - targets.nan_to_num()).abs(), targets, weights)


def binary_cross_entropy(outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """Mean cross-entropy of yes/no labels over the known entries."""
    import torch.nn.functional as F

    losses = F.binary_cross_entropy_with_logits(outputs, targets.nan_to_num(), reduction="none")
    return _mean_of_known(losses, targets, weights)


def _mean_of_known(losses: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor:
    import torch

    is_known = ~targets.isnan()
    if weights is None:
        return torch.where(is_known, losses, 0).sum() / is_known.sum().clamp(min=1)
    of_targets = weights if weights.dim() == 2 else weights[:, None]
    return _weighted_mean(torch.where(is_known, losses, 0), is_known * of_targets)


def _weighted_mean(losses: Tensor, weights: Tensor) -> Tensor:
    r"""The mean :math:`\sum w \ell / \sum w`; 0 if all weights are 0."""
    import torch

    total = weights.sum()
    return (losses * weights).sum() / torch.where(total > 0, total, 1)


@dataclass(frozen=True)
class TaskKind:
    """A kind of task.

    Args:
        summary: What is predicted, in a few words.
        losses: The losses to choose from, by name; the first is the default.
        metrics: Names of the metrics to choose from; the first is the default.
        decode: From outputs of the network to predictions: probabilities, or values in standard units.
        encode: From mean predictions back to outputs, as metrics take them.
    """

    summary: str
    losses: Mapping[str, Loss]
    metrics: tuple[str, ...]
    decode: Callable[[Tensor], Tensor]
    encode: Callable[[Tensor], Tensor]


TASKS: dict[str, TaskKind] = {
    "classes": TaskKind(
        "one class of several",
        {"cross_entropy": cross_entropy},
        ("accuracy", "roc_auc", "average_precision", "macro_f1", "balanced_accuracy", "mcc"),
        decode=lambda outputs: outputs.softmax(1),
        encode=lambda probabilities: probabilities.log(),
    ),
    "values": TaskKind(
        "one or several real values",
        {"squared_error": squared_error, "absolute_error": absolute_error},
        ("mae", "rmse", "r2"),
        decode=lambda outputs: outputs,
        encode=lambda values: values,
    ),
    "labels": TaskKind(
        "several yes/no labels",
        {"binary_cross_entropy": binary_cross_entropy},
        ("mean_roc_auc", "average_precision", "mcc"),
        decode=lambda outputs: outputs.sigmoid(),
        encode=lambda probabilities: probabilities.logit(),
    ),
}


LOSSES: dict[str, Loss] = {name: loss for row in TASKS.values() for name, loss in row.losses.items()}


def metric_for(kind: str, metric: str) -> str:
    """The given metric of a task; if it is the default and does not fit the kind, the first metric of the kind."""
    metrics = pick(TASKS, kind, "task").metrics
    return metrics[0] if metric == DEFAULT_METRIC and metric not in metrics else metric


@dataclass(frozen=True, kw_only=True)
class Task:
    """What one network learns, as JSON can hold it.

    Args:
        kind: A name in ``TASKS``.
        names: Names of the classes, or of the columns of values or labels: one for each output.
        loss: What training minimises; the first of the kind by default.
        metric: How predictions are scored; the first of the kind by default.
        center: Mean of each value over the training graphs; the network learns values in standard units.
        scale: Standard deviation of each value over the training graphs.
        thresholds: From which probability on the second one of two classes, or each label, is decided; nothing if the
            most probable class, or each label that is more likely than not, is. A run with ``threshold="validation"``
            chooses them after its training; see :func:`bankgcn.training.assessment.fit_thresholds`.
    """

    kind: str = "classes"
    names: tuple[str, ...]
    loss: str = ""
    metric: str = ""
    center: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    thresholds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        row = pick(TASKS, self.kind, "task")
        for name in ("names", "center", "scale", "thresholds"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "loss", self.loss or next(iter(row.losses)))
        object.__setattr__(self, "metric", metric_for(self.kind, self.metric or DEFAULT_METRIC))
        pick(row.losses, self.loss, f"loss for {self.kind}")
        pick(dict.fromkeys(row.metrics), self.metric, f"metric for {self.kind}")
        if self.metric not in self.metrics:
            given, count = Option("metric", self.metric), len(self.names)
            raise ValueError(Message("{given} is for two classes, but there are {count}", given=given, count=count))
        self._check_thresholds()

    def _check_thresholds(self) -> None:
        expected = {"labels": len(self.names), "classes": int(len(self.names) == 2)}.get(self.kind, 0)
        if self.thresholds and len(self.thresholds) != expected:
            raise ValueError(f"there are {len(self.thresholds)} thresholds, expected {expected} for {self.kind}")
        for value in self.thresholds:
            if not (isinstance(value, int | float) and 0 < value < 1):
                raise ValueError(f"a threshold is {value!r}, expected a number between 0 and 1")

    @classmethod
    def fitted(
        cls, y: NDArray, names: tuple[str, ...], kind: str | None = None, *, loss: str | None = None, metric: str = ""
    ) -> Task:
        """The task of predicting these targets.

        Args:
            y: Targets of the training graphs: integers for classes, else numbers, shape ``(G,)`` or ``(G, T)``.
            names: Names of the classes, or of the columns; columns without names are numbered.
            kind: The kind of task; by default the kind that the targets look like, see :func:`kind_of`.
            loss: A loss of that kind.
            metric: A metric of that kind.

        Raises:
            ValueError: The targets cannot be learned in that way.
        """
        kind = kind or kind_of(y)
        if (kind == "classes") != (y.dtype.kind in "iu"):
            given, needed = ("classes", "numbers") if y.dtype.kind in "iu" else ("numbers", "classes")
            wrong = "{task} needs {needed} as targets, but these are {given}"
            raise ValueError(Message(wrong, task=Option("task", kind), needed=needed, given=given))
        if kind == "classes":
            return cls(kind=kind, names=names, loss=loss or "", metric=metric)
        columns = y.reshape(len(y), -1).astype(float)
        names = names or tuple(f"y{column}" if columns.shape[1] > 1 else "y" for column in range(columns.shape[1]))
        _check_known(columns, names)
        if kind == "labels":
            _check_answers(columns, names)
            return cls(kind=kind, names=names, loss=loss or "", metric=metric)
        import numpy as np

        center, spread = np.nanmean(columns, axis=0), np.nanstd(columns, axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        return cls(kind=kind, names=names, loss=loss or "", metric=metric, center=tuple(center), scale=tuple(scale))

    @property
    def out_channels(self) -> int:
        """Width of the network's output."""
        return len(self.names)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that fit the task."""
        several = self.kind == "classes" and len(self.names) != 2
        return tuple(name for name in TASKS[self.kind].metrics if not (several and METRICS[name].two_classes))

    @property
    def scoring(self) -> Metric:
        """The metric."""
        return METRICS[self.metric]

    def targets(self, y: NDArray | Tensor) -> Tensor:
        """What the loss compares outputs with: class numbers ``(G,)``, or numbers ``(G, T)``, values in standard units.

        Numbers keep their precision; integers get the default one.
        """
        import torch

        tensor = torch.as_tensor(y)
        if self.kind == "classes":
            return tensor
        dtype = tensor.dtype if tensor.is_floating_point() else torch.get_default_dtype()
        columns = tensor.reshape(len(tensor), self.out_channels).double()
        if self.kind == "values":
            columns = (columns - columns.new_tensor(self.center)) / columns.new_tensor(self.scale)
        return columns.to(dtype)

    def task_loss(self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
        r"""The mean loss :math:`T_\Theta(\mathcal G, Y)` of outputs, given what :meth:`targets` returned.

        With a weight of each graph, :math:`\sum w \ell / \sum w` over the known entries.
        """
        return TASKS[self.kind].losses[self.loss](outputs, targets, weights)

    def predictions(self, outputs: Tensor) -> Tensor:
        """Probabilities of classes or labels, or values in the user's units; in double precision."""
        import torch

        decoded = TASKS[self.kind].decode(outputs.double())
        if self.kind != "values":
            return decoded
        return decoded * torch.tensor(self.scale, dtype=torch.float64) + torch.tensor(self.center, dtype=torch.float64)

    def score(self, outputs: Tensor, y: NDArray | Tensor, metric: str | None = None) -> float:
        """The metric, or another one of this kind of task, of outputs of the network; NaN if one is not finite."""
        import torch

        if not outputs.isfinite().all():
            return math.nan
        in_units = self.predictions(outputs) if self.kind == "values" else outputs
        return METRICS[metric or self.metric].score(in_units, torch.as_tensor(y))

    def score_predictions(self, predictions: Tensor, y: NDArray | Tensor, metric: str | None = None) -> float:
        """The same of predictions, such as the mean of several networks'; classes and labels by their thresholds."""
        import torch

        if not predictions.isfinite().all():
            return math.nan
        row = METRICS[metric or self.metric]
        if row.decides and self.thresholds:
            outputs = self._decided_outputs(predictions)
        else:
            outputs = TASKS[self.kind].encode(predictions)
        return row.score(outputs, torch.as_tensor(y))

    def decide(self, probabilities: Tensor) -> Tensor:
        """What is decided by probabilities: the number of each graph's class, ``(G,)``, or 0 or 1 for each label.

        Example:
            >>> import torch
            >>> rare = torch.tensor([[0.8, 0.2], [0.95, 0.05]])
            >>> Task(names=("no", "yes")).decide(rare), Task(names=("no", "yes"), thresholds=(0.1,)).decide(rare)
            (tensor([0, 0]), tensor([1, 0]))
        """
        if self.kind == "labels":
            return (probabilities >= probabilities.new_tensor(self.thresholds or (LIKELY,))).long()
        if self.thresholds:
            return (probabilities[:, 1] >= self.thresholds[0]).long()
        return probabilities.argmax(1)

    def _decided_outputs(self, probabilities: Tensor) -> Tensor:
        """Outputs whose largest class, or whose sign, is what is decided."""
        import torch

        decided = self.decide(probabilities)
        if self.kind == "labels":
            return 2.0 * decided - 1
        return torch.nn.functional.one_hot(decided, len(self.names)).double()

    def to_dict(self) -> dict[str, Any]:
        """The task as JSON holds it. Without thresholds, it is what versions wrote that had none."""
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return plain if self.thresholds else {name: value for name, value in plain.items() if name != "thresholds"}


def kind_of(y: NDArray) -> str:
    """The kind of task that targets look like: integers are classes, columns of 0 and 1 are labels, others values."""
    if y.dtype.kind in "iu":
        return "classes"
    import numpy as np

    values = y[~np.isnan(y)]
    return "labels" if y.ndim == 2 and y.shape[1] > 1 and bool(np.isin(values, (0, 1)).all()) else "values"


def _check_known(columns: NDArray[np.float64], names: tuple[str, ...]) -> None:
    if columns.shape[1] != len(names):
        raise ValueError(f"there are {columns.shape[1]} targets, but {len(names)} names: {', '.join(names)}")
    for column, name in zip(columns.T, names, strict=True):
        if (column != column).all():  # NaN is not equal to itself
            raise ValueError(f"target {name!r} is unknown for every training graph")


def _check_answers(columns: NDArray[np.float64], names: tuple[str, ...]) -> None:
    for column, name in zip(columns.T, names, strict=True):
        for value in column[(column == column) & (column != 0) & (column != 1)][:1]:
            advice = [advise("task", "values", "learns numbers")]
            raise ValueError(
                Message("label {name!r} is {value:g}, expected 0 or 1", name=name, value=value, advice=advice)
            )
