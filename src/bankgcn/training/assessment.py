"""How good predictions are: a score with its interval, beside that of a prediction that does not look at the graphs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.metrics import METRICS, confusion_matrix
from bankgcn.tasks import TASKS, Task

RESAMPLES = 1000
COVERAGE = 0.95
CONFUSIONS = 3  # other classes that are listed for each class


@dataclass(frozen=True)
class ClassAssessment:
    """How the graphs of one class are predicted.

    Args:
        name: The class.
        graphs: Number of its graphs.
        recall: Fraction of them that are predicted as this class; ``None`` without graphs.
        mistaken_for: The classes that most of the others are predicted as, with their numbers.
    """

    name: str
    graphs: int
    recall: float | None
    mistaken_for: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """How good predictions for graphs with known targets are. A score that is NaN is ``None``.

    Args:
        metric: The metric of the task.
        graphs: Number of the graphs.
        scores: The score of every metric that fits the task.
        interval: Bounds between which the score lies in 95 % of 1000 bootstrap samples of the graphs.
        baseline: The constant prediction to compare with, in words: the largest class of the training graphs, or the
            mean of their targets.
        baseline_score: Its score.
        classes: The recall of each class.
    """

    metric: str
    graphs: int
    scores: Mapping[str, float | None]
    interval: tuple[float, float] | None
    baseline: str
    baseline_score: float | None
    classes: tuple[ClassAssessment, ...] = ()

    @property
    def score(self) -> float | None:
        """The score of the metric of the task."""
        return self.scores[self.metric]

    @property
    def beats_baseline(self) -> bool:
        """Whether the score is better than that of the constant prediction; true if one of them is unknown."""
        if self.score is None or self.baseline_score is None:
            return True
        return METRICS[self.metric].improves(self.score, self.baseline_score)

    def to_dict(self) -> dict[str, Any]:
        """The assessment as JSON holds it."""
        plain = asdict(self)
        return {**plain, "interval": list(self.interval) if self.interval else None, "classes": list(plain["classes"])}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Assessment:
        """The assessment that :meth:`to_dict` wrote."""
        classes = tuple(ClassAssessment(**row) for row in values["classes"])
        interval = tuple(values["interval"]) if values["interval"] else None
        return cls(**{**values, "classes": classes, "interval": interval})


def constant_prediction(task: Task, y: NDArray) -> tuple[float, ...]:
    """The best prediction that does not look at the graph, given targets of training graphs.

    Returns:
        The share of each class, the mean of each value, or the share of each label.
    """
    if task.kind == "classes":
        counts = np.bincount(y, minlength=len(task.names))
        return tuple((counts / max(len(y), 1)).tolist())
    columns = y.reshape(len(y), -1).astype(np.float64)
    return tuple(np.nanmean(columns, axis=0).tolist())


def assess(task: Task, predictions: Tensor, y: NDArray, constant: tuple[float, ...] | None = None) -> Assessment:
    """Assess predictions for graphs whose targets are known.

    Args:
        task: What was learned.
        predictions: What :meth:`Task.predictions` returns, shape ``(num_graphs, out_channels)``.
        y: Targets, in the order of the outputs.
        constant: :func:`constant_prediction` of the training graphs; by default that of these graphs.

    Raises:
        ValueError: There are no graphs.
    """
    if not len(y):
        raise ValueError("there are 0 graphs with known targets: an assessment needs some")
    constant = constant or constant_prediction(task, y)
    names = [name for name in TASKS[task.kind].metrics if name != "roc_auc" or len(task.names) == 2]
    same = torch.tensor(constant, dtype=predictions.dtype).expand(len(y), -1)
    return Assessment(
        metric=task.metric,
        graphs=len(y),
        scores={name: _finite(task.score_predictions(predictions, y, name)) for name in names},
        interval=_interval(task, predictions, y),
        baseline=_baseline(task, constant),
        baseline_score=_finite(task.score_predictions(same, y)),
        classes=_classes(task, predictions, y) if task.kind == "classes" else (),
    )


def _baseline(task: Task, constant: tuple[float, ...]) -> str:
    if task.kind == "classes":
        return f"always {task.names[int(np.argmax(constant))]!r}"
    if task.kind == "labels":
        return "the share of each label"
    return "the mean of the training graphs"


def _classes(task: Task, predictions: Tensor, y: NDArray) -> tuple[ClassAssessment, ...]:
    found = []
    for number, row in enumerate(confusion_matrix(predictions, torch.as_tensor(y)).tolist()):
        graphs = sum(row)
        others = sorted((other for other in range(len(row)) if other != number and row[other]), key=lambda o: -row[o])
        mistaken = {task.names[other]: row[other] for other in others[:CONFUSIONS]}
        found.append(ClassAssessment(task.names[number], graphs, row[number] / graphs if graphs else None, mistaken))
    return tuple(found)


def _interval(task: Task, predictions: Tensor, y: NDArray) -> tuple[float, float] | None:
    """The percentile interval of the bootstrap; ``None`` if no sample has a score. The samples are always the same."""
    rng = np.random.Generator(np.random.PCG64(0))
    scores = []
    for _ in range(RESAMPLES):
        sample = torch.from_numpy(rng.integers(len(y), size=len(y)))
        scores.append(task.score_predictions(predictions[sample], torch.as_tensor(y)[sample]))
    finite = [score for score in scores if math.isfinite(score)]
    if not finite:
        return None
    low, high = np.quantile(finite, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]).tolist()
    return low, high


def _finite(score: float) -> float | None:
    return score if math.isfinite(score) else None
