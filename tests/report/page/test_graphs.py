"""The data of single graphs on a page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from bankgcn.data.builtin import MUTAG_BONDS, mutag
from bankgcn.data.graphs import GraphSet
from bankgcn.explain import explain
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


def edge_model(**options: object) -> TrainedModel:
    torch.manual_seed(0)
    settings = {
        "hidden_channels": 16,
        "num_layers": 2,
        "conv_options": {"num_subspaces": 4},
        "edges": "both",
        **options,
    }
    config = ModelConfig(**settings)  # type: ignore[arg-type]
    net = config.build(7, 2, edge_dim=4).eval()
    with torch.no_grad():
        for name, weight in net.named_parameters():
            if "weigh_edges" in name:
                weight.normal_()
    return TrainedModel(net, config, CLASSES, 7, edge_dim=4)


def test_an_entry_has_the_weight_of_each_drawn_edge_in_each_subspace() -> None:
    graphs, model = mutag()[:2], edge_model()
    found = PredictedGraphs(graphs, np.full((2, 2), 0.5), None, ("one", "two"), (None, None))
    page = browse([model], found, [0, 1])
    for graph, entry in zip((graphs[[0]], graphs[[1]]), page.entries, strict=True):
        ends = np.array(entry["lines"]).reshape(-1, 2).tolist()
        batch = graph.batch()
        place = {tuple(pair): edge for edge, pair in enumerate(batch.edge_index.T.tolist())}
        for layer, conv in zip(entry["weights"], model.net.convs, strict=True):
            expected = conv.edge_weights(batch.edge_attr.to(conv.alpha)).detach().numpy()
            assert [number for number, _ in layer] == [1, 2, 3, 4]
            for edge, pair in enumerate(ends):
                drawn = [weights[entry["edge_kinds"][edge]] for _, weights in layer]
                np.testing.assert_allclose(drawn, expected[place[tuple(pair)]], rtol=1e-5)
        labels = graph.batch().edge_labels
        assert labels is not None
        bonds = [MUTAG_BONDS[labels[place[tuple(pair)], 0]] for pair in ends]
        assert [entry["edge_words"][kind] for kind in entry["edge_kinds"]] == bonds
        explanation = explain(model, graph).edges
        assert explanation is not None
        added = explanation[:, 0] - explanation.mean(1)
        np.testing.assert_allclose(entry["edge_evidence"]["0"], added, rtol=1e-5)  # MUTAG is drawn in the set's order
    assert page.edge_scales[0] > 0


def test_bonds_of_a_structure_are_found_in_any_order() -> None:
    graphs = GraphSet.from_smiles(["OC(=O)CN"])
    lengths = np.array([a + 10 * b for a, b in np.sort(graphs.batch().edge_index.T.numpy(), axis=1)], float)
    named = replace(graphs, edge_attributes=lengths[:, None].astype(np.float32), edge_labels=None, edge_label_widths=())
    config = ModelConfig(hidden_channels=16, num_layers=1, edges="weights")
    net = config.build(named.num_features, 2, edge_dim=1).eval()
    model = TrainedModel(net, config, CLASSES, named.num_features, edge_dim=1)
    found = PredictedGraphs(named, np.full((1, 2), 0.5), None, ("acid",), ("OC(=O)CN",))
    (entry,) = browse([model], found, [0]).entries
    ends = np.sort(np.array(entry["lines"]).reshape(-1, 2), axis=1).tolist()
    values = [float(entry["edge_words"][kind].split("=")[1]) for kind in entry["edge_kinds"]]
    assert values == [a + 10 * b for a, b in ends]


def test_models_that_use_edges_otherwise_have_no_weights_of_subspaces() -> None:
    found = PredictedGraphs(mutag()[:1], np.full((1, 2), 0.5), None, ("one",), (None,))
    (entry,) = browse([edge_model(edges="input")], found, [0]).entries
    assert "weights" not in entry
    assert len(entry["edge_evidence"]["0"]) == entry["edges"]
    config = ModelConfig(hidden_channels=16, num_layers=1)
    (plain,) = browse([TrainedModel(config.build(7, 2).eval(), config, CLASSES, 7)], found, [0]).entries
    assert not {"weights", "edge_kinds", "edge_evidence"} & set(plain)
