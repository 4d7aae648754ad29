"""Networks with the interface of scikit-learn: a classifier and a regressor, and how they read targets.

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
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import assert_all_finite, check_array, column_or_1d, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from bankgcn.data import GraphError
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import ReadOptions
from bankgcn.data.sources import are_molecules
from bankgcn.data.target_values import match_targets, name_of_class
from bankgcn.estimator.base import GraphEstimator
from bankgcn.tasks import kind_of
from bankgcn.training.callbacks import Callback
from bankgcn.training.checks import check_weights
from bankgcn.training.ensemble import class_values


class BankGCNClassifier(ClassifierMixin, GraphEstimator):
    """Learns one class of each graph, or several yes/no labels; the interface is that of a scikit-learn classifier.

    Several labels are a matrix of 0 and 1, shape ``(G, T)``, in which NaN is unknown. Then :meth:`predict` gives such a
    matrix, :meth:`predict_proba` the probability of each label, ``(G, T)``, and :meth:`score` the mean ROC-AUC.

    Graphs are a :class:`~bankgcn.GraphSet`, a list (an array, a Series, a generator) of NetworkX graphs, PyG's
    ``Data``, SMILES or molecules of RDKit, or a DataFrame of pandas or Polars with a column of molecules.

    Args:
        preset: Where settings that are ``None`` come from: ``"standard"``, the ``"paper"``, or ``"best"``, with which
            several models vote; see :mod:`bankgcn.training.presets`.
        model: The convolution: ``"bank"``, ``"gcn"``, ``"sage"``, ``"gin"``, ``"gat"``, ``"cheb"`` or ``"mlp"``; or no
            network: ``"forest"`` or ``"wl-svm"``, to which the settings of networks and of training mean nothing. By
            default what the preset says: ``"bank"``, or several.
        hidden: Width of every layer.
        layers: Number of layers.
        normalize, norm, readout, scale_sum, pooling, residual, feed_forward, dropout, head: As in
            :class:`~bankgcn.training.ModelConfig`.
        order: Order of the filters (bank, cheb). ``None`` is the default of the convolution, here and below.
        subspaces, basis, projection, shortcut, bias, initial_alpha: As in :class:`~bankgcn.BankConv`.
        heads: Number of attention heads (gat).
        epochs: Most passes over the training graphs.
        patience: Epochs without improvement on the validation graphs after which training stops.
        batch_size, learning_rate, weight_decay, gamma, coherence, select, metric, loss, decay_patience, decay_factor,
            min_learning_rate, optimizer, schedule, warmup, clip_norm: As in :class:`~bankgcn.training.TrainConfig`.
        init_from: Folder of a saved estimator or a run of the command line whose features and weights this one starts
            with. Its network must be the same, apart from its head.
        freeze: Number of the first layers that keep these weights.
        class_weight: ``"balanced"`` gives every class, or both answers of each label, the same weight in the loss; a
            dictionary gives the weight of each class, 1 by default. The record of a run does not hold the dictionary.
        threshold: How a class of two, or a label, is decided. ``"validation"``: by the threshold of its probability
            with the largest MCC on the validation graphs. ``None``: what is most probable. ``"auto"``: by a threshold
            if one class, or one answer of a label, has 80 % of the graphs or more. ``model_.task.thresholds`` has it.
        features: What an atom of a molecule carries: ``"raw"``, ``"onehot"`` or ``"embedded"``.
        attributes: Keys of NetworkX nodes whose numbers to read; by default all. If ``attributes`` or ``categories``
            are given, nothing else is read.
        categories: Keys of NetworkX nodes whose words to read; numbers of these keys count as words.
        encoding: Encodings of nodes that join their features: ``"rwse"``, ``"laplacian"`` or ``"rwse,laplacian"``; see
            :mod:`bankgcn.data.features.encodings`.
        scale: How to scale numbers of nodes by those of the training graphs: ``"standard"`` to mean 0 and standard
            deviation 1, ``"range"`` to [0, 1]; not at all by default.
        descriptors: Descriptors of molecules that join the representation of a graph: ``"rdkit"``, ``"morgan"`` or
            ``"rdkit,morgan"``; see :mod:`bankgcn.data.features.descriptors`.
        fill_features: Whether the mean of the training graphs stands for a missing feature of a graph.
        symmetrise: Whether to add the missing reverses of edges.
        ignore_weights: Whether to ignore the weights of edges.
        duplicates: What to do about equal graphs: ``"group"``, the default: the validation graphs have no equals among
            the training graphs; ``"merge"``: they become one graph, see
            :func:`bankgcn.data.duplicates.merge_duplicates`; ``"keep"``: nothing.
        standardize: Whether to read the largest fragment of each molecule, with charges neutralised where RDKit can.
        validation_fraction: Share of the graphs that select the epoch and decide when to stop.
        random_state: Split, weights, order of batches and dropout follow from it.
        verbose: 0 is silent; 1 shows the progress of the training in a line on standard error.
        device: Where to train and predict: ``"cpu"``, or ``"cuda"`` for a GPU, by autograd. A model does not keep it.

    Attributes:
        classes_: The classes, or the names of the labels, in the order of the columns of :meth:`predict_proba`.
        model_: The :class:`~bankgcn.training.TrainedModel`; the first, if several vote.
        record_: The :class:`~bankgcn.training.record.RunRecord`: scores, settings, versions.
        history_: One :class:`~bankgcn.training.Epoch` for each epoch.
        n_iter_: Number of epochs.
        results_: The :class:`~bankgcn.training.RunResult` of each model that votes, by its name.
        mixture_: The weights of kinds of models that vote, if there are several.
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

    def _fit(
        self,
        graphs: GraphSet,
        y: Any,
        sample_weight: ArrayLike | None,
        callbacks: Sequence[Callback],
        reading: ReadOptions,
    ) -> Self:
        graphs, classes = with_classes_or_labels(graphs, y, type(self).__name__)
        if isinstance(self.class_weight, Mapping) and not graphs.classes:
            raise ValueError('class_weight is a dictionary, which is for classes: labels take class_weight="balanced"')
        if isinstance(self.class_weight, Mapping):
            sample_weight = class_weights(graphs, classes, self.class_weight, sample_weight)
        self._train(graphs, sample_weight, callbacks, reading)
        return self._set_classes(classes)

    def predict(
        self, X: Any, graph_features: Any = None, *, smiles: str | None = None, interval: float | None = None
    ) -> Any:
        """The most probable class of each graph, or what the threshold decides; 0 or 1 for each label, ``(G, T)``.

        Args:
            X: The graphs. For a DataFrame of pandas or Polars, the result is one, too, with the same index: columns
                for predictions and probabilities, named as in the tables of ``bankgcn predict``. Rows that cannot be
                read are empty, and the column "unreadable" says why. A Series of SMILES gives an array.
            graph_features: Features of each graph; by default those that the graphs carry.
            smiles: Column of a DataFrame that holds the molecules; by default that of the training, or a usual one.
            interval: Probability, such as 0.9, with which sets shall hold the truth. The result is then a pair:
                predictions, and whether each class is in the set, shape ``(G, num_classes)``, or each of the answers 0
                and 1 of the labels, ``(G, T, 2)``; a DataFrame has the columns of ``bankgcn predict --interval``.
        """
        return self._predictor.predict(X, graph_features, smiles=smiles, interval=interval)

    def predict_proba(self, X: Any, graph_features: Any = None) -> NDArray[np.float64]:
        """Probability of each class for each graph, shape ``(G, num_classes)``; of each label, ``(G, T)``."""
        return self._predictor.predict_proba(X, graph_features)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, graph_features: Any = None) -> float:
        """The accuracy; of labels, the mean ROC-AUC over those for which both answers occur.

        Args:
            X: The graphs.
            y: Their classes or labels; by default what the graphs carry.
            sample_weight: Weight of each graph in the accuracy; the ROC-AUC of labels has none.
            graph_features: Features of each graph; by default those that the graphs carry.
        """
        X, y, sample_weight = self._to_score(X, y, sample_weight)
        if self._predictor.task.kind == "labels":
            return self._score_of_labels(X, y, sample_weight, graph_features)
        predicted = self.predict(X) if graph_features is None else self.predict(X, graph_features)
        if y is not None:
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))
        names = class_names(own_targets(self._read(X, None, self._read_options(are_molecules(X)))))
        return float(accuracy_score(names, class_names(predicted), sample_weight=sample_weight))

    def _score_of_labels(self, X: Any, y: Any, sample_weight: ArrayLike | None, graph_features: Any) -> float:
        if sample_weight is not None:
            raise ValueError("sample_weight is for the accuracy of classes: the ROC-AUC of labels has no weights")
        task = self._predictor.task
        graphs = self._read(X, y, self._read_options(are_molecules(X)))
        graphs, names = with_classes_or_labels(graphs, y, type(self).__name__)
        if graphs.classes or len(names) != len(task.names):
            given = "classes" if graphs.classes else f"{len(names)} labels"
            raise ValueError(f"the model learned {len(task.names)} labels, but y has {given}")
        answers = match_targets(cast(NDArray, graphs.y), graphs.targets, task.names)
        return task.score_predictions(
            torch.from_numpy(self._predictor.predict_proba(X, graph_features)), answers, "mean_roc_auc"
        )

    def _set_results(self, *args: Any) -> Self:
        super()._set_results(*args)
        return self._set_classes(self._predictor.classes)

    def _set_classes(self, classes: NDArray) -> Self:
        """Keep the classes as the user gave them, in the model, too: its own names are words."""
        self.classes_ = classes
        for name, result in self.results_.items():
            assert result.model is not None
            model = replace(result.model, metadata={**result.model.metadata, "classes": classes.tolist()})
            self.results_[name] = replace(result, model=model)
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

    def _fit(
        self,
        graphs: GraphSet,
        y: Any,
        sample_weight: ArrayLike | None,
        callbacks: Sequence[Callback],
        reading: ReadOptions,
    ) -> Self:
        return self._train(with_values(graphs, y, type(self).__name__), sample_weight, callbacks, reading)

    def predict(
        self, X: Any, graph_features: Any = None, *, smiles: str | None = None, interval: float | None = None
    ) -> Any:
        """The value of each graph, shape ``(G,)``, or its values, ``(G, T)``; of a DataFrame, a DataFrame.

        Args:
            X: The graphs.
            graph_features: Features of each graph; by default those that the graphs carry.
            smiles: Column of a DataFrame that holds the molecules; see :meth:`bankgcn.BankGCNClassifier.predict`.
            interval: Probability, such as 0.9, with which intervals shall hold the true value. The result is then a
                pair: predictions and bounds, shape ``(G, 2)`` or ``(G, T, 2)``.
        """
        return self._predictor.predict(X, graph_features, smiles=smiles, interval=interval)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, graph_features: Any = None) -> float:
        """The share of the variance that is explained, R2; ``y`` is by default what the graphs carry."""
        X, y, sample_weight = self._to_score(X, y, sample_weight)
        truth = own_targets(self._read(X, None, self._read_options(are_molecules(X)))) if y is None else y
        predicted = self.predict(X) if graph_features is None else self.predict(X, graph_features)
        return float(r2_score(truth, predicted, sample_weight=sample_weight))


