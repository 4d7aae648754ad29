"""Graphs without the weights of their edges."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.data.combine import without_weights
from bankgcn.data.graphs import GraphSet
from random_sets import RandomSet, graph_sets


@given(graph_sets(min_graphs=1))
def test_graphs_without_weights_are_those_built_without_them(drawn: RandomSet) -> None:
    graphs = drawn.build()
    again = without_weights(graphs)
    plain = GraphSet.from_edges(
        drawn.num_nodes,
        graphs.batch().edge_index,  # the drawn list may have duplicates, and these add up to a weight
        attributes=drawn.attributes,
        labels=drawn.labels,
        label_widths=(3, 4),
        y=drawn.y,
        classes=("no", "yes"),
    )
    assert again.edge_weight is None
    assert again.fingerprint == plain.fingerprint
    np.testing.assert_array_equal(again.shift, plain.shift)


def test_a_note_says_that_weights_are_ignored() -> None:
    graphs = smooth_or_alternating(3)
    assert without_weights(graphs) is graphs
    weighted = GraphSet.from_edges([2], [[0, 1], [1, 0]], edge_weight=[2.0, 2.0])
    assert without_weights(weighted).notes == ("the weights of the edges are ignored",)
