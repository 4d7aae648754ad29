"""The data of single graphs on a page."""

from __future__ import annotations

import numpy as np

from bankgcn.data.builtin.mutag import mutag
from bankgcn.report.page.browser import Examined, browse, encode, worst_first, wrongness
from bankgcn.tasks import Task
from bankgcn.training.model import ModelConfig, TrainedModel

CLASSES = Task(names=("a", "b"))


def test_the_worst_mistakes_come_first_and_some_others_follow() -> None:
    predictions = np.array([[0.9, 0.1], [0.2, 0.8], [0.01, 0.99], [0.6, 0.4], [0.5, 0.5], [0.7, 0.3]])
    y = np.zeros(6, int)
    assert worst_first(CLASSES, predictions, y, 3).tolist()[:2] == [2, 1]
    assert sorted(worst_first(CLASSES, predictions, y, 10).tolist()) == list(range(6))
    assert worst_first(CLASSES, predictions, None, 1).tolist() == [4]  # the least certain


def test_unknown_targets_count_as_nothing() -> None:
    labels = Task(kind="labels", names=("x", "y"))
    unknown = np.array([[np.nan, np.nan], [np.nan, 0]])
    assert wrongness(labels, np.full((2, 2), 0.5), unknown).tolist() == [0.0, -np.log(0.5)]
    values = Task(kind="values", names=("u",), center=(0.0,), scale=(2.0,))
    assert wrongness(values, np.array([[4.0], [1.0]]), np.array([[0.0], [np.nan]])).tolist() == [2.0, 0.0]


def test_levels_are_one_character_each() -> None:
    assert encode([0, 1, 0.5, 2, -1]) == "0ziz0"


def test_an_entry_has_what_the_page_draws() -> None:
    graphs = mutag()[:2]
    config = ModelConfig(hidden_channels=16, num_layers=2, conv_options={"num_subspaces": 4})
    model = TrainedModel(config.build(7, 2).eval(), config, CLASSES, 7)
    found = Examined(graphs, np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([1, 1]), ("one", "two"), (None, None))
    wrong, right = browse([model], found, [0, 1])
    assert (wrong["wrong"], wrong["true"], wrong["predicted"]) == (True, "b", "a")
    assert right["wrong"] is False
    assert len(wrong["nodes_evidence"]) == wrong["nodes"] == len(wrong["places"]) // 2
    assert [len(layer) for layer in wrong["outputs"]] == [4, 4]
    assert all(len(levels) == wrong["nodes"] for layer in wrong["outputs"] for _, levels in layer)
    np.testing.assert_allclose(sum(wrong["spectrum"]["energy"]), 1)


def test_a_graph_is_explained_by_the_first_model_that_predicts_it() -> None:
    graphs, models = mutag()[:2], []
    config = ModelConfig(hidden_channels=16, num_layers=2, conv_options={"num_subspaces": 4})
    for _ in range(3):
        models.append(TrainedModel(config.build(7, 2).eval(), config, CLASSES, 7))
    voters = np.array([[False, True, True], [True, False, False]])
    found = Examined(graphs, np.full((2, 2), 0.5), None, ("one", "two"), (None, None), voters)
    everyone = Examined(graphs, found.predictions, None, found.names, found.smiles)
    first, second = browse(models, found, [0, 1])
    assert first == browse([models[1]], everyone, [0])[0] != browse([models[0]], everyone, [0])[0]
    assert second == browse([models[0]], everyone, [1])[0]
