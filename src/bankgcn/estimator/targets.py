"""Targets of the estimators: from what scikit-learn passes to sets of graphs, and the validation share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, check_array, column_or_1d, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from bankgcn.data import GraphError
from bankgcn.data.duplicates import Duplicates
from bankgcn.data.graphs import GraphSet
from bankgcn.data.splits import Split, random_split, stratified_split
from bankgcn.data.target_values import name_of_class
from bankgcn.predictor import class_values
from bankgcn.tasks import kind_of
from bankgcn.training.checks import check_weights


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


def validation_split(graphs: GraphSet, share: float, seed: int, duplicates: Duplicates | None = None) -> Split:
    """Training and validation graphs, stratified by class.

    Args:
        graphs: The graphs with their targets.
        share: Share of the validation graphs, as far as every class has a training graph. There is at least one
            validation graph.
        seed: Number of the split.
        duplicates: The equal graphs, if they shall stay together.
    """
    if not 0 < share < 1:
        raise ValueError(f"validation_fraction={share}: expected a number between 0 and 1")
    y = graphs.y
    if y is None or len(graphs) < 2:
        raise ValueError(f"n_samples={len(graphs)}: a training needs at least two graphs, one of them for validation")
    if duplicates is not None and duplicates.repeated and len(duplicates.distinct) > 1:
        together = duplicates.spread(validation_split(graphs[duplicates.distinct], share, seed))
        if not graphs.classes or np.isin(y, y[together.train]).all():
            return together  # otherwise equal graphs contradict each other, and a class would never be trained
    ratios = (1 - share, share, 0)
    split = stratified_split(y, ratios, seed) if graphs.classes else random_split(len(y), ratios, seed)
    labels = y if graphs.classes else np.zeros(len(y), np.int64)  # numbers are one class
    classes, first = np.unique(labels[split.valid], return_index=True)
    untrained = first[~np.isin(classes, labels[split.train])]  # the network would never see their classes
    valid = np.delete(split.valid, untrained)
    if not len(valid):
        classes, counts = np.unique(labels, return_counts=True)
        valid = np.flatnonzero(labels == classes[counts.argmax()])[:1]
    rest = np.setdiff1d(np.arange(len(y)), valid)
    return Split(train=rest, valid=valid, test=np.zeros(0, np.int64))


def _carried(graphs: GraphSet, estimator: str) -> GraphSet:
    if graphs.y is None:
        raise GraphError(f"{estimator} requires y to be passed, but the target y is None and the graphs carry none")
    return graphs


def _without_target(kind: str, graph: int, value: Any) -> GraphError:
    return GraphError(f"y has no {kind} for graph {graph}, but {value!r}: leave out graphs without a {kind}")


def _check_length(graphs: GraphSet, values: NDArray) -> None:
    if len(values) != len(graphs):
        raise GraphError(
            f"there are {len(graphs)} graphs, but y has {len(values)} targets: expected one for each graph"
        )
