"""How good predictions are: a score with its interval, beside that of a prediction that does not look at the graphs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.messages import Message, advise
from bankgcn.metrics import METRICS, confusion_matrix
from bankgcn.tasks import LIKELY, Task

RESAMPLES = 1000
COVERAGE = 0.95
CONFUSIONS = 3  # other classes that are listed for each class
TARGETS_NAMED = 3  # in a warning


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
class TargetAssessment:
    """How good the predictions of one value or label are. A score that is NaN is ``None``.

    Args:
        name: The value or label.
        graphs: Number of the graphs for which it is known.
        scores: Its scores, by the names of metrics of a single target: ``"mae"``, ``"rmse"``, ``"r2"``; or
            ``"roc_auc"``, ``"average_precision"``, ``"mcc"``.
        baseline_scores: The same scores of the constant prediction.
        positive: Number of the graphs with a label; ``None`` for a value.
        threshold: The probability from which on a label is decided; ``None`` for a value.
    """

    name: str
    graphs: int
    scores: Mapping[str, float | None]
    baseline_scores: Mapping[str, float | None]
    positive: int | None = None
    threshold: float | None = None


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
        classes: The recall of each class; nothing for values and labels.
        targets: How good the predictions of each value or label are; nothing for classes. The score of several is the
            mean of theirs.
        threshold: The probability from which on the second one of two classes is decided, if one was chosen.
    """

    metric: str
    graphs: int
    scores: Mapping[str, float | None]
    interval: tuple[float, float] | None
    baseline: str
    baseline_score: float | None
    classes: tuple[ClassAssessment, ...] = ()
    targets: tuple[TargetAssessment, ...] = ()
    threshold: float | None = None

    @property
    def score(self) -> float | None:
        """The score of the metric of the task."""
        return self.scores[self.metric]

    @property
    def beats_baseline(self) -> bool:
        """Whether the score is better than that of the constant prediction; true if one of them is unknown."""
        return _beats(self.metric, self.score, self.baseline_score)

    @property
    def others(self) -> list[str]:
        """The metrics beside that of the task; average precision is the first one beside a ROC-AUC."""
        others = [name for name in self.scores if name != self.metric]
        return sorted(others, key="average_precision".__ne__) if "roc_auc" in self.metric else others

    def warnings(self, balanced: bool = False) -> list[str]:
        """What a reader of the score must know: the model, or a part of it, is no better than a constant prediction.

        Args:
            balanced: Whether the training gave all classes the same weight: then this is not advised.
        """
        warnings: list[str] = []
        predicted = self._predicted_classes()
        if len(predicted) == 1 and len(self.classes) > 1:
            advice = [] if balanced else [advise("class_weight", "balanced", "gives a rare class more weight")]
            same = f"the model predicts {predicted.pop()!r} for all {self.graphs:,} graphs"
            warnings.append(Message("{same}", same=same, advice=advice))
        elif not self.beats_baseline:
            warnings.append(f"the {METRICS[self.metric].label} is not better than that of {self.baseline}")
        name = METRICS[self.metric].of_one or self.metric
        poor = [row.name for row in self.targets if not _beats(name, row.scores[name], row.baseline_scores[name])]
        if poor and len(self.targets) > 1:
            listed = ", ".join(poor[:TARGETS_NAMED]) + (", ..." if len(poor) > TARGETS_NAMED else "")
            warnings.append(
                f"the {METRICS[name].label} of {len(poor)} of {len(self.targets)} targets is not better than that of a "
                f"constant prediction: {listed}"
            )
        return warnings

    def _predicted_classes(self) -> set[str]:
        correct = {row.name for row in self.classes if row.recall}
        return correct.union(*(row.mistaken_for for row in self.classes))

    def to_dict(self) -> dict[str, Any]:
        """The assessment as JSON holds it, with classes or targets, and a threshold if there is one."""
        plain = asdict(self) | {"interval": list(self.interval) if self.interval else None}
        if self.threshold is None:
            del plain["threshold"]
        unused, used = ("classes", "targets") if self.targets else ("targets", "classes")
        del plain[unused]
        return {**plain, used: list(plain[used])}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Assessment:
        """The assessment that :meth:`to_dict` wrote."""
        classes = tuple(ClassAssessment(**row) for row in values.get("classes", ()))
        targets = tuple(TargetAssessment(**row) for row in values.get("targets", ()))
        interval = tuple(values["interval"]) if values["interval"] else None
        return cls(**{**values, "classes": classes, "targets": targets, "interval": interval})


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
    same = torch.tensor(constant, dtype=predictions.dtype).expand(len(y), -1)
    return Assessment(
        metric=task.metric,
        graphs=len(y),
        scores=_scores(task, predictions, y),
        interval=_interval(task, predictions, y),
        baseline=_baseline(task, constant),
        baseline_score=_scores(replace(task, thresholds=()), same, y)[task.metric],
        classes=_classes(task, predictions, y) if task.kind == "classes" else (),
        targets=() if task.kind == "classes" else tuple(_targets(task, predictions, y, same)),
        threshold=task.thresholds[0] if task.kind == "classes" and task.thresholds else None,
    )


def _scores(task: Task, predictions: Tensor, y: NDArray) -> dict[str, float | None]:
    """The score of every metric of the task."""
    return {name: _finite(task.score_predictions(predictions, y, name)) for name in task.metrics}


def _targets(task: Task, predictions: Tensor, y: NDArray, same: Tensor) -> Iterator[TargetAssessment]:
    """The scores of each value or label, beside those of the constant prediction."""
    columns = y.reshape(len(y), -1)
    for number, name in enumerate(task.names):
        part, true = slice(number, number + 1), columns[:, number]
        parts = {key: getattr(task, key)[part] for key in ("names", "center", "scale", "thresholds")}
        one = replace(task, **parts)
        found = _scores(one, predictions[:, part], columns[:, part])
        constant = _scores(replace(one, thresholds=()), same[:, part], columns[:, part])
        own_names = {metric: METRICS[metric].of_one or metric for metric in found}
        is_label = task.kind == "labels"
        yield TargetAssessment(
            name=name,
            graphs=int((~np.isnan(true)).sum()),
            scores={own: found[metric] for metric, own in own_names.items()},
            baseline_scores={own: constant[metric] for metric, own in own_names.items()},
            positive=int((true == 1).sum()) if is_label else None,
            threshold=(one.thresholds or (LIKELY,))[0] if is_label else None,
        )


def _baseline(task: Task, constant: tuple[float, ...]) -> str:
    if task.kind == "classes":
        return f"always {task.names[int(np.argmax(constant))]!r}"
    if task.kind == "labels":
        return "the share of each label"
    return "the mean of the training graphs"


def _classes(task: Task, predictions: Tensor, y: NDArray) -> tuple[ClassAssessment, ...]:
    found = []
    decided = torch.nn.functional.one_hot(task.decide(predictions), len(task.names))
    for number, row in enumerate(confusion_matrix(decided, torch.as_tensor(y)).tolist()):
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


def _beats(metric: str, score: float | None, baseline: float | None) -> bool:
    """Whether a score is better than that of the constant prediction; true if one of them is unknown."""
    return score is None or baseline is None or METRICS[metric].improves(score, baseline)


def _finite(score: float) -> float | None:
    return score if math.isfinite(score) else None
