"""Two sets as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bankgcn.data import GraphError
from bankgcn.data.builtin import mutag
from bankgcn.data.combine import concatenate
from bankgcn.data.graphs import GraphSet
from refusals import refused


def test_the_parts_of_a_set_make_the_set_again() -> None:
    graphs = mutag()
    again = concatenate(graphs[:50], graphs[50:])
    assert again.fingerprint == graphs.fingerprint
    np.testing.assert_array_equal(again.shift, graphs.shift)


def test_classes_are_matched_by_name() -> None:
    first = GraphSet.from_edges([1, 1], np.zeros((2, 0), int), y=[0, 1], classes=["a", "b"], attributes=[1.0, 2.0])
    second = replace(first, classes=("b", "a"), name="other")
    assert concatenate(first, second).y.tolist() == [0, 1, 1, 0]
    with refused(GraphError, "other", "c"):
        concatenate(first, replace(second, classes=("b", "c")))


def test_columns_of_targets_are_matched_by_name() -> None:
    first = GraphSet.from_edges([1], np.zeros((2, 0), int), y=[[1.0, 2.0]], targets=("a", "b"), attributes=[0.0])
    second = replace(first, targets=("b", "a"), name="other")
    both = concatenate(first, second)
    assert both.targets == ("a", "b")
    assert both.y.tolist() == [[1, 2], [2, 1]]
    with refused(GraphError, "other", "b", "a, c"):
        concatenate(first, replace(second, targets=("a", "c")))


def test_a_single_target_needs_no_name() -> None:
    first = GraphSet.from_edges([1], np.zeros((2, 0), int), y=[1.0], targets=("a",), attributes=[0.0])
    assert concatenate(first, replace(first, targets=("b",))).y.tolist() == [1, 1]


def test_one_hot_columns_may_be_stored_as_attributes() -> None:
    first = GraphSet.from_edges([2], np.zeros((2, 0), int), labels=[0, 1], y=[0])
    second = GraphSet.from_edges([1], np.zeros((2, 0), int), attributes=[[0.0, 0.0]], y=[0])
    assert concatenate(first, second).batch().x.tolist() == [[1, 0], [0, 1], [0, 0]]


def test_weights_of_1_stand_for_those_that_a_set_lacks() -> None:
    edges = [[0, 1], [1, 0]]
    first = GraphSet.from_edges([2], edges, edge_weight=[3.0, 3.0], y=[0], attributes=[0.0, 1.0])
    second = GraphSet.from_edges([2], edges, y=[0], attributes=[0.0, 1.0])
    assert concatenate(first, second).edge_weight.tolist() == [3, 3, 1, 1]


def test_rows_without_graphs_are_counted_over_both_sources() -> None:
    def graphs(skipped: list[tuple[int, str]]) -> GraphSet:
        return GraphSet.from_edges([1, 1], np.zeros((2, 0), int), y=[0, 0], attributes=[0.0, 1.0], skipped=skipped)

    both = concatenate(graphs([(1, "x")]), graphs([(0, "y")]))
    assert both.skipped == ((1, "x"), (3, "y"))
    assert both.rows.tolist() == [0, 2, 4, 5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": None, "classes": ()}, "other has no targets"),
        ({"y": np.array([0.5], np.float32), "classes": ()}, "are of another kind"),
        ({"attributes": np.zeros((1, 2), np.float32)}, "other has 2 features a node, but one has 1"),
    ],
)
def test_sets_that_do_not_fit_together_are_refused(change: dict, message: str) -> None:
    first = GraphSet.from_edges([1], np.zeros((2, 0), int), y=[0], attributes=[0.0], name="one")
    with pytest.raises(GraphError, match=message):
        concatenate(first, replace(first, name="other", **change))
