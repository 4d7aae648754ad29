"""Sets are joined: the inverse of indexing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from bankgcn.data import GraphError, GraphSet
from bankgcn.data.combine import join
from random_sets import RandomSet, graph_sets
from refusals import refused


@given(graph_sets(min_graphs=1))
def test_a_set_is_the_join_of_its_graphs(drawn: RandomSet) -> None:
    graphs = drawn.build()
    joined = join([graphs[number] for number in range(len(graphs))])
    assert joined.fingerprint == graphs.fingerprint
    np.testing.assert_array_equal(joined.shift, graphs.shift)
    assert (joined.names, joined.classes) == (graphs.names, graphs.classes)


def test_edges_without_weights_weigh_one_beside_others() -> None:
    edge = [[0, 1], [1, 0]]
    plain, heavy = GraphSet.from_edges([2], edge), GraphSet.from_edges([2], edge, edge_weight=[3.0, 3.0])
    assert join([plain, heavy]).edge_weight.tolist() == [1, 1, 3, 3]
    assert join([plain, plain]).edge_weight is None


def test_sets_that_differ_are_refused() -> None:
    one = GraphSet.from_edges([1], np.zeros((2, 0), int), attributes=[[1.0]], y=["a"])
    with refused(GraphError, "set 1", 2, "set 0", 1):
        join([one, GraphSet.from_edges([1], np.zeros((2, 0), int), attributes=[[1.0, 2.0]], y=["a"])])
    with refused(GraphError, "set 1", "classes"):
        join([one, replace(one, classes=("b",))])
    with pytest.raises(GraphError, match="there are no sets to join"):
        join([])