def with_classes_or_labels(graphs: GraphSet, y: Any, estimator: str) -> tuple[GraphSet, NDArray]:
    """The graphs with these classes or labels, and the classes, or the names of the labels, in their order.

    Args:
        graphs: The graphs.
        y: Class of each graph, or its labels, shape ``(G, T)`` with two columns or more; ``None`` for what the graphs
            carry.
        estimator: Name of the estimator in messages.
    """
    carries_labels = y is None and graphs.y is not None and not graphs.classes and kind_of(graphs.y) == "labels"
    if not carries_labels and (y is None or not _is_matrix(y)):
        return with_classes(graphs, y, estimator)
    labelled = graphs if y is None else with_values(graphs, y, estimator)
    assert labelled.y is not None
    for graph, label in np.argwhere(~np.isnan(labelled.y) & ~np.isin(labelled.y, (0, 1)))[:1]:
        raise GraphError(
            f"label {label} of graph {graph} is {labelled.y[graph, label]:g}: several labels are a matrix of 0 and 1, "
            "in which NaN is unknown; BankGCNRegressor learns numbers"
        )
    names = labelled.targets or tuple(f"y{column}" for column in range(labelled.y.shape[1]))
    return labelled, np.array(names)


def _is_matrix(y: Any) -> bool:
    """Whether targets have two columns or more."""
    try:
        shape = np.asarray(y).shape  # np.shape would ask objects that only convert themselves
    except ValueError:  # lists of different lengths
        return False
    return len(shape) == 2 and shape[1] > 1


