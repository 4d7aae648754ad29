"""A trial trains as a run does, and has no test graphs."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
import torch
from optuna.trial import TrialState

from bankgcn.experiments.tuning import trial as module
from bankgcn.experiments.tuning.space import parameters_for
from bankgcn.experiments.tuning.trial import Search, Trials
from bankgcn.training.execute import run
from bankgcn.training.prepare import prepare
from bankgcn.training.spec import RunSpec, settings_of_run

BASE = RunSpec(dataset="MUTAG").with_(max_epochs=3, hidden_channels=8, num_layers=1, dropout=0.2)
FIXED = {"hidden": 8, "layers": 1, "dropout": 0.2, "readout": "mean", "norm": "l2", "normalize": "before"}


@pytest.fixture
def trials() -> Trials:
    torch.set_default_dtype(torch.float32)
    settings = {**settings_of_run(BASE), **FIXED}
    return Trials(Search(source="MUTAG", settings=settings, parameters=parameters_for("bank", FIXED)))


def test_no_trial_has_a_test_graph(trials: Trials) -> None:
    whole = prepare(BASE)
    kept = trials.graphs
    assert len(kept.split.test) == 0
    assert len(kept.graphs) == len(whole.graphs) - len(whole.split.test)
    for part in ("train", "valid"):
        graphs, same = (run.graphs[getattr(run.split, part)] for run in (kept, whole))
        assert graphs.fingerprint == same.fingerprint


def test_its_score_is_the_validation_score_of_the_run_with_these_settings(trials: Trials) -> None:
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    trials.run(study, study.ask())
    record = run(trials.search.spec(study.trials[0].user_attrs["values"]))
    assert study.trials[0].value == record.valid_score
    assert study.trials[0].user_attrs["valid_loss"] == record.valid_loss


def test_a_poor_trial_is_stopped_early(trials: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPORT_EVERY", 1)
    pruner = optuna.pruners.ThresholdPruner(lower=1.1, n_warmup_steps=2)
    study = optuna.create_study(direction="maximize", pruner=pruner)
    trials.run(study, study.ask())
    (stopped,) = study.trials
    assert stopped.state == TrialState.PRUNED
    assert list(stopped.intermediate_values) == [1, 2]


def test_a_loss_that_is_not_finite_never_wins(trials: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    class Diverged:
        status, best = "diverged", None

    fake: Any = lambda *_, **__: Diverged()  # noqa: E731
    monkeypatch.setattr(module, "fit_run", fake)
    study = optuna.create_study(direction="maximize")
    trials.run(study, study.ask())
    assert study.trials[0].state == TrialState.PRUNED
    assert study.trials[0].user_attrs["diverged"]
