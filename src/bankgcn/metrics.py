"""Scores of predictions. A metric is a row of :data:`METRICS`.

``outputs`` are logits for classes and for labels, and numbers in the user's units for values. In ``y`` of values and
labels, NaN marks an unknown entry, which no score counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the names and directions of the metrics need no PyTorch
    from torch import Tensor


@dataclass(frozen=True)
class Metric:
    """How predictions are scored.

    Args:
        score: From outputs and targets to a number; NaN where the targets leave nothing to score.
        label: Name in tables and messages.
        higher_is_better: The direction of improvement.
        worst: What a run without a score counts as, when hyper-parameters are chosen.
        percent: Whether scores lie in [0, 1], so that tables show them in percent.
        correlation: Whether scores lie in [-1, 1].
        decides: Whether the score depends on which class or answer is decided, and so on the threshold.
        two_classes: Whether a score of classes needs that there are two.
        of_one: Name of the score of a single target, where this is the mean of several; the metric's own by default.
    """

    score: Callable[[Tensor, Tensor], float]
    label: str
    higher_is_better: bool = True
    worst: float = 0.0
    percent: bool = False
    correlation: bool = False
    decides: bool = False
    two_classes: bool = False
    of_one: str = ""

    def cost(self, score: float) -> float:
        """The score with the sign that makes smaller values better; NaN costs more than any score."""
        if math.isnan(score):
            return math.inf
        return -score if self.higher_is_better else score

    def improves(self, score: float, best: float) -> bool:
        """Whether a score is better than the best so far; any score is better than NaN."""
        return self.cost(score) < self.cost(best)

    def text(self, score: float | None) -> str:
        """A score in a message: four decimals if scores have bounds, otherwise five digits, because units differ.

        Example:
            >>> METRICS["accuracy"].text(0.5), METRICS["mae"].text(2.71828e-7), METRICS["mae"].text(None)
            ('0.5000', '2.7183e-07', 'unknown')
        """
        if score is None or math.isnan(score):
            return "unknown"
        return f"{score:.4f}" if self.percent or self.correlation else significant(score)


def significant(number: float) -> str:
    """A number of any size, with five significant digits."""
    return f"{number:.5g}"


def accuracy(logits: Tensor, y: Tensor) -> float:
    """Fraction of the graphs whose class has the largest logit."""
    return (logits.argmax(1) == y).double().mean().item()


def roc_auc(logits: Tensor, y: Tensor) -> float:
    """Probability that a graph of class 1 is ranked above one of class 0; ties count half.

    NaN where one of the classes is missing: there is nothing to rank.
    """
    if logits.size(1) != 2:
        raise ValueError(f"ROC-AUC is for two classes, but there are logits for {logits.size(1)}")
    return _ranking(logits[:, 1] - logits[:, 0], y == 1)


def macro_f1(logits: Tensor, y: Tensor) -> float:
    """Mean over the classes of the harmonic mean of precision and recall.

    A class that neither occurs nor is predicted is left out, as scikit-learn does.
    """
    counts = confusion_matrix(logits, y).double()
    occurrences = counts.sum(0) + counts.sum(1)
    f1 = 2 * counts.diagonal() / occurrences
    return f1[occurrences > 0].mean().item()


def balanced_accuracy(logits: Tensor, y: Tensor) -> float:
    """Mean over the classes that occur of the fraction of their graphs that are predicted correctly."""
    counts = confusion_matrix(logits, y).double()
    occurrences = counts.sum(1)
    return (counts.diagonal() / occurrences)[occurrences > 0].mean().item()


def matthews(logits: Tensor, y: Tensor) -> float:
    """Matthews' correlation of true and predicted classes (Gorodkin, 2004); of several labels, the mean of theirs.

    0 if all predictions are the same: nothing is told apart. A label for which one answer occurs has none.
    """
    if y.is_floating_point():
        return _mean_over_targets(_matthews_of_label, logits, y)
    return _matthews(confusion_matrix(logits, y))


def confusion_matrix(logits: Tensor, y: Tensor) -> Tensor:
    """Number of graphs of each class (row) that are predicted as each class (column)."""
    num_classes = logits.size(1)
    pairs = y * num_classes + logits.argmax(1)
    return pairs.bincount(minlength=num_classes**2).view(num_classes, num_classes)


def mae(values: Tensor, y: Tensor) -> float:
    """Mean absolute error; of several targets, the mean of theirs."""
    return _mean_over_targets(lambda value, true: (value - true).abs().mean().item(), values, y)


def rmse(values: Tensor, y: Tensor) -> float:
    """Root of the mean squared error; of several targets, the mean of theirs."""
    return _mean_over_targets(lambda value, true: (value - true).square().mean().sqrt().item(), values, y)


def r2(values: Tensor, y: Tensor) -> float:
    """Share of the variance that is explained; of several targets, the mean of theirs.

    NaN for a target that is constant: there is nothing to explain.
    """
    return _mean_over_targets(_explained, values, y)


def mean_roc_auc(logits: Tensor, y: Tensor) -> float:
    """Mean ROC-AUC of the labels for which both answers occur."""
    return _mean_over_targets(lambda logit, true: _ranking(logit, true == 1), logits, y)


def average_precision(logits: Tensor, y: Tensor) -> float:
    """Area under the precision-recall steps: of two classes, that of :func:`rarer_class`.

    Of several labels, the mean over those for which both answers occur.
    """
    if y.is_floating_point():
        return _mean_over_targets(_average_precision, logits, y)
    if logits.size(1) != 2:
        raise ValueError(f"average precision is for two classes, but there are logits for {logits.size(1)}")
    rarer = rarer_class(y)
    return _average_precision((logits[:, rarer] - logits[:, 1 - rarer]).double(), (y == rarer).double())


def rarer_class(y: Tensor) -> int:
    """The rarer one of two classes, which is the harder one to find; the second if both are equally frequent."""
    return int(2 * int((y == 1).sum()) <= len(y))


def _mean_over_targets(score: Callable[[Tensor, Tensor], float], outputs: Tensor, y: Tensor) -> float:
    """Mean of the scores of the columns, each on its known entries; NaN if no column has a score."""
    scores = []
    for output, true in zip(outputs.double().T, y.double().reshape(outputs.shape).T, strict=True):
        known = ~true.isnan()
        scores.append(score(output[known], true[known]) if known.any() else math.nan)
    finite = [score for score in scores if not math.isnan(score)]
    return sum(finite) / len(finite) if finite else math.nan


def _ranking(score: Tensor, positive: Tensor) -> float:
    """Probability that a positive is ranked above a negative; ties count half."""
    positives = int(positive.sum())
    negatives = len(positive) - positives
    if positives == 0 or negatives == 0:
        return math.nan
    _, place, count = score.unique(return_inverse=True, return_counts=True)
    last_rank = count.cumsum(0).double()
    rank = (last_rank - (count - 1) / 2)[place]  # equal scores share the mean of their ranks
    above = rank[positive].sum().item() - positives * (positives + 1) / 2
    return above / (positives * negatives)


def _average_precision(logit: Tensor, true: Tensor) -> float:
    import torch

    positive = true == 1
    if not positive.any() or positive.all():
        return math.nan
    order = logit.argsort(descending=True)
    hits = positive[order].double().cumsum(0)
    last_of_ties = torch.cat([logit[order][1:] != logit[order][:-1], torch.ones(1, dtype=torch.bool)])
    hits, taken = hits[last_of_ties], (torch.arange(len(logit)) + 1)[last_of_ties]
    steps = torch.diff(hits, prepend=hits.new_zeros(1)) / positive.sum()
    return (steps * hits / taken).sum().item()


def _matthews(counts: Tensor) -> float:
    """The correlation by a confusion matrix; 0 if one side is constant."""
    counts = counts.double()
    true, predicted, total = counts.sum(1), counts.sum(0), counts.sum()
    covariance = counts.trace() * total - true @ predicted
    spread = ((total**2 - true @ true) * (total**2 - predicted @ predicted)).sqrt()
    return (covariance / spread).item() if spread > 0 else 0.0


def _matthews_of_label(logit: Tensor, true: Tensor) -> float:
    answers = true.long()
    if answers.min() == answers.max():
        return math.nan
    return _matthews((2 * answers + (logit >= 0)).bincount(minlength=4).view(2, 2))


def _explained(value: Tensor, true: Tensor) -> float:
    total = (true - true.mean()).square().sum()
    return (1 - (value - true).square().sum() / total).item() if total > 0 else math.nan


METRICS: dict[str, Metric] = {
    "accuracy": Metric(accuracy, "accuracy", percent=True, decides=True),
    "roc_auc": Metric(roc_auc, "ROC-AUC", percent=True, two_classes=True),
    "macro_f1": Metric(macro_f1, "macro F1", percent=True, decides=True),
    "balanced_accuracy": Metric(balanced_accuracy, "balanced accuracy", percent=True, decides=True),
    "mae": Metric(mae, "MAE", higher_is_better=False, worst=math.inf),
    "rmse": Metric(rmse, "RMSE", higher_is_better=False, worst=math.inf),
    "r2": Metric(r2, "R2", worst=-math.inf),
    "mean_roc_auc": Metric(mean_roc_auc, "mean ROC-AUC", percent=True, of_one="roc_auc"),
    "average_precision": Metric(average_precision, "average precision", percent=True, two_classes=True),
    "mcc": Metric(matthews, "MCC", worst=-1.0, correlation=True, decides=True),
}
