"""``bankgcn tune``: search for good settings by validation graphs alone."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankgcn.choices import pick
from bankgcn.cli.errors import INTERRUPTED
from bankgcn.cli.messages import say
from bankgcn.cli.options import DataRoot, with_settings
from bankgcn.cli.settings import DATA_ROOT, SOURCE, Settings, translate_option_names
from bankgcn.cli.train import Source
from bankgcn.cli.tune_folder import USUAL_TRIALS, TuneFolder, train_command
from bankgcn.cli.tune_progress import TuneProgress
from bankgcn.experiments.tuning.space import names_of, parameters_for
from bankgcn.extras import require
from bankgcn.files.atomic import atomic_write
from bankgcn.files.folder_lock import lock_folder
from bankgcn.report.plots import IMAGES
from bankgcn.report.trial_plot import draw_trials
from bankgcn.settings import Plain
from bankgcn.training.setting_names import PLACES

if TYPE_CHECKING:
    import optuna

    from bankgcn.experiments.tuning.study import TrialResult
    from bankgcn.experiments.tuning.trial import Trials

TUNING = Path("tuning")
OFFERED = {name: place for name, place in PLACES.items() if name not in ("folds", "fold")}
NO_PICTURE = "none"
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
    data_root: DataRoot = None,
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

    from bankgcn.nn.network import check_available

    pick(dict.fromkeys((*IMAGES, NO_PICTURE)), picture, "format of pictures")
    require("optuna", "bankgcn tune")
    if picture != NO_PICTURE:
        require("matplotlib", "the picture of bankgcn tune (--picture none leaves it out)")
    torch.set_num_threads(1)
    flags |= {SOURCE: source, DATA_ROOT: None if data_root is None else str(data_root)}
    typed: dict[str, Plain] = {name: value for name, value in flags.items() if value is not None}
    folder = TuneFolder(out or TUNING / Settings.resolve(typed).name)
    fixed = folder.resolve(typed)
    settings = Settings.resolve(fixed)
    check_available(settings["model"])
    runner = _prepare(settings, fixed)
    if not folder.config.exists():
        settings, fixed, runner = _chosen_by_data(settings, fixed, runner)
    with lock_folder(folder.path):
        folder.check_graphs(runner.fingerprint, settings[SOURCE])
        total = trials or folder.num_trials
        folder.write_config(fixed, settings, total, runner.fingerprint)
        study = _run(runner, folder, total, workers, settings["seed"])
        _show_outcome(study, runner, folder, settings, picture)


def _prepare(settings: Settings, fixed: dict[str, Plain]) -> Trials:
    """Read the graphs: errors in the data are reported before anything is written."""
    from bankgcn.cli.reading import load_graphs
    from bankgcn.cli.run_report import show_graphs
    from bankgcn.experiments.tuning.trial import Search, Trials
    from bankgcn.training.prepare import Loader

    search = Search(
        source=settings[SOURCE],
        settings={name: value for name, value in settings.values.items() if name in PLACES},
        parameters=parameters_for(settings["model"], fixed),
        data_root=settings[DATA_ROOT] or None,
    )
    with translate_option_names():
        runner = Trials(search, Loader(search.data_root, load_graphs))
    show_graphs(runner.graphs)
    return runner


def _chosen_by_data(
    settings: Settings, fixed: dict[str, Plain], runner: Trials
) -> tuple[Settings, dict[str, Plain], Trials]:
    """The same with the metric and the threshold that skewed targets call for, where the user left them open."""
    from bankgcn.cli.run_report import choose_by_data
    from bankgcn.experiments.tuning.trial import Trials

    chosen = choose_by_data(runner.graphs, [name for name in ("metric", "threshold") if name not in fixed])
    if not chosen:
        return settings, fixed, runner
    fixed = {**fixed, **chosen}
    settings = Settings.resolve(fixed)
    search = replace(runner.search, settings={**runner.search.settings, **chosen})
    with translate_option_names():
        return settings, fixed, Trials(search)


def _run(runner: Trials, folder: TuneFolder, total: int, workers: int, seed: int) -> optuna.Study:
    """Run the trials that are missing; an interrupt ends the command."""
    from bankgcn.experiments.tuning.processes import run_trials_in_processes
    from bankgcn.experiments.tuning.study import best_trial, ended_trials, open_study, run_trials

    study = open_study(folder.path, runner.search, runner.metric)
    before = len(ended_trials(study))
    names = ", ".join(names_of(runner.search.parameters))
    done = f", {before:,} of them done" if before else ""
    say(f"{total:,} trials in {folder.path}{done}; they vary {names}", stderr=True)
    try:
        with TuneProgress(total, before, runner.metric) as progress:

            def show(study: optuna.Study) -> None:
                ended = ended_trials(study)
                progress.update(ended, best_trial(ended, runner.metric))

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
    say(
        "note: the best of many validation scores is optimistic; the test score of the winner is not",
        stderr=True,
    )
