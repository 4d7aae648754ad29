"""A study goes on where it was interrupted, and one process gives the same trials again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import Trial, TrialState

from bankgcn.experiments.tuning.space import parameters_for
from bankgcn.experiments.tuning.study import (
    TrialResult,
    best_trial,
    ended_trials,
    importances,
    open_study,
    run_trials,
    valid_trials,
)
from bankgcn.experiments.tuning.trial import Search, journal_of
from bankgcn.metrics import METRICS
from bankgcn.training.spec import RunSpec, settings_of_run

SETTINGS = settings_of_run(RunSpec(dataset="MUTAG"))
SEARCH = Search(source="MUTAG", settings=SETTINGS, parameters=parameters_for("bank", {}))
ACCURACY = METRICS["accuracy"]


class Scripted:
    """Trials whose score follows from their settings; the process is killed before trial ``killed``."""

    def __init__(self, killed: int | None = None):
        self.killed, self.count = killed, 0

    def run(self, study: optuna.Study, trial: Trial) -> None:
        values = {row.name: row.suggest(trial) for row in SEARCH.parameters}
        trial.set_user_attr("values", values)
        self.count += 1
        if self.count == self.killed:
            raise SystemError("killed")
        if values["norm"] == "none":
            study.tell(trial, state=TrialState.PRUNED)
        else:
            study.tell(trial, 1 / int(values["layers"]) + float(values["learning_rate"]))


def search(folder: Path, total: int, killed: int | None = None, seed: int = 0) -> list[TrialResult]:
    folder.mkdir(exist_ok=True)
    study = open_study(folder, SEARCH, ACCURACY)
    runner: Any = Scripted(killed)
    run_trials(study, runner, total, seed)
    return ended_trials(study)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[TrialResult]:
    return search(tmp_path_factory.mktemp("whole"), 16)


def test_the_first_trial_has_the_usual_settings(whole: list[TrialResult]) -> None:
    assert len(whole) == 16
    assert [trial.number for trial in whole] == list(range(1, 17))
    assert dict(whole[0].values) == {row.name: SETTINGS[row.name] for row in SEARCH.parameters}


def test_killed_resumed_and_extended_it_gives_the_same_trials(tmp_path: Path, whole: list[TrialResult]) -> None:
    for killed in (1, 4, 8):
        with pytest.raises(SystemError):
            search(tmp_path / "s", 14, killed)
    with journal_of(tmp_path / "s").open("ab") as file:
        file.write(b'{"op_code": 4, "wor')  # the line that a kill cut short
    Path(f"{journal_of(tmp_path / 's')}.lock").symlink_to(journal_of(tmp_path / "s"))  # its lock
    assert search(tmp_path / "s", 13) == whole[:13]
    assert search(tmp_path / "s", 16) == whole
    assert search(tmp_path / "s", 16) == whole


def test_an_interrupted_trial_with_the_usual_settings_is_repeated_although_others_have_ended(tmp_path: Path) -> None:
    study, runner = open_study(tmp_path, SEARCH, ACCURACY), Scripted()
    study.ask()  # of one process, which is killed
    runner.run(study, study.ask())  # of another one
    again = open_study(tmp_path, SEARCH, ACCURACY)
    runner.run(again, again.ask())
    usual = [trial for trial in ended_trials(again) if all(trial.values[k] == v for k, v in SEARCH.usual.items())]
    assert len(usual) == 1


def test_another_seed_gives_other_trials(tmp_path: Path, whole: list[TrialResult]) -> None:
    assert search(tmp_path / "s", 3, seed=1)[1:] != whole[1:3]


def test_no_more_trials_start_than_asked_for_if_another_process_was_faster(tmp_path: Path) -> None:
    study = open_study(tmp_path, SEARCH, ACCURACY)
    runner: Any = Scripted()
    ask = study.ask

    def slow_ask() -> Trial:
        study.tell(ask(), 0.5)  # the trial of another process
        return ask()

    study.ask = slow_ask  # type: ignore[method-assign]
    run_trials(study, runner, 1, 0)
    assert runner.count == 0
    assert len(valid_trials(study)) == 1


def result(number: int, score: float | None, loss: float | None = 0.5, stopped: bool = False) -> TrialResult:
    return TrialResult(number=number, values={}, score=score, valid_loss=loss, stopped=stopped)


def test_a_tie_goes_to_the_smaller_loss_and_a_stopped_trial_never_wins() -> None:
    trials = [result(1, 0.8), result(2, 0.8, 0.4), result(3, 0.8, 0.4), result(4, 0.9, None, stopped=True)]
    assert best_trial(trials, ACCURACY) == trials[1]
    assert best_trial([result(1, 0.8), result(2, 0.7)], METRICS["mae"]) == result(2, 0.7)
    assert best_trial([result(4, None, None, stopped=True)], ACCURACY) is None


def test_what_decides_the_score_is_important(tmp_path: Path) -> None:
    search(tmp_path, 24)
    found = importances(open_study(tmp_path, SEARCH, ACCURACY))
    assert sum(found.values()) == pytest.approx(1)
    assert next(iter(found)) == "layers"


def test_few_trials_say_nothing_of_importance(tmp_path: Path) -> None:
    search(tmp_path, 3)
    assert importances(open_study(tmp_path, SEARCH, ACCURACY)) == {}
