"""Many trials of a search, in a journal that survives kills, in one process or several."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import optuna
import torch
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from bankgcn.experiments.tuning.trial import Search, Trials, journal_of
from bankgcn.files.checked import MAX_TABLE_BYTES, read_regular
from bankgcn.metrics import Metric
from bankgcn.settings import Plain

NAME = "bankgcn"
LOCK_FILE_SUFFIX = ".lock"  # Optuna's
RANDOM_TRIALS = 10
"""Trials with random settings, before earlier scores guide the choice."""
FIRST_PRUNED = 5
"""Trials that are never stopped early, because there is too little to compare them with."""
WARM_UP = 20
"""Epochs before a trial may be stopped early."""

OnChange = Callable[[optuna.Study], None]


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """What is known of a trial that has ended.

    Args:
        number: Number of the trial, from 1.
        values: The settings that the trial chose.
        score: Validation score of the best epoch; the last known one of a trial that was stopped early.
        valid_loss: Validation loss of that epoch; ``None`` if the trial was stopped early.
        stopped: Whether the trial was stopped early, because it was poor or its loss was not finite.
    """

    number: int
    values: Mapping[str, Plain]
    score: float | None
    valid_loss: float | None
    stopped: bool


def open_study(folder: Path, search: Search, metric: Metric) -> optuna.Study:
    """The study in a folder, which is created if needed. The caller holds the lock of the folder.

    Its first trial has the usual settings, so that the winner is no worse than they are. Trials that a killed command
    left behind count as failed, so that the next command repeats them.

    Args:
        folder: The folder.
        search: What the trials have in common.
        metric: What validation scores are.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    journal = journal_of(folder)
    _repair(journal)
    study = optuna.create_study(
        study_name=NAME,
        storage=_storage(journal),
        direction="maximize" if metric.higher_is_better else "minimize",
        pruner=_pruner(),
        load_if_exists=True,
    )
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING, TrialState.WAITING)):
        study.tell(trial.number, state=TrialState.FAIL)
    if not any(_has(trial, search.usual) for trial in valid_trials(study)):
        study.enqueue_trial(search.usual)
    return study


