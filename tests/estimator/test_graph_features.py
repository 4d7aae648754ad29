"""Features of each graph, given to an estimator beside the graphs or carried by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import bankgcn
from bankgcn import BankGCNClassifier, BankGCNRegressor
from bankgcn.data.builtin import mutag

GRAPHS = mutag()[:60]


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("head", ["linear", "mlp"])
def test_what_the_graphs_do_not_show_is_learned_from_their_features(head: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, len(GRAPHS))
    features = np.column_stack([y + 0.1 * random.normal(size=len(y)), np.ones(len(y)), random.normal(size=len(y))])
    options = {"hidden": 8, "layers": 1, "epochs": 40, "learning_rate": 0.05, "threshold": None, "random_state": 0}
    fitted = BankGCNClassifier(head=head, **options).fit(GRAPHS, y, graph_features=features)
    assert fitted.score(GRAPHS, y, graph_features=features) == 1
    carried = GRAPHS.with_graph_features(features)
    expected = fitted.predict_proba(GRAPHS, features)
    np.testing.assert_array_equal(fitted.predict_proba(carried), expected)
    fitted.save(tmp_path / "run")
    np.testing.assert_array_equal(bankgcn.load_model(tmp_path / "run").predict_proba(carried), expected)
    with pytest.raises(ValueError, match="'graph feature 0', 'graph feature 2'"):
        fitted.predict(GRAPHS)
    features[3, 2] = np.nan
    with pytest.raises(ValueError, match="'graph feature 2' of graph 3"):
        fitted.predict(GRAPHS, features)
    with pytest.raises(ValueError, match="59 rows"):
        fitted.predict(GRAPHS, features[:59])


def test_values_are_learned_from_words() -> None:
    table = {"assay": ["a", "b", "c"] * 20}
    y = np.array([0.0, 5.0, -5.0] * 20)
    options = {"hidden": 8, "layers": 1, "epochs": 60, "learning_rate": 0.05, "random_state": 0}
    regressor = BankGCNRegressor(**options).fit(GRAPHS, y, graph_features=table)
    assert regressor.score(GRAPHS, y, graph_features=table) > 0.9
