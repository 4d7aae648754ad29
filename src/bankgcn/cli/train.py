"""``bankgcn train``: from graphs to a trained model in a folder, or to several models that vote together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bankgcn.cli.settings import Device, Folders, Source, Threads, with_settings
from bankgcn.data.catalog import USUAL_FOLDERS
from bankgcn.extras import require
from bankgcn.training.spec import DATA_ROOT, RUN_SETTINGS, SOURCE

Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the run. Resumes the run if the folder holds an unfinished one.",
        show_default="runs/DATASET-MODEL-SEED, and what differs from the defaults",
        rich_help_panel="Run",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        help="TOML file with any of these options, such as the config.toml of another run; flags override it.",
        rich_help_panel="Run",
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the run that the folder holds.", rich_help_panel="Run")
]
Seeds = Annotated[
    str | None,
    typer.Option(
        metavar="0-4",
        help="Train a model for each of these seeds, on one split; predict averages them.",
        show_default=False,
        rich_help_panel="Run",
    ),
]
Models = Annotated[
    str | None,
    typer.Option(
        metavar="bank,forest",
        help="Train these models, each for all seeds, on one split; predict averages them, with a weight of each model "
        "that the validation graphs choose.",
        show_default=False,
        rich_help_panel="Run",
    ),
]
WithRival = Annotated[
    bool,
    typer.Option(
        "--rival/--no-rival",
        help="After training a network on your own data, print what a forest has on the same split; it takes at most a "
        "quarter of the time of the training.",
        rich_help_panel="Run",
    ),
]
TensorBoard = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Write a log of each epoch for TensorBoard; several models have a folder each within DIR.",
        show_default=False,
        rich_help_panel="Run",
    ),
]


@with_settings(RUN_SETTINGS)
def train(
    source: Source = None,
    out: Out = None,
    config: Config = None,
    overwrite: Overwrite = False,
    seeds: Seeds = None,
    models: Models = None,
    rival: WithRival = True,
    threads: Threads = 1,
    device: Device = "cpu",
    tensorboard: TensorBoard = None,
    folders: Folders = USUAL_FOLDERS,
    **flags: Any,
) -> None:
    """Train a model, score it once on test graphs it has not seen, and keep it in a folder.

    Without arguments it trains on MUTAG, which comes with the package. Defaults are the paper's. --seeds, --folds
    and --models train several models, each in a folder of its own within --out.
    """
    if tensorboard is not None:
        require("tensorboard", "--tensorboard")
    import torch

    from bankgcn.cli.run_report import show_outcome
    from bankgcn.cli.train_runs import Command, Members, train_many, train_one
    from bankgcn.training.stepper import ProcessGroup

    torch.set_num_threads(threads)
    group = ProcessGroup.from_environment(device)
    try:
        flags |= {SOURCE: source, DATA_ROOT: folders.given}
        typed = {name: value for name, value in flags.items() if value is not None}
        command = Command(config=config, overwrite=overwrite, group=group, tensorboard=tensorboard, rival=rival)
        members = Members.resolve(typed, config, out, seeds, models)
        if members is not None:
            train_many(members, command)
        else:
            record, folder, run = train_one(typed, out, command)
            if record is not None and command.speaks:
                show_outcome(record, folder, beside=run if rival else None)
        group.barrier()  # a process that leaves earlier would end the others
    finally:
        group.close()