def load_study(folder: Path) -> optuna.Study:
    """The study that another process has opened in a folder."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.load_study(study_name=NAME, storage=_storage(journal_of(folder)), pruner=_pruner())


def run_trials(
    study: optuna.Study, trials: Trials, total: int, seed: int, worker: int = 0, on_change: OnChange | None = None
) -> None:
    """Run trials until the study has this number of them.

    What a trial chooses follows from the seed and the trials before it: one process gives the same trials again,
    whether or not it was interrupted.

    Args:
        study: The study.
        trials: What runs a trial.
        total: Number of trials of the study in the end.
        seed: What choices follow from.
        worker: Number of this process, if several run trials.
        on_change: Called after each trial.
    """
    while (before := len(valid_trials(study))) < total:
        study.sampler = optuna.samplers.TPESampler(
            n_startup_trials=RANDOM_TRIALS, seed=_derived(seed, before, worker), multivariate=True
        )
        trial = study.ask()
        if sum(other.number < trial.number for other in valid_trials(study)) >= total:
            study.tell(trial, state=TrialState.FAIL)  # another process has started the last trial
            return
        trials.run(study, trial)
        if on_change is not None:
            on_change(study)


def valid_trials(study: optuna.Study) -> list[FrozenTrial]:
    """The trials of a study that run or have ended, without the failed ones."""
    states = (TrialState.RUNNING, TrialState.COMPLETE, TrialState.PRUNED)
    return study.get_trials(deepcopy=False, states=states)


def ended_trials(study: optuna.Study) -> list[TrialResult]:
    """The trials that have ended, numbered without the failed ones."""
    numbered = enumerate(valid_trials(study), start=1)
    return [_result(number, trial) for number, trial in numbered if trial.state.is_finished()]


def best_trial(trials: list[TrialResult], metric: Metric) -> TrialResult | None:
    """The trial with the best validation score; a tie goes to the smaller validation loss, then to the first one."""
    complete = [trial for trial in trials if not trial.stopped]
    return min(complete, key=lambda trial: _rank(trial, metric), default=None)


def importances(study: optuna.Study) -> dict[str, float]:
    """How much each setting matters for a good score, from 0 to 1, largest first; empty with too few trials.

    PED-ANOVA compares the settings of the best trials with those of all complete trials.
    """
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len(complete) < RANDOM_TRIALS or len({trial.value for trial in complete}) < 2:
        return {}
    evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=0.25)
    return optuna.importance.get_param_importances(study, evaluator=evaluator)


def _has(trial: FrozenTrial, settings: Mapping[str, Plain]) -> bool:
    """Whether a trial chose these settings."""
    values = trial.user_attrs.get("values", {})
    return all(values.get(name) == value for name, value in settings.items())


def _storage(journal: Path) -> JournalStorage:
    return JournalStorage(JournalFileBackend(str(journal)))


def _pruner() -> optuna.pruners.BasePruner:
    return optuna.pruners.MedianPruner(n_startup_trials=FIRST_PRUNED, n_warmup_steps=WARM_UP)


def _derived(seed: int, trial: int, worker: int) -> int:
    digest = hashlib.sha256(f"bankgcn/tune/{seed}/{trial}/{worker}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def _repair(journal: Path) -> None:
    """Remove what a killed process left: its lock, and a line that it did not write to its end."""
    journal.with_name(f"{journal.name}{LOCK_FILE_SUFFIX}").unlink(missing_ok=True)
    if not journal.exists():
        return
    content = read_regular(journal, MAX_TABLE_BYTES)
    if not content.endswith(b"\n"):
        os.truncate(journal, content.rfind(b"\n") + 1)


def _result(number: int, trial: FrozenTrial) -> TrialResult:
    last = trial.intermediate_values.get(max(trial.intermediate_values, default=0))
    return TrialResult(
        number=number,
        values=trial.user_attrs["values"],
        score=trial.value if trial.state == TrialState.COMPLETE else last,
        valid_loss=trial.user_attrs.get("valid_loss"),
        stopped=trial.state == TrialState.PRUNED,
    )


def _rank(trial: TrialResult, metric: Metric) -> tuple[float, float, int]:
    assert trial.score is not None
    loss = float("inf") if trial.valid_loss is None else trial.valid_loss
    return metric.cost(trial.score), loss, trial.number


POLL_SECONDS = 0.5


def run_trials_in_processes(
    study: optuna.Study, folder: Path, search: Search, total: int, seed: int, workers: int, on_change: OnChange
) -> None:
    """The same in several processes; the order in which they end decides what later trials choose.

    Raises:
        ValueError: A process ended with an error.
    """
    context = multiprocessing.get_context("spawn")
    errors: SimpleQueue[str] = context.SimpleQueue()
    processes = [
        context.Process(target=_work, args=(str(folder), search, total, seed, number, errors), daemon=True)
        for number in range(workers)
    ]
    for process in processes:
        process.start()
    try:
        while any(process.is_alive() for process in processes):
            time.sleep(POLL_SECONDS)
            on_change(study)
            _check_processes(processes, errors)
        _check_processes(processes, errors)
    finally:
        for process in processes:
            process.kill()
            process.join()


def _work(folder: str, search: Search, total: int, seed: int, worker: int, errors: SimpleQueue[str]) -> None:
    """What a process does."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the command, which then ends its processes
    torch.set_num_threads(1)
    try:
        run_trials(load_study(Path(folder)), Trials(search), total, seed, worker)
    except (ValueError, OSError, ImportError) as error:  # the message is enough
        errors.put(str(error))
        sys.exit(1)


def _exit_with_parent() -> None:
    """End this process when the command is killed: it must not write to the journal of the next command."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _check_processes(processes: list[SpawnProcess], errors: SimpleQueue[str]) -> None:
    if not errors.empty():
        raise ValueError(errors.get())
    codes = [process.exitcode for process in processes if process.exitcode]
    if codes:
        raise ValueError(f"a process that ran trials ended with exit code {codes[0]}; the same command resumes")
