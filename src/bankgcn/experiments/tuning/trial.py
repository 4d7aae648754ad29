"""One trial: train with the settings of the trial, and score the validation graphs."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import optuna
import torch
from optuna.trial import Trial, TrialState

from bankgcn.data.catalog import USUAL_FOLDERS, DataFolders
from bankgcn.experiments.tuning.space import Parameter
from bankgcn.messages import Message, Option
from bankgcn.metrics import Metric
from bankgcn.settings import Plain
from bankgcn.training.callbacks import Callback
from bankgcn.training.execute import context_of, fit_run
from bankgcn.training.fitting import Epoch
from bankgcn.training.prepare import Loader, PreparedRun, prepare, prepare_graphs, without_test_graphs
from bankgcn.training.spec import RunSpec, spec_of

REPORT_EVERY = 5  # epochs: a report takes as long as an epoch of a small set


@dataclass(frozen=True, kw_only=True)
class Search:
    """What all trials of a study have in common; plain values, which other processes can read.

    Args:
        source: What to learn from.
        settings: The settings of a run, under the names of flags; trials replace some of them.
        parameters: The settings that trials vary.
        folders: Where to look for datasets.
    """

    source: str
    settings: Mapping[str, Plain] = field(hash=False)
    parameters: tuple[Parameter, ...]
    folders: DataFolders = USUAL_FOLDERS

    @property
    def usual(self) -> dict[str, Plain]:
        """The settings of a run without a search, as far as trials may choose them."""
        return {row.name: self.settings[row.name] for row in self.parameters if row.allows(self.settings[row.name])}

    def spec(self, values: Mapping[str, Plain] | None = None) -> RunSpec:
        """The run with the values of a trial."""
        return spec_of(self.source, {**self.settings, **(values or {})})


class Trials:
    """Runs trials. Only training and validation graphs are kept, so that no trial can score a test graph.

    Args:
        search: What the trials have in common.
        load: Where the graphs come from.
    """

    def __init__(self, search: Search, load: Loader | None = None):
        self.search, self.load = search, load or Loader(search.folders)
        first = {row.name: row.choices[0] for row in search.parameters if row.choices}  # the usual ones may not fit
        run = prepare(search.spec(first), self.load)
        self.graphs: PreparedRun = without_test_graphs(run)
        self.fingerprint = self.graphs.fingerprint

    @property
    def metric(self) -> Metric:
        """What validation scores are."""
        return self.graphs.task.scoring

    def check_scores(self) -> None:
        """Raise if no trial could be scored, because the validation graphs have one target only.

        Raises:
            ValueError: A constant prediction has no score on the validation graphs.
        """
        task, targets = self.graphs.task, self.graphs.graphs.y
        assert targets is not None
        valid = targets[self.graphs.split.valid]
        _check_score(task.score(torch.zeros(len(valid), task.out_channels), valid), self.metric, len(valid))

    def run(self, study: optuna.Study, trial: Trial) -> None:
        """Run a trial, and tell the study its score; a poor trial is stopped early, by the pruner of the study."""
        values = {row.name: row.suggest(trial) for row in self.search.parameters}
        trial.set_user_attr("values", values)
        run = prepare_graphs(self.search.spec(values), self.graphs.graphs, self.graphs.split)
        started = time.perf_counter()
        try:
            fitted = fit_run(run, replace(context_of(run), callbacks=[_Reports(trial)]))
        except optuna.TrialPruned:
            study.tell(trial, state=TrialState.PRUNED)
            return
        if fitted.status == "diverged" or fitted.best is None:
            trial.set_user_attr("diverged", True)
            study.tell(trial, state=TrialState.PRUNED)
            return
        best = fitted.best
        _check_score(best.valid_score, self.metric, len(self.graphs.split.valid))
        trial.set_user_attr("valid_loss", best.valid_loss)
        trial.set_user_attr("epochs", len(fitted.epochs))
        trial.set_user_attr("seconds", time.perf_counter() - started)
        study.tell(trial, best.valid_score)


class _Reports(Callback):
    """Reports validation scores to the study, whose pruner may stop the trial."""

    def __init__(self, trial: Trial):
        self.trial = trial

    def on_epoch_end(self, epoch: Epoch) -> None:
        """Report the score, and abandon the training if the trial is poor."""
        if epoch.number % REPORT_EVERY or not math.isfinite(epoch.valid_score):
            return
        self.trial.report(epoch.valid_score, epoch.number)
        if self.trial.should_prune():
            raise optuna.TrialPruned


def _check_score(score: float, metric: Metric, graphs: int) -> None:
    if not math.isfinite(score):
        reason = f"the {graphs:,} validation graphs have no {metric.label}, because their targets are all the same"
        choose = "{reason}: choose another metric by {metric}, or draw another split by {seed}"
        raise ValueError(Message(choose, reason=reason, metric=Option("metric"), seed=Option("seed")))


def journal_of(folder: Path) -> Path:
    """The file that keeps the trials of a folder."""
    return folder / "journal.log"
