"""Networks with the interface of scikit-learn: a classifier and a regressor.

Needs scikit-learn: ``pip install 'bankgcn[sklearn]'``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score

from bankgcn.data.splits import Split
from bankgcn.data.target_values import match_targets
from bankgcn.estimator.base import GraphEstimator
from bankgcn.estimator.targets import class_names, class_weights, own_targets, with_classes_or_labels, with_values
from bankgcn.training.callbacks import Callback
from bankgcn.training.execute import RunResult


class BankGCNClassifier(ClassifierMixin, GraphEstimator):
    """Learns one class of each graph, or several yes/no labels; the interface is that of a scikit-learn classifier.

    Several labels are a matrix of 0 and 1, shape ``(G, T)``, in which NaN is unknown. Then :meth:`predict` gives such a
    matrix, :meth:`predict_proba` the probability of each label, ``(G, T)``, and :meth:`score` the mean ROC-AUC.

    Graphs are a :class:`~bankgcn.GraphSet`, or a list of NetworkX graphs, PyG's ``Data`` or SMILES.

    Args:
        model: The convolution: ``"bank"``, ``"gcn"``, ``"sage"``, ``"gin"``, ``"gat"``, ``"cheb"`` or ``"mlp"``.
        hidden: Width of every layer.
        layers: Number of layers.
        normalize, norm, readout, pooling, residual, dropout, head: As in :class:`~bankgcn.training.ModelConfig`.
        order: Order of the filters (bank, cheb). ``None`` is the default of the convolution, here and below.
        subspaces, basis, projection, shortcut, bias, initial_alpha: As in :class:`~bankgcn.BankConv`.
        heads: Number of attention heads (gat).
        epochs: Most passes over the training graphs.
        patience: Epochs without improvement on the validation graphs after which training stops.
        batch_size, learning_rate, weight_decay, gamma, coherence, select, metric, loss, decay_patience, decay_factor,
            min_learning_rate: As in :class:`~bankgcn.training.TrainConfig`.
        class_weight: ``"balanced"`` gives every class, or both answers of each label, the same weight in the loss; a
            dictionary gives the weight of each class, 1 by default. The record of a run does not hold the dictionary.
        threshold: How a class of two, or a label, is decided. ``"validation"``: by the threshold of its probability
            with the largest MCC on the validation graphs. ``None``: what is most probable. ``"auto"``: by a threshold
            if one class, or one answer of a label, has 80 % of the graphs or more. ``model_.task.thresholds`` has it.
        features: What an atom of a SMILES carries: ``"raw"``, ``"onehot"`` or ``"embedded"``.
        attributes: Keys of NetworkX nodes whose numbers to read; by default all. If ``attributes`` or ``categories``
            are given, nothing else is read.
        categories: Keys of NetworkX nodes whose words to read; numbers of these keys count as words.
        scale: How to scale numbers of nodes by those of the training graphs: ``"standard"`` to mean 0 and standard
            deviation 1, ``"range"`` to [0, 1]; not at all by default.
        symmetrise: Whether to add the missing reverses of edges.
        ignore_weights: Whether to ignore the weights of edges.
        duplicates: What to do about equal graphs: ``"group"``, the default: the validation graphs have no equals among
            the training graphs; ``"merge"``: they become one graph, see
            :func:`bankgcn.data.duplicates.merge_duplicates`; ``"keep"``: nothing.
        validation_fraction: Share of the graphs that select the epoch and decide when to stop.
        random_state: Split, weights, order of batches and dropout follow from it.

    Attributes:
        classes_: The classes, or the names of the labels, in the order of the columns of :meth:`predict_proba`.
        model_: The :class:`~bankgcn.training.TrainedModel`.
        record_: The :class:`~bankgcn.training.record.RunRecord`: scores, settings, versions.
        history_: One :class:`~bankgcn.training.Epoch` for each epoch.
        n_iter_: Number of epochs.
        split_: Which graphs trained and which validated.

    Example:
        >>> import bankgcn
        >>> graphs = bankgcn.load("MUTAG")
        >>> classifier = BankGCNClassifier(hidden=16, layers=2, epochs=5, random_state=0).fit(graphs)
        >>> classifier.predict_proba(graphs[:3]).shape
        (3, 2)
    """

    _tasks = ("classes", "labels")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
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
            y: Class of each graph: a word, a number or a truth value; or a matrix of labels, 0, 1 or NaN for an unknown
                one, whose columns may have names (a table of pandas); by default what the graphs carry.
            sample_weight: Weight of each graph in the loss. Graphs of weight 0 are left out.
            callbacks: See :class:`~bankgcn.training.Callback`.

        Raises:
            ValueError: The graphs cannot be read or learned; the message names the graph.
        """
        graphs, classes = with_classes_or_labels(self._read(X, y), y, type(self).__name__)
        if isinstance(self.class_weight, Mapping) and not graphs.classes:
            raise ValueError('class_weight is a dictionary, which is for classes: labels take class_weight="balanced"')
        if isinstance(self.class_weight, Mapping):
            sample_weight = class_weights(graphs, classes, self.class_weight, sample_weight)
        self._train(graphs, sample_weight, callbacks)
        return self._set_classes(classes)

    def predict(self, X: Any) -> NDArray:
        """The most probable class of each graph, or what the threshold decides; 0 or 1 for each label, ``(G, T)``."""
        return self._predictor.predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class for each graph, shape ``(G, num_classes)``; of each label, ``(G, T)``."""
        return self._predictor.predict_proba(X)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """The accuracy; of labels, the mean ROC-AUC over those for which both answers occur.

        Args:
            X: The graphs.
            y: Their classes or labels; by default what the graphs carry.
            sample_weight: Weight of each graph in the accuracy; the ROC-AUC of labels has none.
        """
        if self._predictor.task.kind == "labels":
            return self._score_of_labels(X, y, sample_weight)
        if y is not None:
            return super().score(X, y, sample_weight)
        names = class_names(own_targets(self._read(X, None)))
        return float(accuracy_score(names, class_names(self.predict(X)), sample_weight=sample_weight))

    def _score_of_labels(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> float:
        if sample_weight is not None:
            raise ValueError("sample_weight is for the accuracy of classes: the ROC-AUC of labels has no weights")
        task = self._predictor.task
        graphs, names = with_classes_or_labels(self._read(X, y), y, type(self).__name__)
        if graphs.classes or len(names) != len(task.names):
            found = "classes" if graphs.classes else f"{len(names)} labels"
            raise ValueError(f"the model learned {len(task.names)} labels, but y has {found}")
        answers = match_targets(cast(NDArray, graphs.y), graphs.targets, task.names)
        return task.score_predictions(torch.from_numpy(self.predict_proba(X)), answers, "mean_roc_auc")

    def _set_result(self, result: RunResult, split: Split, seen: NDArray[np.uint64]) -> Self:
        super()._set_result(result, split, seen)
        return self._set_classes(self._predictor.classes)

    def _set_classes(self, classes: NDArray) -> Self:
        """Keep the classes as the user gave them, in the model, too: its own names are words."""
        self.classes_ = classes
        self.model_ = replace(self.model_, metadata={**self.model_.metadata, "classes": classes.tolist()})
        return self


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


__all__ = ["BankGCNClassifier", "BankGCNRegressor"]
