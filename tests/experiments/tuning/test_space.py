"""The settings that trials vary agree with the settings that models have."""

from __future__ import annotations

import optuna
import pytest

from bankgcn.experiments.tuning.space import SPACE, Parameter, parameters_for
from bankgcn.nn.convs import CONVS
from bankgcn.training.spec import BANK_ONLY, RUN_SETTINGS, RunSpec, settings_of_run, spec_of
from refusals import refused


@pytest.mark.parametrize("row", SPACE, ids=lambda row: row.name)
def test_a_row_names_exactly_the_models_that_have_its_setting(row: Parameter) -> None:
    place = RUN_SETTINGS[row.name]
    models = [name for name, conv in CONVS.items() if place.part != "conv_options" or place.field in conv.options]
    if row.name in BANK_ONLY:
        models = ["bank"]
    assert sorted(row.models or CONVS) == sorted(models)


@pytest.mark.parametrize("model", CONVS)
def test_trials_may_choose_the_defaults_and_every_choice_is_a_run(model: str) -> None:
    usual = settings_of_run(RunSpec(dataset="MUTAG").with_(conv=model))
    rows = parameters_for(model, {})
    assert all(row.allows(usual[row.name]) for row in rows)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(30):
        trial = study.ask()
        values = {row.name: row.suggest(trial) for row in rows}
        spec = spec_of("MUTAG", {**usual, **values})
        spec.model.build(3, 2, 4 if spec.model.edge_uses else None)
        assert all(row.allows(values[row.name]) for row in rows)


def test_fixed_settings_are_not_varied_and_limit_what_must_divide_them() -> None:
    rows = {row.name: row for row in parameters_for("bank", {"hidden": 12, "order": 2})}
    assert "hidden" not in rows
    assert "order" not in rows
    assert rows["subspaces"].choices == (1, 2, 4)


def test_a_fixed_divisor_limits_what_it_must_divide() -> None:
    rows = {row.name: row for row in parameters_for("bank", {"subspaces": 64})}
    assert rows["hidden"].choices == (64, 128)
    rows = {row.name: row for row in parameters_for("mlp", {"subspaces": 64})}  # which has none
    assert rows["hidden"].choices == (32, 64, 128)
    with refused(ValueError, "32, 64, 128", "--hidden", subspaces=48):
        parameters_for("bank", {"subspaces": 48})


def test_a_search_without_anything_to_vary_is_refused() -> None:
    with pytest.raises(ValueError, match="every setting that trials of mlp could vary is fixed"):
        parameters_for("mlp", {row.name: 0 for row in SPACE})


def test_numbers_of_a_range_are_short_enough_to_be_typed() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    row = next(row for row in SPACE if row.name == "learning_rate")
    assert all(len(f"{row.suggest(study.ask()):.3g}") <= 8 for _ in range(20))
