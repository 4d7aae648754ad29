"""Scores of a classifier, from its logits."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def accuracy(logits: Tensor, y: Tensor) -> float:
    """Fraction of the graphs whose class has the largest logit."""
    return (logits.argmax(1) == y).double().mean().item()


def roc_auc(logits: Tensor, y: Tensor) -> float:
    """Probability that a graph of class 1 is ranked above one of class 0, ties counting half.

    NaN where one of the classes is missing: there is nothing to rank.
    """
    if logits.size(1) != 2:
        raise ValueError(f"ROC-AUC is for two classes, but there are logits for {logits.size(1)}")
    margin = logits[:, 1] - logits[:, 0]
    _, place, count = margin.unique(return_inverse=True, return_counts=True)
    last_rank = count.cumsum(0).double()
    rank = (last_rank - (count - 1) / 2)[place]  # of equal margins, the mean of their ranks
    positives = int(y.sum())
    negatives = len(y) - positives
    if positives == 0 or negatives == 0:
        return float("nan")
    above = rank[y == 1].sum().item() - positives * (positives + 1) / 2
    return above / (positives * negatives)


def confusion_matrix(logits: Tensor, y: Tensor) -> Tensor:
    """How many graphs of each class (row) were taken for each class (column)."""
    num_classes = logits.size(1)
    return torch.bincount(y * num_classes + logits.argmax(1), minlength=num_classes**2).view(num_classes, num_classes)


METRICS: dict[str, Callable[[Tensor, Tensor], float]] = {"accuracy": accuracy, "roc_auc": roc_auc}
