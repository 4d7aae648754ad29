"""A comparison is a table of one column: the runs that it needs."""

from __future__ import annotations

from typing import Any

import pytest

from bankgcn.experiments import RunSpec
from bankgcn.experiments.design import Grid, comparison_design, draws_splits
from bankgcn.experiments.paper import TABLE_1
from bankgcn.training.config import SplitOptions

OWN = RunSpec(dataset="/data/own.csv", task="values").with_(max_epochs=7, target="y", hidden_channels=16)


def specs(*models: str, base: RunSpec = OWN) -> dict[str, RunSpec]:
    return {model: base.with_(conv=model) for model in models}


def test_all_runs_share_the_settings_and_differ_in_model_grid_and_seed() -> None:
    grid = Grid(weight_decays=(0.0, 1e-4), gammas=(0.0, 1.0))
    table = comparison_design(specs("bank", "gcn"), runs=3, grid=grid)
    configs = table.configs()
    assert len(configs) == 3 * (2 * 2 + 2)
    for config in configs:
        rest = {"conv": "bank", "weight_decay": 0.0, "gamma": 0.1, "seed": 0}
        assert config.with_(**rest) == OWN
    assert table.reference == "bank"
    assert table.columns[0].metric == "mae"
    assert table.columns[0].label == "own.csv"


def test_a_comparison_on_a_dataset_of_the_paper_has_the_papers_runs() -> None:
    table = comparison_design(specs("bank", "gin", base=RunSpec(dataset="NCI1")), runs=2)
    papers = TABLE_1.restricted(datasets=["NCI1"], models=["bank-K2-s8", "gin"], runs=2)
    assert {config.key for config in table.configs()} == {config.key for config in papers.configs()}


def test_a_bank_with_one_filter_has_no_gammas_to_choose_from() -> None:
    lone = {"bank": OWN.with_(num_subspaces=1)}
    assert len(comparison_design(lone, runs=1).configs()) == 3


@pytest.mark.parametrize(
    ("dataset", "options", "drawn"),
    [
        ("own.csv", {}, True),
        ("own.csv", {"rule": "scaffold"}, True),
        ("own.csv", {"ratios": "6,2,2"}, True),
        ("own.csv", {"split_column": "part"}, False),
        ("own.csv", {"test": "other.csv"}, False),
        ("own.csv", {"split_seed": 0}, False),
        ("MUTAG", {}, True),
        ("ogbg-molhiv", {}, False),
        ("ogbg-molhiv", {"rule": "random"}, True),
    ],
)
def test_splits_that_each_seed_draws_are_told_from_those_that_are_fixed(
    dataset: str, options: dict[str, Any], drawn: bool
) -> None:
    assert draws_splits(RunSpec(dataset=dataset, split=SplitOptions(**options))) == drawn


def test_no_models_are_refused() -> None:
    with pytest.raises(ValueError, match="no models to compare"):
        comparison_design({}, runs=1)
