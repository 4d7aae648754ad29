"""Answers are those of ``predict``, and a request never sees which others were answered with it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bankgcn.data.builtin import mutag
from bankgcn.data.features.spec import scale_numbers
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.json_graphs import graph_set, read_jsonlines
from bankgcn.data.readers.molecules import from_smiles, parse_smiles
from bankgcn.data.readers.node_link import Entry
from bankgcn.data.sources import find_source
from bankgcn.kernels import use_kernels
from bankgcn.serve.access import RequestError
from bankgcn.serve.engine import Engine
from bankgcn.serve.requests import PredictRequest
from bankgcn.tasks import Task
from bankgcn.training.domain import Domain
from bankgcn.training.ensemble import Ensemble, load_model
from bankgcn.training.intervals import ValidationPredictions
from bankgcn.training.model import TrainedModel
from bankgcn.training.run_folder import RunFolder
from serve_runs import SMILES, TASKS, random_graph, save_run, training_graphs

GRAPHS = [random_graph(nodes, seed=nodes) for nodes in (1, 2, 5, 9, 30, 70, 120, 3, 0)]


def ask(*graphs: dict[str, Any], embeddings: bool = False) -> PredictRequest:
    return PredictRequest("graphs", list(graphs), [len(graph["nodes"]) for graph in graphs], embeddings)


def molecules(*smiles: str) -> PredictRequest:
    return PredictRequest("smiles", list(smiles), list(map(len, smiles)))


def plain(answer: Any) -> Any:
    """An answer without arrays, to be compared exactly."""
    assert not isinstance(answer, RequestError), answer
    return json.loads(json.dumps(answer, default=lambda array: array.tolist()))


def numbers(answer: Any) -> np.ndarray:
    shown = plain(answer)["predictions"]
    return np.array([[*(one.get("values") or one["probabilities"]).values()] for one in shown])


def file_of(folder: Path) -> Path:
    (folder / "graphs.jsonl").write_text("".join(json.dumps(graph) + "\n" for graph in GRAPHS))
    return folder / "graphs.jsonl"


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("config", [{}, {"conv": "gcn", "head": "mlp"}, {"conv": "gat", "conv_options": {"heads": 2}}])
def test_answers_are_those_of_predict_to_the_last_bit(tmp_path: Path, task: str, config: dict[str, Any]) -> None:
    run = save_run(tmp_path / "run", training_graphs(), task, **config)
    ensemble = Ensemble.load(run)
    graphs = find_source(file_of(tmp_path)).load(expected=Expected(features=ensemble.feature_spec, has_target=False))
    mean = ensemble.apply(graphs).mean
    engine = Engine(ensemble)
    np.testing.assert_array_equal(numbers(engine.answer([ask(*GRAPHS)])[0]), mean)
    for graph, expected in zip(GRAPHS, mean, strict=True):
        np.testing.assert_array_equal(numbers(engine.answer([ask(graph)])[0])[0], expected)


def test_a_class_comes_with_its_probabilities(run: Path) -> None:
    (shown,) = plain(Engine(Ensemble.load(run)).answer([ask(GRAPHS[3])])[0])["predictions"]
    assert list(shown) == ["class", "probabilities"]
    assert shown["class"] == max(shown["probabilities"], key=shown["probabilities"].get)
    assert sum(shown["probabilities"].values()) == pytest.approx(1)


def test_an_answer_does_not_depend_on_the_other_requests(run: Path) -> None:
    engine, chance = Engine(Ensemble.load(run)), random.Random(0)
    weighted = random_graph(8, seed=3, weighted=True)
    unseen = {"nodes": [{"id": 0, "charge": 1, "place": [1, 2], "element": "Xe"}], "edges": []}
    broken = {"nodes": [{"id": 0}], "edges": []}
    requests = [*(ask(graph, embeddings=True) for graph in [*GRAPHS, weighted, unseen]), ask(*GRAPHS)]
    alone = [plain(engine.answer([request])[0]) for request in requests]
    bad, twice = ask(GRAPHS[2], broken), {**GRAPHS[2], "edges": "none"}
    for _ in range(20):
        order = [chance.randrange(len(requests)) for _ in range(chance.randint(1, 12))]
        others = chance.sample([bad, ask(twice), molecules("C")], 2)
        answers = engine.answer([*others, *(requests[number] for number in order)])
        assert all(isinstance(answer, RequestError) for answer in answers[:2])
        assert [plain(answer) for answer in answers[2:]] == [alone[number] for number in order]


def test_a_graph_that_fails_late_does_not_harm_others(run: Path) -> None:
    engine = Engine(Ensemble.load(run))
    heavy = random_graph(6, seed=1)
    for edge in heavy["edges"]:
        edge["weight"] = 3e38  # each is a number of float32, but their sum is not
    expected = plain(engine.answer([ask(GRAPHS[3])])[0])
    good, bad, both = engine.answer([ask(GRAPHS[3]), ask(heavy), ask(GRAPHS[4], heavy)])
    assert plain(good) == expected
    assert isinstance(bad, RequestError)
    assert isinstance(both, RequestError)
    assert bad.content["errors"][0]["message"].startswith("graphs[0]: the weights of node")
    assert [error["index"] for error in both.content["errors"]] == [1]


def test_graphs_of_several_calls_are_the_same(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(Ensemble.load(run))
    together = plain(engine.answer([ask(*GRAPHS)])[0])
    monkeypatch.setattr("bankgcn.serve.engine.CALL_NODES", 20)
    assert plain(engine.answer([ask(*GRAPHS)])[0]) == together


def test_without_kernels_answers_agree_up_to_rounding(run: Path) -> None:
    expected = numbers(Engine(Ensemble.load(run)).answer([ask(*GRAPHS)])[0])
    with use_kernels(False):
        engine = Engine(Ensemble.load(run))
        np.testing.assert_allclose(numbers(engine.answer([ask(*GRAPHS)])[0]), expected, atol=1e-5)
        np.testing.assert_allclose(numbers(engine.answer([ask(GRAPHS[4])])[0])[0], expected[4], atol=1e-5)


def test_several_models_have_a_mean_and_a_spread(tmp_path: Path) -> None:
    for seed in range(9):
        save_run(tmp_path / "runs" / str(seed), training_graphs(), "values", seed=seed)
    ensemble = Ensemble.load(tmp_path / "runs")
    engine = Engine(ensemble)
    mean, spread, *_ = ensemble.apply(
        read_jsonlines(file_of(tmp_path), expected=Expected(features=engine.schema.spec, has_target=False))
    )
    (answer,) = engine.answer([ask(*GRAPHS)])
    assert spread is not None
    np.testing.assert_array_equal(numbers(answer), mean)
    given = [[*one["spread"].values()] for one in plain(answer)["predictions"]]
    np.testing.assert_array_equal(given, spread)
    single = plain(engine.answer([ask(GRAPHS[1])])[0])["predictions"]
    assert single == plain(answer)["predictions"][1:2]
    (refused,) = engine.answer([ask(GRAPHS[1], embeddings=True)])
    assert isinstance(refused, RequestError)
    assert "'embeddings' needs one model, but there are 9" in refused.detail


def test_embeddings_are_those_of_embed(run: Path, tmp_path: Path) -> None:
    predictor = load_model(run)
    entries = [Entry(graph, Path("graphs")) for graph in GRAPHS]
    graphs = graph_set(entries, "graphs", ReadOptions(), Expected(has_target=False), Engine(predictor.ensemble).schema)
    (answer,) = Engine(predictor.ensemble).answer([ask(*GRAPHS, embeddings=True)])
    assert isinstance(answer, dict)
    given = np.stack([one["embedding"] for one in answer["predictions"]])
    np.testing.assert_array_equal(given, predictor.embed(graphs))


@pytest.mark.parametrize("features", ["raw", "onehot"])
def test_molecules_are_predicted_from_smiles(tmp_path: Path, features: Any) -> None:
    trained = from_smiles(SMILES, features=features)
    engine = Engine(Ensemble.load(save_run(tmp_path / "run", trained)))
    mean = engine.ensemble.apply(trained).mean
    np.testing.assert_array_equal(numbers(engine.answer([molecules(*SMILES)])[0]), mean)
    bad, good = engine.answer([molecules("CCO", "C1CC", "not one"), molecules("CN")])
    assert isinstance(bad, RequestError)
    assert [error["index"] for error in bad.content["errors"]] == [1, 2]
    assert bad.content["errors"][0]["message"] == "smiles[1]: unclosed ring"
    np.testing.assert_array_equal(numbers(good)[0], mean[3])
    (graph,) = engine.answer([ask({"nodes": [{"id": 0, "x": trained.batch(4).x[0].tolist()}], "edges": []})])
    if features == "raw":
        np.testing.assert_array_equal(numbers(graph)[0], mean[4])
    else:
        assert isinstance(graph, RequestError)
        assert graph.detail == "the model takes 'smiles', not 'graphs'"


def test_molecules_that_are_read_in_pieces_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(Ensemble.load(save_run(tmp_path / "run", from_smiles(SMILES))))
    together = plain(engine.answer([molecules(*SMILES)])[0])
    monkeypatch.setattr("bankgcn.serve.engine.PIECE", 5)
    assert plain(engine.answer([molecules(*SMILES)])[0]) == together
    (bad,) = engine.answer([molecules("CCO", "CCCCCC", "C1CC", "CC", "not one")])
    assert isinstance(bad, RequestError)
    assert [error["index"] for error in bad.content["errors"]] == [2, 4]


def test_work_that_nobody_waits_for_ends_between_molecules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(Ensemble.load(save_run(tmp_path / "run", from_smiles(SMILES))))
    alone = plain(engine.answer([molecules("CCO")])[0])
    read: list[str] = []

    def parse(smiles: list[str], *options: bool) -> Any:
        read.extend(smiles)
        return parse_smiles(smiles, *options)

    monkeypatch.setattr("bankgcn.serve.engine.PIECE", 1)
    monkeypatch.setattr("bankgcn.serve.engine.parse_smiles", parse)
    (answer,) = engine.answer([molecules(*["CCC"] * 50)], lambda number: len(read) < 3)
    assert isinstance(answer, RequestError)
    assert len(read) == 3
    read.clear()
    monkeypatch.setattr("bankgcn.serve.engine.CALL_NODES", 3)
    gone, kept = engine.answer([molecules(*["CCC"] * 50), molecules("CCO")], lambda number: number or len(read) < 3)
    assert isinstance(gone, RequestError)
    assert plain(kept) == alone
    assert len(read) == 4


def test_a_model_whose_features_no_request_can_have_is_refused(tmp_path: Path) -> None:
    graphs = GraphSet.from_edges([2], [[0, 1], [1, 0]], labels=[0, 1])
    ensemble = Ensemble.load(save_run(tmp_path / "run", graphs))
    with pytest.raises(ValueError, match="trained on categories that have no names"):
        Engine(ensemble)


def test_columns_without_names_are_taken_as_x(tmp_path: Path) -> None:
    graphs = GraphSet.from_edges([2], [[0, 1], [1, 0]], attributes=[[0.5, 2], [3, -1]])
    engine = Engine(Ensemble.load(save_run(tmp_path / "run", graphs)))
    document = {
        "nodes": [{"id": 0, "x": [0.5, 2]}, {"id": 1, "x": [3, -1]}],
        "edges": [{"source": 0, "target": 1}],
    }
    np.testing.assert_array_equal(numbers(engine.answer([ask(document)])[0]), engine.ensemble.apply(graphs).mean)


def test_models_of_tu_sets_take_their_columns_as_x(tmp_path: Path) -> None:
    graphs = mutag()
    engine = Engine(Ensemble.load(save_run(tmp_path / "run", graphs)))
    mean = engine.ensemble.apply(graphs[:3]).mean
    documents = []
    for number in range(3):
        batch = graphs.batch(number)
        nodes = [{"id": node, "x": row} for node, row in enumerate(batch.x.tolist())]
        edges = [{"source": i, "target": j} for i, j in batch.edge_index.T.tolist() if i < j]
        documents.append({"nodes": nodes, "edges": edges})
    np.testing.assert_array_equal(numbers(engine.answer([ask(*documents)])[0]), mean)
    documents[1]["nodes"][2]["x"] = [1, 0]
    (refused,) = engine.answer([ask(*documents)])
    assert isinstance(refused, RequestError)
    assert refused.detail.startswith("graphs[1]: 'x' of node 2 has 2 numbers, expected 7")


def test_graphs_without_signals_need_none(tmp_path: Path) -> None:
    from bankgcn.data.features.signals import structural_signals

    bare = [{"nodes": [{"id": n} for n in range(size)], "edges": [{"source": 0, "target": 1}]} for size in (2, 5)]
    graphs = structural_signals(
        graph_set([Entry(one, Path("own")) for one in bare], "own", ReadOptions(), Expected(has_target=False))
    )
    engine = Engine(Ensemble.load(save_run(tmp_path / "run", graphs)))
    mean = engine.ensemble.apply(graphs).mean
    named = {**bare[1], "nodes": [{**node, "colour": "red"} for node in bare[1]["nodes"]]}
    np.testing.assert_array_equal(numbers(engine.answer([ask(bare[0], named)])[0]), mean)


def test_graphs_are_read_as_in_training_or_as_the_options_say(tmp_path: Path) -> None:
    run = save_run(tmp_path / "run", training_graphs(), reader={"symmetrise": True, "fill_missing": "0"})
    graph = {**random_graph(4, seed=0), "directed": True}
    assert isinstance(Engine(Ensemble.load(run)).answer([ask(graph)])[0], dict)
    (refused,) = Engine(Ensemble.load(run), symmetrise=False).answer([ask(graph)])
    assert isinstance(refused, RequestError)
    assert refused.detail.startswith("graphs[0]: edge (")
    (refused,) = Engine(Ensemble.load(run), symmetrise=False).answer([ask(GRAPHS[1], graph)])
    assert isinstance(refused, RequestError)
    assert refused.detail.startswith("graphs[1]: edge (")  # the same words beside a graph that can be read
    assert "symmetrise" not in refused.detail  # it is no option of a client


@pytest.mark.parametrize(("normalize", "number"), [("none", 3e38), ("before", 1e20), ("after", 1e20)])
@pytest.mark.parametrize("on", [True, False])
def test_numbers_that_overflow_are_refused(tmp_path: Path, normalize: str, number: float, on: bool) -> None:
    run = save_run(tmp_path / "run", training_graphs(), "values", scale=1e4, normalize=normalize)
    graph = random_graph(3, seed=0)
    graph["nodes"][1]["charge"] = number
    with use_kernels(on):
        (refused,) = Engine(Ensemble.load(run)).answer([ask(GRAPHS[1], graph)])
    assert isinstance(refused, RequestError)
    assert [error["index"] for error in refused.content["errors"]] == [1]
    assert "no finite " in refused.detail


@pytest.mark.parametrize("named", [True, False])
def test_numbers_of_nodes_are_scaled_as_in_training(tmp_path: Path, named: bool) -> None:
    graphs = training_graphs()
    graphs = graphs if named else graphs.with_signals(attributes=graphs.signals())
    run = save_run(tmp_path / "run", scale_numbers(graphs, [0, 1, 2], "standard"), "classes")
    ensemble = Ensemble.load(run)
    one = GRAPHS[4]
    if not named:
        expected = Expected(features=training_graphs().feature_spec)
        set_of_one = graph_set([Entry(one, Path("one"))], "one", ReadOptions(), expected)
        rows = set_of_one.signals().tolist()
        one = {**one, "nodes": [{"id": node["id"], "x": row} for node, row in zip(one["nodes"], rows, strict=True)]}
        found = graph_set([Entry(one, Path("one"))], "one", ReadOptions(), Expected())
        found = found.with_signals(attributes=found.signals())
    else:
        found = graph_set([Entry(one, Path("one"))], "one", ReadOptions(), Expected(features=graphs.feature_spec))
    mean = ensemble.apply(found).mean
    np.testing.assert_array_equal(numbers(Engine(ensemble).answer([ask(one)])[0]), mean)


def test_thresholds_of_a_model_decide_classes_and_labels(tmp_path: Path) -> None:
    path = save_run(tmp_path / "r", training_graphs(), "labels")  # two outputs
    (model,) = Ensemble.load(path).members.values()

    def answer(task: Task) -> dict[str, Any]:
        engine = Engine(Ensemble({path: replace(model, task=task)}))
        return engine.answer([ask(GRAPHS[3])])[0]["predictions"][0]

    labels, classes = Task(kind="labels", names=("toxic", "soluble")), Task(names=("no", "yes"))
    assert "labels" not in answer(labels)  # without thresholds, a client decides
    toxic, yes = answer(labels)["probabilities"]["toxic"], answer(classes)["probabilities"]["yes"]
    for shift, label, name in ((-0.01, 1, "yes"), (0.01, 0, "no")):
        assert answer(replace(labels, thresholds=(toxic + shift, 0.5)))["labels"]["toxic"] == label
        assert answer(replace(classes, thresholds=(yes + shift,)))["class"] == name


def test_answers_have_intervals_and_nearness_for_those_who_ask(tmp_path: Path) -> None:
    graphs = training_graphs()
    run = save_run(tmp_path / "run", graphs, "values")
    engine = Engine(Ensemble.load(run))
    refused = engine.answer([replace(ask(GRAPHS[0]), interval=0.9)])[0]
    assert "keeps no predictions for its validation graphs" in refused.content["detail"]
    refused = engine.answer([replace(ask(GRAPHS[0]), domain=True)])[0]
    assert "does not keep what its training graphs look like" in refused.content["detail"]
    rng = np.random.default_rng(0)
    ValidationPredictions(rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), "split").save(RunFolder(run).validation)
    model = TrainedModel.load(RunFolder(run).model)
    domain = Domain.of(graphs, lambda some: model.apply(some)[1], "split")
    assert domain is not None
    domain.save(RunFolder(run).domain)
    ensemble = Ensemble.load(run)
    engine = Engine(ensemble)
    wanted = [
        ask(GRAPHS[0]),
        replace(ask(*GRAPHS[:2]), interval=0.8),
        replace(ask(GRAPHS[1]), interval=0.5, domain=True),
    ]
    plain, bounded, near = (answer["predictions"] for answer in engine.answer(wanted))
    assert list(plain[0]) == ["values"]
    for row, level in ((bounded[1], 0.8), (near[0], 0.5)):
        alone = engine.answer([replace(ask(GRAPHS[1]), interval=level)])[0]["predictions"][0]
        assert row["intervals"] == alone["intervals"]
        for name, (low, high) in row["intervals"].items():
            assert low < row["values"][name] < high
    assert 0 <= near[0]["distance_percentile"] <= 100
    assert near[0]["unseen"] is None
    assert "distance_percentile" not in bounded[0]
