"""The estimators: every form of graphs, scikit-learn's tools, weights, files and errors."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import bankgcn
from bankgcn import BankGCNClassifier, BankGCNRegressor, GraphSet
from bankgcn.cli.settings import Settings
from bankgcn.data import FileError, GraphError
from bankgcn.data.convert import to_networkx, to_pyg
from bankgcn.estimator.base import validation_split
from bankgcn.nn import PLAIN_CONVS
from bankgcn.training.presets import NAMED_BY_PRESETS
from bankgcn.training.spec import IN_PYTHON, RUN_SETTINGS, settings_of_run, spec_of
from recorder import Recorder
from refusals import refused

QUICK: dict[str, Any] = {"hidden": 8, "layers": 2, "epochs": 4, "random_state": 0}
SIZE = 24


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)  # as graphs are stored


def rings_and_paths() -> tuple[list[nx.Graph], list[str]]:
    graphs = [nx.cycle_graph(4 + k // 2) if k % 2 else nx.path_graph(4 + k // 2) for k in range(SIZE)]
    for graph in graphs:
        for node in graph:
            graph.nodes[node].update(element="CN"[node % 2], charge=node / 10)
    return graphs, ["path", "ring"] * (SIZE // 2)


@pytest.fixture
def trained() -> BankGCNClassifier:
    return BankGCNClassifier(**QUICK).fit(*rings_and_paths())


def test_the_parameters_are_the_settings_of_a_run_with_their_defaults() -> None:
    of_the_data = {"smiles", "target", "skip_unreadable", "skip_missing", "fill_missing", "train_per_class", "task"}
    of_the_data |= {
        "feature_columns",
        "id",
        "missing_words",
        "ignore_case",
        "seed",
        "split",
        "split_column",
        "ratios",
        "folds",
        "fold",
        "test",
        "split_seed",
    }
    own = {"attributes", "categories", "validation_fraction", "random_state", "verbose", "device"}
    by_data = {"threshold": "auto", "edges": "auto"}  # a command chooses them by the data, too, and writes its choice
    parameters = {name: item.default for name, item in signature(BankGCNClassifier).parameters.items()}
    assert set(parameters) - own == set(RUN_SETTINGS) - of_the_data
    assert parameters["preset"] == "standard"
    for name in set(parameters) - own - {"preset"}:
        place = RUN_SETTINGS[name]
        usual = by_data.get(name, place.setting.default)
        by_preset = place.part in ("conv_options", "model", "train")
        assert parameters[name] == usual or (by_preset and parameters[name] is None), name
    assert all(parameters[name] in (None, by_data.get(name)) for name in NAMED_BY_PRESETS)


@pytest.mark.parametrize("model", PLAIN_CONVS)
def test_settings_describe_a_run_completely(model: str) -> None:
    spec = spec_of("MUTAG", {"model": model, "dropout": 0.5, "pooling": "topk", "class_weight": "balanced"})
    assert spec_of("MUTAG", settings_of_run(spec)) == spec
    assert Settings.resolve({"source": "MUTAG", **settings_of_run(spec)}).spec == spec


def test_a_classifier_learns_words_and_predicts_them(trained: BankGCNClassifier) -> None:
    graphs, y = rings_and_paths()
    assert trained.classes_.tolist() == ["path", "ring"]
    assert set(trained.predict(graphs)) <= {"path", "ring"}
    probabilities = trained.predict_proba(graphs)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    np.testing.assert_array_equal(trained.classes_[probabilities.argmax(1)], trained.predict(graphs))
    assert trained.score(graphs, y) == np.mean(trained.predict(graphs) == np.array(y))
    assert trained.transform(graphs).shape == (SIZE, 2 * 3 * 8)
    assert trained.n_iter_ == len(trained.history_) == 4


@pytest.mark.parametrize("classes", [[3, 7], [True, False], [0.0, 2.0], ["b", "a"]])
def test_classes_come_back_as_they_were_given(classes: list[Any], tmp_path: Path) -> None:
    graphs, _ = rings_and_paths()
    classifier = BankGCNClassifier(**QUICK).fit(graphs, classes * (SIZE // 2))
    classifier.save(tmp_path / "r")
    for each in (classifier, BankGCNClassifier.load(tmp_path / "r"), bankgcn.load_model(tmp_path / "r")):
        found = each.classes_ if hasattr(each, "classes_") else each.classes
        assert found.tolist() == sorted(classes)
        assert found.dtype == np.unique(classes).dtype
        assert set(each.predict(graphs).tolist()) <= set(classes)


@pytest.mark.parametrize("form", ["networkx", "pyg", "set", "list of sets", "array"])
def test_every_form_of_graphs_gives_the_same_network(form: str) -> None:
    graphs, y = rings_and_paths()
    as_set = GraphSet.from_networkx(graphs)
    plain: Any = to_networkx(as_set)
    if form == "pyg":
        plain = to_pyg(as_set)
    elif form == "set":
        plain = GraphSet.from_networkx(plain)
    elif form == "list of sets":
        whole = GraphSet.from_networkx(plain)
        plain = [whole[number] for number in range(len(whole))]
    elif form == "array":
        plain = np.array([*plain, None], dtype=object)[:-1]
    expected = BankGCNClassifier(**QUICK).fit(to_networkx(as_set), y).predict_proba(to_networkx(as_set))
    np.testing.assert_allclose(BankGCNClassifier(**QUICK).fit(plain, y).predict_proba(plain), expected, rtol=1e-5)


def test_molecules_are_given_as_smiles() -> None:
    smiles = [f"{'C' * n}{end}" for n in range(1, 9) for end in ("O", "c1ccccc1")]
    y = ["alcohol", "ring"] * 8
    for features in (None, "onehot", "embedded"):
        classifier = BankGCNClassifier(**QUICK, features=features).fit(smiles, y)
        assert set(classifier.predict(["CCCCO", "CCc1ccccc1"])) <= {"alcohol", "ring"}
        assert classifier.model_.config.embedding is None or features == "embedded"
    with pytest.raises(GraphError, match="put it into a list; bankgcn.load"):
        classifier.predict("CCO")


def test_graphs_may_carry_their_targets() -> None:
    graphs, y = rings_and_paths()
    for graph, word in zip(graphs, y, strict=True):
        graph.graph["y"] = word
    carried = BankGCNClassifier(**QUICK).fit(graphs)
    assert carried.classes_.tolist() == ["path", "ring"]
    assert carried.score(graphs) == carried.score(graphs, y)
    mutag = bankgcn.load("MUTAG")
    assert BankGCNClassifier(**QUICK).fit(mutag).classes_.tolist() == [-1, 1]
    with refused(GraphError, "classes", "BankGCNRegressor"):
        BankGCNRegressor(**QUICK).fit(mutag)


@pytest.mark.parametrize("classes", [("1", "2", "b"), ("1", "2"), ("1", "2", "3")])
@pytest.mark.parametrize("scored", [("1", "2"), ("1", "b"), ("1", "2", "7")])
def test_a_set_with_other_classes_than_the_model_has_is_scored_by_their_names(
    classes: tuple[str, ...], scored: tuple[str, ...]
) -> None:
    graphs, _ = rings_and_paths()
    train, other = (GraphSet.from_networkx(graphs, list(names) * (SIZE // len(names))) for names in (classes, scored))
    classifier = BankGCNClassifier(**QUICK).fit(train)
    true = list(scored) * (SIZE // len(scored))
    correct = [str(found) == name for found, name in zip(classifier.predict(other), true, strict=True)]
    assert classifier.score(other) == pytest.approx(np.mean(correct))


def test_the_same_random_state_gives_the_same_model() -> None:
    graphs, y = rings_and_paths()
    first, again, other = (
        BankGCNClassifier(**{**QUICK, "random_state": seed}).fit(graphs, y).predict_proba(graphs) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    drawn = BankGCNClassifier(**{**QUICK, "random_state": np.random.RandomState(0)}).fit(graphs, y)
    assert drawn.record_.config.seed == np.random.RandomState(0).randint(2**31 - 1)


def test_training_stops_early_on_graphs_of_its_own() -> None:
    graphs, y = rings_and_paths()
    classifier = BankGCNClassifier(**{**QUICK, "epochs": 60}, patience=2, learning_rate=0.5, validation_fraction=0.25)
    classifier.fit(graphs, y)
    assert classifier.record_.ended == "patience"
    assert classifier.n_iter_ < 60
    assert (len(classifier.split_.train), len(classifier.split_.valid)) == (18, 6)


@pytest.mark.parametrize("model", PLAIN_CONVS)
def test_every_convolution_is_a_model(model: str) -> None:
    graphs, y = rings_and_paths()
    assert BankGCNClassifier(**QUICK, model=model).fit(graphs, y).record_.config.model.conv == model


def test_cross_validation_search_and_pipelines_take_graphs() -> None:
    graphs, y = rings_and_paths()
    assert len(cross_val_score(BankGCNClassifier(**QUICK), graphs, y, cv=2, error_score="raise")) == 2
    as_set = GraphSet.from_networkx(graphs, y)
    scores = cross_val_score(BankGCNClassifier(**QUICK), as_set, as_set.y, cv=2, error_score="raise")
    np.testing.assert_array_equal(scores, cross_val_score(BankGCNClassifier(**QUICK), graphs, y, cv=2))
    search = GridSearchCV(BankGCNClassifier(**QUICK), {"model": ["bank", "gcn"]}, cv=2, error_score="raise")
    assert search.fit(graphs, y).best_params_["model"] in ("bank", "gcn")
    pipeline = make_pipeline(BankGCNClassifier(**QUICK), LogisticRegression())
    assert pipeline.fit(graphs, y).predict_proba(graphs).shape == (SIZE, 2)


def test_copies_keep_parameters_or_the_model(trained: BankGCNClassifier) -> None:
    graphs, _ = rings_and_paths()
    fresh = clone(trained)
    assert fresh.get_params() == trained.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(graphs)
    for same in (pickle.loads(pickle.dumps(trained)), copy.deepcopy(trained)):
        np.testing.assert_array_equal(same.predict_proba(graphs), trained.predict_proba(graphs))


def test_the_split_counts_all_graphs_where_those_of_weight_0_are_left_out() -> None:
    graphs, y = rings_and_paths()
    weight = np.where(np.arange(SIZE) < 6, 0.0, 1.0)
    fitted = BankGCNClassifier(**QUICK).fit(graphs, y, weight)
    np.testing.assert_array_equal(np.union1d(fitted.split_.train, fitted.split_.valid), np.arange(6, SIZE))
    of_the_others = BankGCNClassifier(**QUICK).fit(graphs[6:], y[6:])
    np.testing.assert_array_equal(fitted.predict_proba(graphs), of_the_others.predict_proba(graphs))
    with refused(ValueError, "12 graphs", "'ring'"):
        BankGCNClassifier(**QUICK).fit(graphs, y, np.array(y) == "ring")


def test_weights_of_classes_and_of_graphs_change_the_training() -> None:
    graphs, _ = rings_and_paths()
    y = ["rare" if number % 6 == 0 else "common" for number in range(SIZE)]

    def rarely(**parameters: Any) -> float:
        weight = parameters.pop("sample_weight", None)
        classifier = BankGCNClassifier(**QUICK, learning_rate=0.03, **parameters).fit(graphs, y, weight)
        return classifier.predict_proba(graphs)[:, 1].mean()

    plain = rarely()
    assert rarely(class_weight="balanced") > plain + 0.1
    heavy = np.where(np.array(y) == "rare", 50.0, 1.0)
    assert rarely(sample_weight=heavy) > plain + 0.1
    np.testing.assert_allclose(rarely(class_weight={"rare": 50.0}), rarely(sample_weight=heavy))
    of_all_folds = {"rare": 50.0, "common": 1.0, "in no graph": 3.0}
    np.testing.assert_allclose(rarely(class_weight=of_all_folds), rarely(sample_weight=heavy))
    with refused(ValueError, "values", class_weight="balanced"):
        BankGCNRegressor(**QUICK, class_weight="balanced").fit(graphs, range(SIZE))
    with refused(ValueError, "values", class_weight={1: 2.0}):
        BankGCNRegressor(**QUICK, class_weight={1: 2.0}).fit(graphs, range(SIZE))


def test_a_graph_of_weight_zero_is_left_out() -> None:
    graphs, y = rings_and_paths()
    weight = np.ones(SIZE)
    weight[[0, 5]] = 0
    rest = [number for number in range(SIZE) if weight[number]]
    expected = BankGCNClassifier(**QUICK).fit([graphs[i] for i in rest], [y[i] for i in rest])
    np.testing.assert_allclose(
        BankGCNClassifier(**QUICK).fit(graphs, y, weight).predict_proba(graphs), expected.predict_proba(graphs)
    )


def test_an_integer_for_a_real_number_names_the_same_run() -> None:
    records = [
        BankGCNClassifier(**QUICK, gamma=gamma).fit(*rings_and_paths()).record_ for gamma in (1, 1.0, np.int64(1))
    ]
    assert len({repr(record.config) for record in records}) == len({record.config.key for record in records}) == 1


def test_a_loaded_estimator_has_the_parameters_it_was_trained_with(tmp_path: Path) -> None:
    own = {"validation_fraction": 0.3, "attributes": ["charge"], "categories": ["element"]}
    classifier = BankGCNClassifier(**QUICK, **own).fit(*rings_and_paths())
    classifier.save(tmp_path / "r")
    loaded = BankGCNClassifier.load(tmp_path / "r")
    assert loaded.get_params().items() >= {**QUICK, **own}.items()
    assert clone(loaded).fit(*rings_and_paths()).split_.hash == classifier.split_.hash


def test_a_regressor_learns_one_value_or_several(tmp_path: Path) -> None:
    graphs, _ = rings_and_paths()
    nodes = np.array([graph.number_of_nodes() for graph in graphs], np.float64)
    regressor = BankGCNRegressor(**{**QUICK, "epochs": 200}, learning_rate=0.01).fit(graphs, nodes)
    assert regressor.predict(graphs).shape == (SIZE,)
    assert regressor.score(graphs, nodes) > 0.3
    regressor.save(tmp_path / "r")
    np.testing.assert_array_equal(BankGCNRegressor.load(tmp_path / "r").predict(graphs), regressor.predict(graphs))
    several = np.stack([nodes, -nodes], axis=1)
    several[3, 0] = np.nan
    assert BankGCNRegressor(**QUICK).fit(graphs, several).predict(graphs).shape == (SIZE, 2)


def test_folders_are_not_replaced_by_accident(trained: BankGCNClassifier, tmp_path: Path) -> None:
    trained.save(tmp_path / "r")
    with refused(FileError, overwrite=True):
        trained.save(tmp_path / "r")
    trained.save(tmp_path / "r", overwrite=True)
    with refused(FileError, "classes", "BankGCNRegressor", "values"):
        BankGCNRegressor.load(tmp_path / "r")
    with pytest.raises(FileError, match="there is no finished run"):
        BankGCNClassifier.load(tmp_path / "other")


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"hidden": 0}, ("hidden=0",)),
        ({"model": "gnc"}, ("model", "'gnc'")),
        ({"model": "gcn", "order": 3}, ("order=", "gcn")),
        ({"hidden": 7}, ("hidden=7", "subspaces=8", "subspaces=7", "hidden=8")),
        ({"validation_fraction": 1.5}, ("validation_fraction=1.5", 0, 1)),
        ({"attributes": ["chrage"]}, ("'chrage'",)),
        (
            {"class_weight": {"rnig": 5.0, "path": 1.0}},
            ("'rnig'", "'path', 'ring'"),
        ),
        ({"class_weight": {0: 1.0, 1: 10.0}}, (0, "'path', 'ring'")),
        ({"class_weight": [1, 2]}, ("class_weight", [1, 2], "balanced")),
    ],
)
def test_wrong_parameters_are_reported_by_fit(parameters: dict[str, Any], named: tuple) -> None:
    with refused(ValueError, *named):
        BankGCNClassifier(**{**QUICK, **parameters}).fit(*rings_and_paths())


def test_targets_that_do_not_fit_are_refused() -> None:
    graphs, y = rings_and_paths()
    with refused(GraphError, "24 graphs", "y", "23 targets"):
        BankGCNClassifier(**QUICK).fit(graphs, y[:-1])
    with pytest.raises(GraphError, match="requires y to be passed"):
        BankGCNClassifier(**QUICK).fit(graphs)
    with refused(ValueError, "'path'"):
        BankGCNClassifier(**QUICK).fit(graphs, ["path"] * SIZE)
    with refused(ValueError, n_samples=1):
        BankGCNClassifier(**QUICK).fit(graphs[:1], y[:1])


@pytest.mark.parametrize("missing", [None, float("nan")])
@pytest.mark.parametrize("as_given", [list, lambda y: np.array(y, object)])
def test_a_graph_without_a_target_is_named(missing: float | None, as_given: Callable[[list], Any]) -> None:
    graphs, _ = rings_and_paths()
    y = [0.5, 1.5, 2.5, missing, missing, *np.arange(SIZE - 5.0)]
    with refused(GraphError, "value", "graph 3", missing):
        BankGCNRegressor(**QUICK).fit(graphs, as_given(y))
    y = [0, 1, 1, missing, missing, *(0, 1) * 9, 1]
    with refused(GraphError, "class", "graph 3", missing):
        BankGCNClassifier(**QUICK).fit(graphs, as_given(y))


def test_messages_advise_what_the_estimators_have() -> None:
    graphs, y = rings_and_paths()
    graphs[2].edges[0, 1]["weight"] = 2.0
    with refused(ValueError, "gin", ignore_weights=True):
        BankGCNClassifier(**QUICK, model="gin").fit(graphs, y)
    BankGCNClassifier(**QUICK, model="gin", ignore_weights=True).fit(graphs, y).predict(graphs)
    directed = [nx.DiGraph(graph.edges) for graph in graphs]
    with refused(GraphError, "graph 0", symmetrise=True):
        BankGCNClassifier(**QUICK).fit(directed, y)
    BankGCNClassifier(**QUICK, symmetrise=True).fit(directed, y).predict(directed)
    with refused(GraphError, "1 of 2 molecules", "molecule 1", "'xyz'"):
        BankGCNClassifier(**QUICK).fit(["CC", "xyz"], ["a", "b"])


def test_new_graphs_with_other_features_are_refused(trained: BankGCNClassifier) -> None:
    graphs, _ = rings_and_paths()
    graphs[1].nodes[2]["element"] = "Xx"
    with refused(GraphError, "graph 1", "'element'", "node 2", "'Xx'", "C, N"):
        trained.predict(graphs)
    del graphs[1].nodes[2]["charge"]
    with refused(GraphError, "graph 1", "node 2", "'charge'"):
        trained.predict(graphs)
    with refused(ValueError, "charge, element"):
        trained.predict(bankgcn.load("MUTAG"))


def test_a_training_that_diverges_says_what_may_help() -> None:
    graphs, y = rings_and_paths()
    with refused(ValueError, learning_rate=1e30):
        BankGCNClassifier(**QUICK, learning_rate=1e30, norm="none").fit(graphs, y)


def test_every_class_has_a_training_graph_and_one_graph_validates() -> None:
    for y in ([0, 0, 0, 1], [0, 1, 1], [0] * 30 + [1], [0.5, 1.5, 2.5]):
        graphs = GraphSet.from_edges([1] * len(y), np.zeros((2, 0), int), y=y)
        for seed in range(5):
            split = validation_split(graphs, 0.1, seed)
            assert len(split.valid) >= 1
            assert len(split.test) == 0
            assert len(split.train) + len(split.valid) == len(y)
            if graphs.classes:
                assert set(graphs.y[split.train]) == set(graphs.y)


@pytest.mark.parametrize(
    ("y", "share", "valid"),
    [
        (np.repeat(np.arange(30), 2), 0.7, 30),  # as many as leave a training graph to each of the 30 classes
        (np.repeat(np.arange(20), 3), 0.8, 40),
        (np.repeat(np.arange(6), 10), 0.95, 54),
        (np.repeat(np.arange(2), 30), 0.99, 58),
        (np.repeat(np.arange(2), 30), 0.7, 42),
        (np.arange(60) / 7, 0.995, 59),
        (np.array([[0.5, 1.5], [2.5, 3.5], [4.5, 4.5]]), 0.1, 1),
    ],
)
def test_a_large_validation_share_is_kept_up_to_one_training_graph_of_each_class(
    y: np.ndarray, share: float, valid: int
) -> None:
    graphs = GraphSet.from_edges([1] * len(y), np.zeros((2, 0), int), y=y)
    split = validation_split(graphs, share, seed=0)
    assert (len(split.train), len(split.valid)) == (len(y) - valid, valid)
    assert set(split.train) | set(split.valid) == set(range(len(y)))
    if graphs.classes:
        assert set(graphs.y[split.train]) == set(graphs.y)


def test_the_source_of_a_run_of_python_is_no_dataset() -> None:
    with pytest.raises(ValueError, match="is neither a dataset nor a file or folder"):
        bankgcn.load(IN_PYTHON)


@pytest.mark.parametrize("estimator", [BankGCNClassifier, BankGCNRegressor])
def test_callbacks_end_the_training_of_an_estimator(estimator: type) -> None:
    graphs, words = rings_and_paths()
    y = words if estimator is BankGCNClassifier else [float(len(graph)) for graph in graphs]
    recorder = Recorder(stop_after=2)
    fitted = estimator(**QUICK).fit(graphs, y, callbacks=[recorder])
    assert fitted.history_ == tuple(recorder.epochs)
    assert (fitted.n_iter_, fitted.record_.ended) == (2, "stopped")


TWICE = [graph for size in range(3, 23) for graph in (nx.cycle_graph(size), nx.cycle_graph(size))]
QUICK_FIT = {"hidden": 8, "layers": 1, "epochs": 2, "random_state": 0}


def test_validation_graphs_have_no_equals_among_the_training_graphs() -> None:
    y = [size % 2 for size in range(3, 23) for _ in range(2)]
    fitted = BankGCNClassifier(**QUICK_FIT).fit(TWICE, y)
    assert not set(fitted.split_.valid // 2) & set(fitted.split_.train // 2)
    kept = BankGCNClassifier(**QUICK_FIT, duplicates="keep").fit(TWICE, y)
    assert set(kept.split_.valid // 2) & set(kept.split_.train // 2)


def test_merged_graphs_have_the_mean_of_their_values_and_the_sum_of_their_weights() -> None:
    y = np.arange(40.0)
    merged = BankGCNRegressor(**QUICK_FIT, duplicates="merge").fit(TWICE, y, sample_weight=np.full(40, 0.5))
    once = BankGCNRegressor(**QUICK_FIT).fit(TWICE[::2], y.reshape(20, 2).mean(1), sample_weight=np.ones(20))
    np.testing.assert_array_equal(merged.predict(TWICE), once.predict(TWICE))


def test_a_saved_estimator_knows_the_graphs_it_has_seen(tmp_path: Path) -> None:
    fitted = BankGCNRegressor(**QUICK_FIT, duplicates="keep").fit(TWICE, np.arange(40.0))
    fitted.save(tmp_path / "run")
    loaded = BankGCNRegressor.load(tmp_path / "run")
    assert loaded.duplicates == "keep"
    np.testing.assert_array_equal(loaded.seen_hashes_, fitted.seen_hashes_)
    assert len(fitted.seen_hashes_) == 20


def test_contradictory_equals_do_not_keep_a_class_from_being_trained() -> None:
    graphs = [nx.path_graph(4), nx.path_graph(4), nx.cycle_graph(5), nx.cycle_graph(6)]
    assert BankGCNClassifier(**QUICK_FIT).fit(graphs, ["a", "b", "a", "a"]).predict(graphs).shape == (4,)


def test_a_missing_class_is_named_by_its_graph() -> None:
    graphs = [nx.path_graph(number) for number in range(2, 6)]
    with refused(GraphError, "class", "y", "graph 1", None):
        BankGCNClassifier().fit(graphs, ["a", None, "b", "a"])


@pytest.mark.parametrize("form", ["networkx", "pyg"])
def test_scaled_numbers_do_not_depend_on_their_unit(form: str, tmp_path: Path) -> None:
    graphs, y = rings_and_paths()
    large = [graph.copy() for graph in graphs]
    for graph in large:
        for node in graph:
            graph.nodes[node]["charge"] = 1024 * graph.nodes[node]["charge"] + 512
    if form == "pyg":
        pytest.importorskip("torch_geometric")
        graphs, large = (to_pyg(GraphSet.from_networkx(each)) for each in (graphs, large))
    trained, other = (BankGCNClassifier(**QUICK, scale="standard").fit(each, y) for each in (graphs, large))
    expected = trained.predict_proba(graphs)
    np.testing.assert_allclose(other.predict_proba(large), expected, atol=1e-4)
    assert np.abs(trained.predict_proba(large) - expected).max() > 1e-2
    trained.save(tmp_path / "run")
    np.testing.assert_array_equal(BankGCNClassifier.load(tmp_path / "run").predict_proba(graphs), expected)
    assert BankGCNClassifier.load(tmp_path / "run").scale == "standard"


def with_labels() -> tuple[list[nx.Graph], np.ndarray]:
    """Graphs with two labels: whether it is a ring, and whether its number is even; some are unknown."""
    graphs, names = rings_and_paths()
    y = np.stack([np.array(names) == "ring", np.arange(len(names)) % 4 < 2], 1).astype(float)
    y[::5, 1] = np.nan
    return graphs, y


def test_a_matrix_of_answers_is_learned_as_labels(tmp_path: Path) -> None:
    graphs, y = with_labels()
    classifier = BankGCNClassifier(**QUICK, class_weight="balanced").fit(graphs, y)
    assert classifier.model_.task.kind == "labels"
    assert classifier.classes_.tolist() == ["y0", "y1"]
    predicted, probabilities = classifier.predict(graphs), classifier.predict_proba(graphs)
    assert predicted.shape == probabilities.shape == y.shape
    assert set(np.unique(predicted)) <= {0, 1}
    np.testing.assert_array_equal(predicted, probabilities >= 0.5)
    known = ~np.isnan(y)
    each = [roc_auc_score(y[known[:, c], c], probabilities[known[:, c], c]) for c in (0, 1)]
    assert classifier.score(graphs, y) == pytest.approx(np.mean(each))
    classifier.save(tmp_path / "labels")
    loaded = BankGCNClassifier.load(tmp_path / "labels")
    np.testing.assert_array_equal(loaded.predict(graphs), predicted)
    assert loaded.classes_.tolist() == ["y0", "y1"]


def test_labels_that_are_no_answers_are_refused() -> None:
    graphs, y = with_labels()
    with refused(GraphError, "label 0", "graph 1", 2):
        BankGCNClassifier(**QUICK).fit(graphs, 2 * y)
    with pytest.raises(ValueError, match="class_weight is a dictionary, which is for classes"):
        BankGCNClassifier(**QUICK, class_weight={0: 1.0}).fit(graphs, y)
    classifier = BankGCNClassifier(**QUICK).fit(graphs, y)
    with refused(ValueError, "2 labels", "classes"):
        classifier.score(graphs, y[:, 0])
    with refused(ValueError, "2 labels", "3 labels"):
        classifier.score(graphs, np.ones((len(graphs), 3)))
    with pytest.raises(ValueError, match="sample_weight is for the accuracy of classes"):
        classifier.score(graphs, y, np.ones(len(graphs)))


@pytest.mark.parametrize(("threshold", "chosen"), [("auto", True), ("validation", True), (None, False)])
def test_a_rare_class_is_decided_by_a_threshold_of_the_validation_graphs(threshold: str | None, chosen: bool) -> None:
    graphs, _ = rings_and_paths()
    graphs, y = graphs * 3, np.array((["rare"] + ["common"] * 5) * (len(graphs) // 2))[: 3 * len(graphs)]
    classifier = BankGCNClassifier(**QUICK, threshold=threshold, validation_fraction=0.4).fit(graphs, y)
    assert bool(classifier.model_.task.thresholds) == chosen
    rare = classifier.predict_proba(graphs)[:, 1]
    limit = classifier.model_.task.thresholds[0] if chosen else 0.5
    np.testing.assert_array_equal(classifier.predict(graphs) == "rare", rare >= limit)
    assert classifier.get_params()["threshold"] == threshold


def test_an_estimator_starts_with_the_weights_of_another(trained: BankGCNClassifier, tmp_path: Path) -> None:
    graphs, kinds = rings_and_paths()
    trained.save(tmp_path / "parent")
    child = BankGCNClassifier(**QUICK, init_from=tmp_path / "parent", freeze=2).fit(graphs, kinds)
    assert child.record_.parent == trained.record_.config.key
    one, other = trained.model_.net.convs.state_dict(), child.model_.net.convs.state_dict()
    assert all(torch.equal(one[name], other[name]) for name in one)
    sizes = BankGCNRegressor(**QUICK, init_from=str(tmp_path / "parent")).fit(graphs, [len(graph) for graph in graphs])
    assert sizes.model_.feature_spec == trained.model_.feature_spec
    for graph in graphs:
        nx.set_node_attributes(graph, "C", "element")
    carbon = BankGCNClassifier(**QUICK, init_from=str(tmp_path / "parent")).fit(graphs, kinds)
    assert carbon.model_.feature_spec == trained.model_.feature_spec
    child.save(tmp_path / "child")
    loaded = BankGCNClassifier.load(tmp_path / "child")
    assert loaded.get_params()["freeze"] == 2
    np.testing.assert_array_equal(loaded.predict_proba(graphs), child.predict_proba(graphs))


def test_an_estimator_names_what_differs_from_the_run_that_it_starts_from(
    trained: BankGCNClassifier, tmp_path: Path
) -> None:
    trained.save(tmp_path / "parent")
    wider = BankGCNClassifier(**{**QUICK, "hidden": 16}, init_from=tmp_path / "parent")
    with pytest.raises(ValueError, match=f"hidden=16, but {tmp_path / 'parent'} was trained with hidden=8: "):
        wider.fit(*rings_and_paths())
    with pytest.raises(ValueError, match="freeze=1 keeps the weights of a trained run: name its folder by init_from="):
        BankGCNClassifier(**QUICK, freeze=1).fit(*rings_and_paths())
    with pytest.raises(FileError, match="has no trained model"):
        BankGCNClassifier(**QUICK, init_from=tmp_path / "nothing").fit(*rings_and_paths())


@pytest.mark.parametrize("model", ["forest", "wl-svm"])
def test_a_model_that_is_no_network_is_an_estimator_too(tmp_path: Path, model: str) -> None:
    graphs, y = rings_and_paths()
    estimator = BankGCNClassifier(model=model, random_state=0).fit(graphs, y)
    assert set(estimator.predict(graphs)) <= set(y)
    estimator.save(tmp_path / "run")
    again = BankGCNClassifier.load(tmp_path / "run")
    assert np.array_equal(again.predict_proba(graphs), estimator.predict_proba(graphs))
    found = {**again.get_params(), "edges": "auto"}  # these edges carry nothing
    assert {name: value for name, value in found.items() if value} == {
        name: value for name, value in estimator.get_params().items() if value
    }
    with pytest.raises(ValueError, match="needs a network"):
        estimator.transform(graphs)


def test_several_models_of_an_estimator_vote_and_are_saved(tmp_path: Path) -> None:
    graphs, y = rings_and_paths()
    estimator = BankGCNClassifier(**{**QUICK, "random_state": 2}, preset="best").fit(graphs, y)
    assert list(estimator.results_) == [
        *(f"bank-seed-{seed}" for seed in range(2, 7)),
        "forest-seed-2",
        "wl-svm-seed-2",
    ]
    assert estimator.mixture_ is not None
    kinds, given = {"bank": 5, "forest": 1, "wl-svm": 1}, estimator._predictor.as_graph_set(graphs)
    expected = np.zeros((len(graphs), 2))
    for result in estimator.results_.values():
        assert result.model is not None
        kind = result.model.config.conv
        expected += estimator.mixture_.weights[kind] / kinds[kind] * result.model.predictions(given).numpy()
    np.testing.assert_allclose(estimator.predict_proba(graphs), expected, atol=1e-12)
    estimator.save(tmp_path / "runs")
    for again in (BankGCNClassifier.load(tmp_path / "runs"), bankgcn.load_model(tmp_path / "runs")):
        np.testing.assert_array_equal(again.predict_proba(graphs), estimator.predict_proba(graphs))
    assert BankGCNClassifier.load(tmp_path / "runs").get_params()["model"] is None
    assert list(BankGCNClassifier(**QUICK, preset="best", model="gcn").fit(graphs, y).results_) == [""]
