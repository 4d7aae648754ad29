"""The data of single graphs on a page."""

from __future__ import annotations

import numpy as np

from bankgcn.data.builtin import mutag
from bankgcn.report.page.graphs import PredictedGraphs, browse, color_scales, encode, worst_first, wrongness
from bankgcn.tasks import Task
from bankgcn.training.config import ModelConfig
from bankgcn.training.model import TrainedModel

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
    found = PredictedGraphs(graphs, np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([1, 1]), ("one", "two"), (None, None))
    wrong, right = browse([model], found, [0, 1]).entries
    assert (wrong["wrong"], wrong["true"], wrong["predicted"]) == (True, "b", "a")
    assert right["wrong"] is False
    assert wrong["explained"] == 0
    assert [len(values) for values in wrong["evidence"].values()] == [wrong["nodes"]] * 2
    assert wrong["nodes"] == len(wrong["places"]) // 2
    assert [len(layer) for layer in wrong["outputs"]] == [4, 4]
    assert all(len(levels) == wrong["nodes"] for layer in wrong["outputs"] for _, levels in layer)
    np.testing.assert_allclose(sum(wrong["spectrum"]["energy"]), 1)


def test_a_graph_is_explained_by_the_first_model_that_predicts_it() -> None:
    graphs, models = mutag()[:2], []
    config = ModelConfig(hidden_channels=16, num_layers=2, conv_options={"num_subspaces": 4})
    for _ in range(3):
        models.append(TrainedModel(config.build(7, 2).eval(), config, CLASSES, 7))
    voters = np.array([[False, True, True], [True, False, False]])
    found = PredictedGraphs(graphs, np.full((2, 2), 0.5), None, ("one", "two"), (None, None), voters)
    everyone = PredictedGraphs(graphs, found.predictions, None, found.names, found.smiles)
    first, second = browse(models, found, [0, 1]).entries
    assert first == browse([models[1]], everyone, [0]).entries[0] != browse([models[0]], everyone, [0]).entries[0]
    assert second == browse([models[0]], everyone, [1]).entries[0]


def labels_model(number: int) -> tuple[TrainedModel, PredictedGraphs]:
    task = Task(kind="labels", names=tuple(f"label {c}" for c in range(number)))
    config = ModelConfig(hidden_channels=16, num_layers=2, conv_options={"num_subspaces": 4})
    model = TrainedModel(config.build(7, number).eval(), config, task, 7)
    y = np.tile([0.0, 1.0, np.nan], (2, number))[:, :number]
    predictions = np.full((2, number), 0.1)
    predictions[1, 0] = 0.99
    return model, PredictedGraphs(mutag()[:2], predictions, y, ("one", "two"), (None, None))


def test_all_labels_stand_beside_their_truth_and_any_of_them_can_be_explained() -> None:
    model, found = labels_model(12)
    graphs = browse([model], found, [0, 1])
    first, second = graphs.entries
    assert [row[:2] for row in first["rows"]] == [[c, f"label {c}"] for c in range(12)]
    assert [row[3] for row in first["rows"]][:3] == [0.0, 1.0, None]
    assert set(first["evidence"]) == set(first["bands"]) == {str(c) for c in range(12)}
    assert (first["explained"], second["explained"]) == (1, 0)  # the most wrong
    assert (first["predicted"], graphs.label) == ("4 of 8 labels wrong", None)
    assert graphs.outputs[3] == (3, "label 3")
    assert browse([model], found, [0], label=7).label == 7


def test_the_label_that_is_asked_for_can_be_chosen_among_many() -> None:
    model, found = labels_model(60)
    graphs = browse([model], found, [0], label=50)
    assert len(graphs.outputs) == 24
    assert (50, "label 50") in graphs.outputs
    assert "50" in graphs.entries[0]["evidence"]
    assert len(graphs.entries[0]["rows"]) == 60


def test_without_a_truth_the_most_probable_label_is_explained() -> None:
    model, found = labels_model(3)
    unknown = PredictedGraphs(found.graphs, np.array([[0.1, 0.2, 0.7]] * 2), None, found.names, found.smiles)
    assert browse([model], unknown, [0]).entries[0]["explained"] == 2


def test_all_graphs_have_one_scale_of_colours_and_values_one_for_each_unit() -> None:
    strong, weak = {"evidence": {"0": [1.0, -2.0], "1": [0.5, 0.5]}}, {"evidence": {"0": [0.01, 0.0], "1": [0.0, 0.0]}}
    scales = color_scales(CLASSES, [strong, weak])
    assert scales == color_scales(CLASSES, [weak, strong])
    assert scales[0] == scales[1]
    assert 0.01 / scales[0] < 0.02  # a weak effect is pale
    values = Task(kind="values", names=("u", "v"), center=(0.0, 0.0), scale=(1.0, 1.0))
    assert color_scales(values, [strong, weak])[0] > 2 * color_scales(values, [strong, weak])[1]
    assert color_scales(values, []) == (0.0, 0.0)
