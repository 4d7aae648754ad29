"""A forest of arrays against scikit-learn's own predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from bankgcn.data.graphs import GraphSet
from bankgcn.rivals import Forest, Layout, Lesson
from bankgcn.rivals.trees import Trees
from bankgcn.tasks import Task
from colored_graphs import random_graphs

LAYOUT = Layout(2, 0, 2, 0)


def lesson(y: NDArray, kind: str, names: tuple[str, ...], **further: object) -> Lesson:
    graphs = replace(random_graphs(1, count=len(y)), y=y, classes=names if kind == "classes" else (), targets=())
    task = Task.fitted(y, names, kind)
    return Lesson(train=graphs, valid=graphs[:5], task=task, cost=lambda outputs: (0.0, 0.0), **further)  # type: ignore[arg-type]


def test_trees_decide_as_those_of_scikit_learn_on_any_columns() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(300, 6)).astype(np.float32)
    rows[:, 0] = np.rint(rows[:, 0])
    values = rows[:, 1] * 3 + random.normal(size=300)
    regressor = RandomForestRegressor(30, random_state=0).fit(rows[:200], values[:200])
    trees = Trees.of(regressor.estimators_, None, 1)
    np.testing.assert_allclose(trees.predict(rows)[:, 0], regressor.predict(rows), atol=1e-6)
    on_thresholds = np.repeat(trees.threshold[trees.right > 0][:200, None], 6, axis=1)
    np.testing.assert_allclose(trees.predict(on_thresholds)[:, 0], regressor.predict(on_thresholds), atol=1e-6)
    classes = (rows[:, 1] > 0).astype(int) + (rows[:, 2] > 0.5)
    classifier = RandomForestClassifier(30, random_state=0).fit(rows[:200], classes[:200])
    shares = Trees.of(classifier.estimators_, [0, 1, 2], 3).predict(rows)
    np.testing.assert_allclose(shares, classifier.predict_proba(rows), atol=1e-7)


def test_a_graph_gets_the_same_digits_in_any_set() -> None:
    given = lesson(np.arange(40) % 3, "classes", ("a", "b", "c"))
    forest = Forest("classes", 3, LAYOUT)
    forest.fit(given, trees=20)
    whole = forest.compute(given.train)
    assert np.array_equal(whole[7:8], forest.compute(given.train[7:8]))
    assert np.array_equal(whole, forest.compute(given.train))
    assert forest.compute(given.train[:0]).shape == (0, 3)


def test_labels_learn_from_the_graphs_whose_answer_is_known() -> None:
    y = np.array([[0, 1], [1, np.nan], [0, 0], [np.nan, 1]] * 10, np.float32)
    y[:20, 0] = np.nan
    given = lesson(y, "labels", ("one", "two"), seed=3)
    forest = Forest("labels", 2, LAYOUT)
    forest.fit(given, trees=20)
    rows = forest.columns(given.train)
    for label in range(2):
        known = ~np.isnan(y[:, label])
        oracle = RandomForestClassifier(20, random_state=3 + label).fit(rows[known], y[known, label].astype(int))
        np.testing.assert_allclose(forest.shares(given.train)[:, label], oracle.predict_proba(rows)[:, 1], atol=1e-7)


def test_values_are_learned_in_standard_units() -> None:
    y = np.linspace(100, 200, 30, dtype=np.float32)
    given = lesson(y, "values", ("y",))
    forest = Forest("values", 1, LAYOUT)
    forest.fit(given, trees=20)
    standard = given.targets()[:, 0]
    np.testing.assert_allclose(standard, (y - np.mean(y)) / np.std(y), atol=1e-5)
    oracle = RandomForestRegressor(20, random_state=0).fit(forest.columns(given.train), standard)
    np.testing.assert_allclose(
        forest.compute(given.train)[:, 0], oracle.predict(forest.columns(given.train)), atol=1e-6
    )


def test_no_share_is_0_or_1() -> None:
    given = lesson(np.arange(40) % 2, "classes", ("a", "b"))
    forest = Forest("classes", 2, LAYOUT)
    forest.fit(given, trees=20)
    shares, outputs = forest.shares(given.train), forest.compute(given.train)
    np.testing.assert_allclose(np.exp(outputs), (20 * shares + 0.5) / 21)


def test_columns_are_counts_sums_and_means() -> None:
    graphs = GraphSet.from_edges(
        [2, 2, 1], [[0, 1, 2, 3], [1, 0, 3, 2]], labels=[0, 1, 0, 1, 0], attributes=[[0.5], [1.5], [2.5], [3.5], [9.5]]
    )
    given = replace(
        lesson(np.arange(3) % 2, "classes", ("a", "b")),
        train=replace(graphs, y=np.array([0, 1, 0]), classes=("a", "b")),
    )
    forest = Forest("classes", 2, Layout(1, 0, None, 0))
    forest.fit(given, trees=2)
    assert forest.columns.vocabulary is not None
    colors = int(forest.columns.vocabulary.starts[-1])
    assert colors == 2 + 2 + 2 + 2  # the single node shares its first colour alone
    rows = forest.columns(graphs)
    assert sorted(rows[:, :2].tolist()) == sorted([[1.0, 1.0], [1.0, 1.0], *([rows[2, :2].tolist()])])
    assert rows[:, colors:].tolist() == [[2, 1, 2, 1], [2, 1, 6, 3], [1, 0, 9.5, 9.5]]


def stored(forest: Forest, **changes: NDArray) -> Forest:
    return Forest(forest.kind, forest.out_channels, forest.layout).restore(
        forest.to_dict(), {**forest.arrays(), **changes}
    )


def test_a_stored_forest_predicts_the_same_and_a_damaged_one_is_refused() -> None:
    given = lesson(np.arange(40) % 2, "classes", ("a", "b"))
    forest = Forest("classes", 2, LAYOUT)
    forest.fit(given, trees=5)
    assert np.array_equal(stored(forest).compute(given.train), forest.compute(given.train))
    trees = forest.groups[0]
    inner = int(np.flatnonzero(trees.right)[0])

    def with_(name: str, place: object, value: float) -> dict[str, NDArray]:
        array = getattr(trees, name).copy()
        array[place] = value
        return {f"trees.0.{name}": array}

    for change, message in [
        (with_("right", inner, 1), "right names a node"),  # a way down that would not end
        (with_("right", inner, 10**6), "right names a node"),
        (with_("right", inner, -5), "right names a node"),
        (with_("feature", inner, 10**6), "feature names a column"),
        (with_("feature", inner, -1), "feature names a column"),
        (with_("threshold", inner, np.nan), "threshold holds"),
        (with_("value", (inner, 0), np.inf), "value has shape"),
        (with_("value", (inner, 0), 7), "value holds a share"),
        (with_("ptr", 1, 0), "ptr does not cut"),
        (with_("ptr", -1, 3), "ptr does not cut"),
        ({"trees.0.threshold": trees.threshold[:-1]}, "threshold has"),
        ({"trees.0.right": trees.right.astype(np.int64)}, "right has shape"),
        ({"fill": forest.columns.fill[:-1]}, "means of"),
        ({"fill": forest.columns.fill * np.float32(np.nan)}, "means of columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            stored(forest, **change)
