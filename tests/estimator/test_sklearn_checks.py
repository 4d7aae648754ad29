"""scikit-learn's own checks of estimators.

The checks pass tables of numbers. So they run on subclasses that make a graph of each row: one node, whose attributes
are the row. Everything else is the estimator itself. ``CANNOT_APPLY`` lists the checks that fail, and why.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.validation import validate_data

from bankgcn import BankGCNClassifier, BankGCNRegressor, GraphSet

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the checks warn about themselves


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)


def one_node_graphs(X: NDArray) -> GraphSet:
    return GraphSet.from_edges(np.ones(len(X), np.int64), np.zeros((2, 0), np.int64), attributes=X)


class OnRows:
    """Makes a graph of each row of a table, and leaves the rest to the estimator."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Any:
        return super().fit(one_node_graphs(validate_data(self, X)), y, sample_weight)

    def _graphs(self, X: ArrayLike) -> GraphSet:
        self._predictor  # noqa: B018 - an estimator that is not fitted says so first
        return one_node_graphs(validate_data(self, X, reset=False))

    def predict(self, X: ArrayLike) -> NDArray:
        return super().predict(self._graphs(X))

    def transform(self, X: ArrayLike) -> NDArray:
        return super().transform(self._graphs(X))


class ClassifierOnRows(OnRows, BankGCNClassifier):
    def predict_proba(self, X: ArrayLike) -> NDArray:
        return BankGCNClassifier.predict_proba(self, self._graphs(X))


class RegressorOnRows(OnRows, BankGCNRegressor):
    pass


QUICK = {"model": "mlp", "hidden": 16, "layers": 1, "epochs": 30, "learning_rate": 0.01, "random_state": 0}
CANNOT_APPLY = {
    "check_sample_weight_equivalence_on_dense_data": "a graph that is there twice changes the order of the batches and "
    "which graphs validate; a weight of 2 does not",
}


@parametrize_with_checks(
    [ClassifierOnRows(**QUICK), RegressorOnRows(**QUICK)], expected_failed_checks=lambda _: CANNOT_APPLY
)
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("estimator", [BankGCNClassifier(), BankGCNRegressor()])
def test_scikit_learn_knows_that_graphs_are_no_tables(estimator: Any) -> None:
    with pytest.warns(SkipTestWarning, match="requires input"):
        assert len(list(estimator_checks_generator(estimator))) == 1  # that it can be cloned
