"""Numbers of nodes are scaled by the training graphs alone, and other graphs by the same numbers."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

from bankgcn.data import GraphError
from bankgcn.data.builtin import mutag
from bankgcn.data.convert import from_networkx
from bankgcn.data.features.spec import conform, describe_features, refit, same_before_fit, scale_numbers, widened
from bankgcn.data.graphs import GraphSet
from refusals import refused


def rings(*charges: list[float], words: str = "CCNO") -> GraphSet:
    graphs = []
    for place, values in enumerate(charges):
        ring = nx.cycle_graph(len(values))
        for node, charge in enumerate(values):
            ring.add_node(node, charge=charge, mass=7.0, element=words[place])
        graphs.append(ring)
    return from_networkx(graphs, name="rings")


@pytest.fixture
def graphs() -> GraphSet:
    return rings([1.0, 2.0, 3.0], [5.0, 5.0, 8.0], [1000.0, -1000.0, 0.0])


def test_mean_and_deviation_are_those_of_the_training_graphs(graphs: GraphSet) -> None:
    scaled = scale_numbers(graphs, [0, 1], "standard")
    assert scaled.attributes is not None
    np.testing.assert_allclose(scaled.attributes[:6, 0].mean(), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.attributes[:6, 0].std(), 1, atol=1e-6)
    assert abs(scaled.attributes[6, 0]) > 100
    assert not scaled.attributes[:, 1].any()  # a constant column is 0
    assert scaled.labels is graphs.labels


def test_the_range_of_the_training_graphs_becomes_0_to_1(graphs: GraphSet) -> None:
    scaled = scale_numbers(graphs, [0], "range")
    assert scaled.attributes is not None
    assert scaled.attributes[:4, 0].tolist() == [0, 0.5, 1, 2]


@pytest.mark.parametrize("kind", ["standard", "range"])
def test_new_graphs_are_scaled_by_what_was_fitted(graphs: GraphSet, kind: str) -> None:
    fitted = scale_numbers(refit(graphs, [0, 1]), [0, 1], kind)
    expected = json.loads(json.dumps(describe_features(fitted)))
    again = conform(graphs, expected, "again")
    assert np.array_equal(again.signals(), fitted.signals())
    assert again.fingerprint == fitted.fingerprint
    assert conform(fitted, expected, "same") is fitted
    alone = conform(rings([5.0, 8.0], words="C"), expected, "new")
    assert alone.signals()[:, :2].tolist() == fitted.signals()[[3, 5], :2].tolist()


def test_one_hot_columns_stay_as_they_are(graphs: GraphSet) -> None:
    fitted = scale_numbers(refit(graphs, [0, 1]), [0, 1], "standard")  # N is unseen: the words are stored as numbers
    assert fitted.signals()[:, 2:].tolist() == refit(graphs, [0, 1]).signals()[:, 2:].tolist()


def test_graphs_without_a_schema_are_scaled_too() -> None:
    plain = GraphSet.from_edges([2, 1], np.zeros((2, 0), int), attributes=[[1.0, 4.0], [3.0, 4.0], [9.0, 0.0]])
    scaled = scale_numbers(plain, [0], "standard")
    again = conform(plain, describe_features(scaled), "again")
    assert again.fingerprint == scaled.fingerprint
    assert conform(scaled, describe_features(plain), "back").signals().tolist() == plain.signals().tolist()


def test_fitting_again_starts_from_the_numbers_as_they_were_read(graphs: GraphSet) -> None:
    scaled = scale_numbers(graphs, [0], "range")
    np.testing.assert_allclose(refit(scaled, [0, 1, 2]).signals(), refit(graphs, [0, 1, 2]).signals(), rtol=1e-5)


def test_models_of_two_splits_vote_together_if_they_scale_alike(graphs: GraphSet) -> None:
    one, two = (describe_features(scale_numbers(refit(graphs, [k]), [k], "standard")) for k in (0, 1))
    other = describe_features(scale_numbers(refit(graphs, [0]), [0], "range"))
    assert same_before_fit(one, two)
    assert not same_before_fit(one, other)
    assert not same_before_fit(one, describe_features(refit(graphs, [0])))
    assert "scale" not in widened(one)


def test_nodes_without_numbers_of_their_own_are_refused() -> None:
    with refused(GraphError, "MUTAG", scale="standard"):
        scale_numbers(mutag(), [0], "standard")
