"""The five figures of a set."""

from __future__ import annotations

from dataclasses import replace

from bankgcn.data.catalog import Statistics
from bankgcn.data.graphs import GraphSet


def test_means_are_rounded_to_two_decimals() -> None:
    graphs = GraphSet.from_edges([2, 2, 3], [[0, 1], [1, 0]], labels=[0, 1, 0, 0, 0, 0, 2], y=[0, 1, 0])
    assert Statistics.of(graphs) == Statistics(graphs=3, nodes=2.33, edges=0.33, features=3, classes=2)


def test_an_empty_set_has_figures_too() -> None:
    graphs = GraphSet.from_edges([2], [[0, 1], [1, 0]])[[]]
    assert Statistics.of(graphs) == Statistics(graphs=0, nodes=0, edges=0, features=0, classes=0)


def test_what_differs_is_named() -> None:
    one = Statistics(graphs=3, nodes=2.33, edges=0.33, features=3, classes=2)
    assert one.differing(one) == []
    assert one.differing(replace(one, edges=0.34, classes=3)) == ["edges", "classes"]