def with_classes(graphs: GraphSet, y: Any, estimator: str) -> tuple[GraphSet, NDArray]:
    """The graphs with these classes, and the classes in the order of their numbers.

    Args:
        graphs: The graphs.
        y: Class of each graph; ``None`` for those that the graphs carry.
        estimator: Name of the estimator in messages.
    """
    if y is None:
        carried = _carried(graphs, estimator)
        if not graphs.classes:
            raise GraphError(
                f"the graphs carry numbers, but {estimator} learns classes: BankGCNRegressor learns numbers"
            )
        return carried, class_values(graphs.classes)
    values = column_or_1d(y, warn=True)
    _check_length(graphs, values)
    if values.dtype.kind == "O":
        for graph, value in enumerate(values.tolist()):
            if value is None or value != value:
                raise _without_target("class", graph, value)
    if values.dtype.kind == "f":
        for graph in np.flatnonzero(np.isnan(values))[:1]:
            raise _without_target("class", graph, float(values[graph]))
        check_array(values, ensure_2d=False, input_name="y")
    check_classification_targets(values)
    classes, numbers = np.unique(values, return_inverse=True)
    names = tuple(name_of_class(value) for value in classes.tolist())
    return replace(graphs, y=numbers.astype(np.int64), classes=names, targets=()), classes


