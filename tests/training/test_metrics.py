"""Metrics against scikit-learn's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from bankgcn.training.metrics import accuracy, confusion_matrix, roc_auc


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-3, 3)), min_size=2, max_size=40))
def test_roc_auc_equals_scikit_learns_with_ties(pairs: list[tuple[int, int]]) -> None:
    y = torch.tensor([label for label, _ in pairs])
    logits = torch.tensor([[0.0, float(margin)] for _, margin in pairs])
    if y.unique().numel() < 2:
        assert math.isnan(roc_auc(logits, y))
    else:
        assert roc_auc(logits, y) == pytest.approx(metrics.roc_auc_score(y, logits.softmax(1)[:, 1]), abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_accuracy_and_confusion_equal_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    y, guess = (torch.tensor(column) for column in zip(*pairs, strict=True))
    logits = torch.nn.functional.one_hot(guess, 4).double()
    assert accuracy(logits, y) == pytest.approx(metrics.accuracy_score(y, guess))
    np.testing.assert_array_equal(confusion_matrix(logits, y), metrics.confusion_matrix(y, guess, labels=range(4)))


def test_roc_auc_is_for_two_classes() -> None:
    with pytest.raises(ValueError, match="logits for 3"):
        roc_auc(torch.zeros(4, 3), torch.tensor([0, 1, 0, 1]))
