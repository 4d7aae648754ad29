"""``bankgcn tune``: search for good settings by validation graphs alone."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankgcn.cli.errors import INTERRUPTED, print_note
from bankgcn.cli.output import say
from bankgcn.cli.progress import Progress, load_graphs
from bankgcn.cli.settings import Folders, Settings, Source, read_settings, with_settings
from bankgcn.data.catalog import USUAL_FOLDERS
from bankgcn.experiments.tuning.space import SPACE, names_of, parameters_for
from bankgcn.extras import require
from bankgcn.files.checked import FileError, atomic_write, read_toml, write_toml
from bankgcn.files.locks import lock_folder
from bankgcn.files.tables import Columns, write_csv
from bankgcn.metrics import Metric
from bankgcn.report.curves import draw_trials
from bankgcn.report.plots import IMAGES
from bankgcn.settings import Plain, pick
from bankgcn.training.presets import PAPER
from bankgcn.training.spec import DATA_ROOT, DEFAULTS, RUN_SETTINGS, SOURCE

if TYPE_CHECKING:
    import optuna

    from bankgcn.experiments.tuning.study import TrialResult
    from bankgcn.experiments.tuning.trial import Trials

TUNING = Path("tuning")
OFFERED = {name: place for name, place in RUN_SETTINGS.items() if name not in ("folds", "fold", "init_from", "freeze")}
NO_PICTURE = "none"
GRAPHS, TRIALS = "graphs", "trials"
"""Fingerprint of the graphs, and number of trials, in the file of the settings."""
USUAL_TRIALS = 50
SHOWN = 4  # settings whose importance is printed

NumTrials = Annotated[
    int | None,
    typer.Option(
        help="Number of trials in all, with those of an earlier command.", min=1, show_default=str(USUAL_TRIALS)
    ),
]
Workers = Annotated[int, typer.Option(help="Number of trials at the same time, each in a process of its own.", min=1)]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the search. Resumes the search that it holds.", show_default=f"{TUNING}/DATASET-MODEL-SEED"
    ),
]
Picture = Annotated[
    str, typer.Option(help=f"Format of the picture of what mattered: {', '.join(IMAGES)}, or {NO_PICTURE}.")
]


@with_settings(OFFERED)
def tune(
    source: Source = None,
    trials: NumTrials = None,
    workers: Workers = 1,
    out: Out = None,
    picture: Picture = "png",
    folders: Folders = USUAL_FOLDERS,
    **flags: Any,
) -> None:
    """Search for good settings by validation scores alone; the test graphs are never used.

    Options that you type are fixed. Trials vary the others that matter for the model: order, subspaces, gamma, width,
    layers, normalisation, readout, residual, dropout, learning rate, weight decay. Poor trials are stopped early. At
    the end it prints the command that trains the winner.

    After an interruption, 'bankgcn tune --out DIR' resumes; a larger --trials adds trials.

    For example: bankgcn tune molecules.csv --target active --trials 50 --workers 4 --out search
    """
    import torch  # --help does not need it

    from bankgcn.cli.run_report import show_graphs
    from bankgcn.nn.network import check_available

    pick(dict.fromkeys((*IMAGES, NO_PICTURE)), picture, "format of pictures")
    require("optuna", "bankgcn tune")
    if picture != NO_PICTURE:
        require("matplotlib", "the picture of bankgcn tune (--picture none leaves it out)")
    torch.set_num_threads(1)
    flags |= {SOURCE: source, DATA_ROOT: folders.given}
    typed: dict[str, Plain] = {name: value for name, value in flags.items() if value is not None}
    folder = TuneFolder(out or TUNING / Settings.resolve(typed).name)
    fixed = folder.resolve(typed)
    settings = Settings.resolve(fixed)
    check_available(settings["model"])
    runner = _read_trials(settings, fixed)
    if not folder.config.exists():
        settings, fixed, runner = _chosen_by_data(settings, fixed, runner)
    show_graphs(runner.graphs)
    runner.check_scores()
    with lock_folder(folder.path):
        folder.check_graphs(runner.fingerprint, settings[SOURCE])
        total = trials or folder.num_trials
        folder.write_config(fixed, settings, total, runner.fingerprint)
        study = _run(runner, folder, total, workers, settings["seed"])
        _show_outcome(study, runner, folder, settings, picture)


def _read_trials(settings: Settings, fixed: dict[str, Plain]) -> Trials:
    """Read the graphs: errors in the data are reported before anything is written."""
    from bankgcn.experiments.tuning.trial import Search, Trials
    from bankgcn.training.prepare import Loader

    search = Search(
        source=settings[SOURCE],
        settings={name: value for name, value in settings.values.items() if name in RUN_SETTINGS},
        parameters=parameters_for(settings["model"], fixed),
        folders=settings.folders,
    )
    return Trials(search, Loader(search.folders, load_graphs))


def _chosen_by_data(
    settings: Settings, fixed: dict[str, Plain], runner: Trials
) -> tuple[Settings, dict[str, Plain], Trials]:
    """The same with the settings that the graphs choose, where the user left them open."""
    from bankgcn.cli.run_report import CHOSEN_BY_DATA, choose_by_data
    from bankgcn.experiments.tuning.trial import Trials

    chosen = choose_by_data(runner.graphs, [name for name in CHOSEN_BY_DATA if name not in fixed])
    if not chosen:
        return settings, fixed, runner
    fixed = {**fixed, **chosen}
    settings = Settings.resolve(fixed)
    search = replace(runner.search, settings={**runner.search.settings, **chosen})
    return settings, fixed, Trials(search, runner.load)


def _run(runner: Trials, folder: TuneFolder, total: int, workers: int, seed: int) -> optuna.Study:
    """Run the trials that are missing; an interrupt ends the command."""
    from bankgcn.experiments.tuning.study import (
        best_trial,
        ended_trials,
        open_study,
        run_trials,
        run_trials_in_processes,
    )

    study = open_study(folder.path, runner.search, runner.metric)
    before = len(ended_trials(study))
    names = ", ".join(names_of(runner.search.parameters))
    done = f", {before:,} of them done" if before else ""
    say(f"{total:,} trials in {folder.path}{done}; they vary {names}", stderr=True)
    try:
        with Progress("trial", total, before) as progress:

            def show(study: optuna.Study) -> None:
                ended = ended_trials(study)
                if len(ended) > progress.done:
                    progress.update(
                        len(ended), details=_details(ended, best_trial(ended, runner.metric), runner.metric)
                    )

            if workers == 1:
                run_trials(study, runner, total, seed, on_change=show)
            elif before < total:
                run_trials_in_processes(study, folder.path, runner.search, total, seed, workers, show)
    except KeyboardInterrupt:  # here the bar is gone, so that nothing is printed into its line
        ended = len(ended_trials(study))
        again = f"bankgcn tune --out {shlex.quote(str(folder.path))} --workers {workers}"
        say(f"interrupted after {ended:,} of {total:,} trials; to resume: {again}", stderr=True)
        raise typer.Exit(INTERRUPTED) from None
    return study


def _details(ended: list[TrialResult], best: TrialResult | None, metric: Metric) -> str:
    """The best score so far, and how many trials were stopped early."""
    score = f"best {metric.label} {metric.text(best.score)} (trial {best.number})" if best else ""
    stopped = sum(trial.stopped for trial in ended)
    return ", ".join(filter(None, (score, f"{stopped:,} stopped early" if stopped else "")))


def _show_outcome(study: optuna.Study, runner: Trials, folder: TuneFolder, settings: Settings, picture: str) -> None:
    """Write the trials, the winner and the picture; print the winner, what mattered, and the command to type next."""
    from bankgcn.experiments.tuning.study import best_trial, ended_trials, importances

    ended = ended_trials(study)
    names = names_of(runner.search.parameters)
    folder.write_trials(ended, names, runner.graphs.task.metric)
    best = best_trial(ended, runner.metric)
    if best is None:
        raise ValueError("the loss of every trial became infinite: fix a smaller --learning-rate")
    winner = Settings.resolve({**settings.values, **best.values})
    folder.write_best(winner)
    weights = importances(study)
    _show_winner(best, ended, weights, runner)
    if picture != NO_PICTURE:
        image = draw_trials(ended, best, names, weights, runner.metric, picture)
        with atomic_write(folder.picture(picture)) as file:
            file.write(image)
    say(f"files: {folder.path}")
    say("no test graph has been used; to train the winner and score the test graphs once:")
    say(shlex.join(train_command(winner, folder.path / "best")))


def _show_winner(best: TrialResult, ended: list[TrialResult], weights: dict[str, float], runner: Trials) -> None:
    stopped = sum(trial.stopped for trial in ended)
    metric = runner.metric
    say(
        f"best validation {metric.label}  {metric.text(best.score)}  (trial {best.number} of {len(ended):,}, "
        f"{stopped:,} stopped early; {len(runner.graphs.split.valid):,} graphs)"
    )
    for name, value in best.values.items():
        say(f"  {name:<14} {value}")
    if weights:
        say(f"importance: {', '.join(f'{name} {weight:.2f}' for name, weight in list(weights.items())[:SHOWN])}")
    print_note("the best of many validation scores is optimistic; the test score of the winner is not")


@dataclass(frozen=True)
class TuneFolder:
    """The files of a search, beside the journal of its trials.

    Args:
        path: The folder; it need not be there yet.
    """

    path: Path

    @property
    def config(self) -> Path:
        """The settings that are fixed, in TOML, with the number of trials and the fingerprint of the graphs."""
        return self.path / "tune.toml"

    @property
    def best(self) -> Path:
        """The settings of the winner, in TOML."""
        return self.path / "best.toml"

    @property
    def trials(self) -> Path:
        """One line for each trial that has ended."""
        return self.path / "trials.csv"

    def picture(self, form: str) -> Path:
        """The picture of what mattered."""
        return self.path / f"parameters.{form}"

    def resolve(self, typed: Mapping[str, Plain]) -> dict[str, Plain]:
        """The settings that are fixed: those that the folder keeps, or what is typed for a new search.

        Raises:
            ValueError: What is typed contradicts the search that the folder holds.
        """
        if not self.config.exists():
            if self.path.is_dir() and any(not path.name.startswith(".") for path in self.path.iterdir()):
                raise FileError("holds something else than a search: name another folder by --out", self.path)
            return dict(typed)
        kept = {"preset": PAPER} | {
            name: value for name, value in read_settings(self.config).items() if name not in (GRAPHS, TRIALS)
        }
        for row in SPACE:
            if row.name in typed and row.name not in kept:
                raise ValueError(f"{self.path} holds a search that varies {row.name}: name another folder by --out")
        before, now = (Settings.resolve(values, None, str(self.config)) for values in (kept, {**kept, **typed}))
        for name in now.differing(before)[:1]:
            raise ValueError(
                f"{self.path} holds a search with {name} = {before.values.get(name)}, not {now.values.get(name)}: name "
                "another folder by --out"
            )
        return {**kept, **{name: value for name, value in typed.items() if name == DATA_ROOT}}

    @property
    def num_trials(self) -> int:
        """The number of trials of the last command; the default without one."""
        return int(read_toml(self.config).get(TRIALS, USUAL_TRIALS)) if self.config.exists() else USUAL_TRIALS

    def check_graphs(self, fingerprint: str, source: str) -> None:
        """Raise if the graphs have changed since the first trial."""
        if self.config.exists() and read_toml(self.config).get(GRAPHS) != fingerprint:
            raise ValueError(
                f"{source} has changed since the first trial in {self.path}: name another folder by --out, because "
                "scores on other graphs cannot be compared"
            )

    def write_config(self, fixed: Mapping[str, Plain], settings: Settings, trials: int, fingerprint: str) -> None:
        """Write the settings that are fixed, with full paths."""
        paths = {name: settings[name] for name in (SOURCE, DATA_ROOT, "test") if settings[name]}
        comment = "bankgcn tune --out FOLDER resumes this search"
        settled = {"preset": settings["preset"], **fixed, **paths}
        write_toml(self.config, {**settled, TRIALS: trials, GRAPHS: fingerprint}, comment)

    def write_best(self, settings: Settings) -> None:
        """Write the settings of the winner."""
        write_toml(self.best, settings.values, f"bankgcn train --config {self.best.name} trains the winner")

    def write_trials(self, trials: Sequence[TrialResult], names: Sequence[str], metric: str) -> None:
        """Write one line for each trial."""
        columns: Columns = [
            ("trial", [trial.number for trial in trials]),
            (f"validation_{metric}", [trial.score for trial in trials]),
            ("validation_loss", [trial.valid_loss for trial in trials]),
            ("stopped", ["yes" if trial.stopped else "no" for trial in trials]),
        ]
        columns += [(name, [trial.values[name] for trial in trials]) for name in names]
        with atomic_write(self.trials) as file:
            write_csv(file, columns)


def train_command(settings: Settings, out: Path) -> list[str]:
    """The arguments of the command that trains with these settings."""
    usual = settings.with_preset("model")
    by_default = Settings.resolve({SOURCE: settings[SOURCE]})["preset"]
    arguments = ["bankgcn", "train", str(settings[SOURCE])]
    arguments += ["--model", str(settings["model"])] if settings["model"] != DEFAULTS["model"] else []
    arguments += ["--preset", str(settings["preset"])] if settings["preset"] != by_default else []
    for name in settings.differing(usual):
        flag, value = f"--{name.replace('_', '-')}", settings[name]
        if isinstance(value, bool):
            arguments.append(flag if value else f"--no-{flag[2:]}")
        else:
            arguments += [flag, str(value)]
    arguments += ["--data-root", str(settings[DATA_ROOT])] if settings[DATA_ROOT] else []
    return [*arguments, "--out", str(out)]
