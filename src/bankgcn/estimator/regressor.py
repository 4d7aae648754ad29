"""The regressor: one or several real values of each graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from bankgcn.estimator.base import GraphEstimator
from bankgcn.estimator.targets import own_targets, with_values
from bankgcn.training.callbacks import Callback


class BankGCNRegressor(RegressorMixin, GraphEstimator):
    """Learns one or several real values of each graph; the interface is that of a scikit-learn regressor.

    Parameters and attributes are those of :class:`~bankgcn.BankGCNClassifier`, apart from ``classes_``;
    ``class_weight`` and ``threshold`` have no effect on values, and must keep their defaults.

    Example:
        >>> import bankgcn
        >>> graphs = bankgcn.load("MUTAG")
        >>> regressor = BankGCNRegressor(hidden=16, layers=2, epochs=5, random_state=0).fit(graphs, graphs.num_nodes)
        >>> regressor.predict(graphs[:3]).shape
        (3,)
    """

    _tasks = ("values",)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Train.

        Args:
            X: The graphs.
            y: Value of each graph, shape ``(G,)``, or several, ``(G, T)``, in which NaN is unknown; by default what the
                graphs carry.
            sample_weight: Weight of each graph in the loss. Graphs of weight 0 are left out.
            callbacks: See :class:`~bankgcn.training.Callback`.

        Raises:
            ValueError: The graphs cannot be read or learned; the message names the graph.
        """
        return self._train(with_values(self._read(X, y), y, type(self).__name__), sample_weight, callbacks)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The value of each graph, shape ``(G,)``, or its values, ``(G, T)``."""
        return self._predictor.predict(X)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """The share of the variance that is explained, R2; ``y`` is by default what the graphs carry."""
        return super().score(X, own_targets(self._read(X, None)) if y is None else y, sample_weight)