def class_weights(
    graphs: GraphSet, classes: NDArray, class_weight: Mapping[Any, float], sample_weight: ArrayLike | None
) -> NDArray[np.float64]:
    """The weight of each graph: that of its class in a dictionary, where 1 is the default, times its own.

    Raises:
        ValueError: The dictionary has a key that is no class, instead of one of the classes. If it has all classes, it
            may have others, too: some folds of a cross-validation may lack a class.
    """
    assert graphs.y is not None
    names = classes.tolist()
    unknown = [key for key in class_weight if key not in names]
    if unknown and any(name not in class_weight for name in names):
        raise ValueError(
            f"class_weight has the key {unknown[0]!r}, which is none of the classes {', '.join(map(repr, names))}"
        )
    of_class = compute_sample_weight({value: class_weight.get(value, 1.0) for value in classes}, classes[graphs.y])
    return of_class if sample_weight is None else of_class * check_weights(sample_weight, len(graphs))


def with_values(graphs: GraphSet, y: Any, estimator: str) -> GraphSet:
    """The graphs with these numbers as targets; ``None`` stands for those that the graphs carry."""
    if y is None:
        carried = _carried(graphs, estimator)
        if graphs.classes:
            raise GraphError(
                f"the graphs carry classes, but {estimator} learns numbers: BankGCNClassifier learns classes"
            )
        return carried
    names = tuple(map(str, getattr(y, "columns", ())))
    values = check_array(y, dtype=np.float64, ensure_2d=False, ensure_all_finite="allow-nan", input_name="y")
    _check_length(graphs, values)
    if values.ndim == 1:  # of several values, some may be unknown
        for graph in np.flatnonzero(np.isnan(values))[:1]:
            raise _without_target("value", graph, np.asarray(y, object)[graph])
        assert_all_finite(values, input_name="y")
    for graph in np.flatnonzero((np.abs(values) > np.finfo(np.float32).max).reshape(len(values), -1).any(1))[:1]:
        raise GraphError(f"the target of graph {graph} is {values[graph]}, too large for single precision")
    return replace(graphs, y=values.astype(np.float32), classes=(), targets=names)


def own_targets(graphs: GraphSet) -> NDArray:
    """The targets that graphs carry, as scikit-learn's scores take them: classes or numbers."""
    if graphs.y is None:
        raise GraphError("the graphs carry no targets: give y")
    return class_values(graphs.classes)[graphs.y] if graphs.classes else graphs.y


def class_names(values: ArrayLike) -> NDArray[np.str_]:
    """The names of classes, which are the same whether a set or a model has them as numbers or as words.

    Example:
        >>> class_names(np.array([1.0, 2.0])), class_names(np.array(["1", "b"]))
        (array(['1', '2'], dtype='<U1'), array(['1', 'b'], dtype='<U1'))
    """
    classes = column_or_1d(values)
    check_classification_targets(classes)
    return np.array([name_of_class(value) for value in classes.tolist()])


def _carried(graphs: GraphSet, estimator: str) -> GraphSet:
    if graphs.y is None:
        raise GraphError(f"{estimator} requires y to be passed, but the target y is None and the graphs carry none")
    return graphs


def _without_target(noun: str, graph: int, value: Any) -> GraphError:
    return GraphError(f"y has no {noun} for graph {graph}, but {value!r}: leave out graphs without a {noun}")


def _check_length(graphs: GraphSet, values: NDArray) -> None:
    if len(values) != len(graphs):
        raise GraphError(
            f"there are {len(graphs)} graphs, but y has {len(values)} targets: expected one for each graph"
        )


__all__ = ["BankGCNClassifier", "BankGCNRegressor"]
