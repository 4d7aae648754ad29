"""One way from what a user gives to a run."""

from __future__ import annotations

from typing import Any

import pytest

from bankgcn import BankGCNClassifier, GraphSet
from bankgcn.data.options import ReadOptions
from bankgcn.nn import CONVS
from bankgcn.training.config import ModelConfig
from bankgcn.training.spec import SOURCE, complete_settings, given_settings, spec_of, unused_settings
from refusals import refused


def test_flags_override_a_file_which_overrides_the_protocol_of_the_dataset() -> None:
    file = given_settings({}, {"patience": 7, "batch_size": 32}, "c.toml")
    values = complete_settings({SOURCE: "CIFAR-10", **given_settings({"batch_size": 16}, file)})
    assert (values["batch_size"], values["patience"], values["decay_patience"], values["layers"]) == (16, 7, 20, 4)


@pytest.mark.parametrize("model", CONVS)
def test_complete_settings_are_those_of_the_model(model: str) -> None:
    values = complete_settings({"model": model})
    assert not unused_settings(model) & set(values)
    assert spec_of("MUTAG", values).model == ModelConfig(conv=model)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"ordr": 3}, ("setting", "'ordr'", "'order'")),
        ({"hidden": "wide"}, ("hidden", "'wide'")),
        ({"hidden": True}, ("hidden", True)),
        ({"learning_rate": 10**400}, ("learning_rate",)),
        ({"readout": "meen"}, ("readout", "'meen'", "'mean'")),
    ],
)
def test_unknown_names_and_wrong_types_are_refused(given: dict[str, Any], named: tuple) -> None:
    with refused(ValueError, *named):
        given_settings(given)


def test_flags_and_keywords_describe_the_same_run() -> None:
    keywords = {"model": "cheb", "order": 3, "learning_rate": 1, "pooling": None}
    graphs = GraphSet.from_edges([3], [[0, 1], [1, 0]], attributes=[[1.0], [2.0], [3.0]])
    (spec,) = BankGCNClassifier(**keywords, random_state=4)._specs("classes", ReadOptions(), graphs).values()
    flags = {"model": "cheb", "order": 3, "learning_rate": 1, "pooling": "none", "task": "classes", "seed": 4}
    assert spec == spec_of(spec.dataset, complete_settings(given_settings({**flags, "edges": "none"}), molecules=False))
    with refused(ValueError, "cheb", "order", heads=...):
        BankGCNClassifier(model="cheb", heads=2)._specs("classes", ReadOptions(), graphs)


def test_an_unknown_word_is_refused_with_all_that_are_allowed() -> None:
    with pytest.raises(ValueError, match="unknown preset 'besst', expected one of paper, standard, best; did you mean"):
        given_settings({"preset": "besst"})
