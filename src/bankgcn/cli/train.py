"""``bankgcn train``: from graphs to a trained model in a folder."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from bankgcn.cli.assessment_lines import assessment_lines, assessment_warnings
from bankgcn.cli.errors import INTERRUPTED
from bankgcn.cli.messages import say
from bankgcn.cli.options import DataRoot, Threads, with_settings
from bankgcn.cli.progress import TrainingProgress
from bankgcn.cli.reading import load_graphs
from bankgcn.cli.settings import DATA_ROOT, Settings, translate_option_names
from bankgcn.data.catalog import CATALOG
from bankgcn.data.splits import Split
from bankgcn.files.errors import FileError
from bankgcn.files.toml_file import read_toml, write_toml
from bankgcn.metrics import METRICS
from bankgcn.settings import Plain
from bankgcn.training.assessment import Assessment
from bankgcn.training.checks import class_notes, target_warnings
from bankgcn.training.execute import execute
from bankgcn.training.parallel import ProcessGroup
from bankgcn.training.prepare import Loader, PreparedRun, prepare
from bankgcn.training.record import RunRecord
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.setting_names import PLACES

RUNS = Path("runs")

Source = Annotated[
    str | None,
    typer.Argument(
        help="A dataset's name, a folder or zip in the TU format, a .csv of SMILES, or a .jsonl of graphs.",
        show_default="MUTAG, which comes with the package",
    ),
]
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


@with_settings(PLACES)
def train(
    source: Source = None,
    out: Out = None,
    config: Config = None,
    overwrite: Overwrite = False,
    threads: Threads = 1,
    data_root: DataRoot = None,
    **flags: Any,
) -> None:
    """Train a model, score it once on test graphs it has not seen, and keep it in a folder.

    Without arguments it trains on MUTAG, which comes with the package. Defaults are the paper's.
    """
    torch.set_num_threads(threads)
    group = ProcessGroup.from_environment()
    try:
        flags |= {"source": source, "data_root": None if data_root is None else str(data_root)}
        typed = {name: value for name, value in flags.items() if value is not None}
        settings, folder = _resolve(typed, config, out, overwrite)
        record = folder.read_record() if folder.finished and not overwrite else None
        if record is None:
            record = _train(settings, folder, overwrite, group)
        elif group.rank == 0:
            say(f"this run is finished already; to train it again: {_again(folder)}", stderr=True)
        if record is not None and group.rank == 0:
            _show_outcome(record, folder)
        group.barrier()  # a process that leaves earlier would end the others
    finally:
        group.close()


def _resolve(
    flags: dict[str, Plain], config: Path | None, out: Path | None, overwrite: bool
) -> tuple[Settings, RunFolder]:
    """The settings and the folder of the run.

    A run in the folder is resumed with its own settings, and conflicting flags raise an error; with ``overwrite`` its
    settings do not count.
    """
    named = RunFolder(out) if out is not None else None
    resumed = named is not None and named.started and not overwrite
    file = config or (named.config if named is not None and resumed else None)
    settings = Settings.resolve(flags, read_toml(file) if file else None, str(file))
    folder = named or RunFolder(RUNS / settings.name)
    folder.check_free()
    if folder.started and not overwrite:
        before = Settings.resolve({}, read_toml(folder.config), str(folder.config))
        for key in settings.differing(before)[:1]:
            raise ValueError(
                f"{folder.path} holds a run with {key} = {before.values.get(key)}, not {settings.values.get(key)}: "
                "name another folder by --out, or give up that run by --overwrite"
            )
    return settings, folder


def _train(settings: Settings, folder: RunFolder, overwrite: bool, group: ProcessGroup) -> RunRecord | None:
    """Train in the folder; only the first process of a group returns the record."""
    with translate_option_names():
        run = prepare(settings.spec, Loader(settings[DATA_ROOT] or None, load_graphs))
    with folder.lock() if group.rank == 0 else nullcontext():
        if group.rank == 0:
            _prepare(folder, settings, run, overwrite)
        group.barrier()
        before = folder.epochs()
        if group.rank == 0:
            _show_start(run, folder, len(before))
        try:
            with TrainingProgress(run.spec.train, before, metric=run.task.metric, shown=group.rank == 0) as progress:
                result = execute(run, on_epoch=progress, checkpoint=folder.checkpoint, group=group)
        except KeyboardInterrupt:
            if group.rank == 0:
                done = f"after epoch {progress.last.number}" if progress.last else "before the first epoch was over"
                say(f"interrupted {done}; to resume: bankgcn train --out {_quoted(folder)}", stderr=True)
            raise typer.Exit(INTERRUPTED) from None
        if result is None:
            return None
        folder.write_result(result)
        return result.record


def _prepare(folder: RunFolder, settings: Settings, run: PreparedRun, overwrite: bool) -> None:
    """Write the settings and the split, and remove what must not be there when the training starts or resumes."""
    if overwrite:
        folder.clear()
    if folder.split.exists():
        kept = Split.load(folder.split, run.graphs.fingerprint)
        if kept.hash != run.split.hash:
            raise FileError(f"is not the split that this version makes; to train again: {_again(folder)}", folder.split)
    folder.remove_scraps()
    aside = folder.set_damaged_aside()
    if aside is not None:
        say(
            f"note: the checkpoint cannot be read and is now {aside}; the training starts again",
            stderr=True,
        )
    write_toml(folder.config, settings.values, f"bankgcn train --config {folder.config.name} repeats this run")
    run.split.save(folder.split, run.graphs.fingerprint)


def _show_start(run: PreparedRun, folder: RunFolder, epochs: int) -> None:
    graphs, task = run.graphs, run.task
    sizes = " / ".join(f"{len(part):,}" for part in (run.split.train, run.split.valid, run.split.test))
    for note in (*graphs.notes, *class_notes(graphs)):
        say(f"note: {note}", stderr=True)
    if run.spec.dataset not in CATALOG:
        for warning in target_warnings(graphs, chosen=run.spec.task is not None):
            say(f"warning: {warning}", stderr=True)
    name, targets = (
        graphs.name or run.spec.dataset,
        f"{len(task.names)} {task.kind if len(task.names) > 1 else task.kind[:-1]}",
    )
    say(
        f"{name}: {len(graphs):,} graphs, {targets}; train / validation / test: {sizes}",
        stderr=True,
    )
    say(f"resuming after epoch {epochs} in {folder.path}" if epochs else f"training in {folder.path}", stderr=True)


def _show_outcome(record: RunRecord, folder: RunFolder) -> None:
    if record.best_epoch is None:
        raise ValueError(
            "the training diverged: the loss was not a finite number in the first epoch, so there is no model; a "
            f"smaller --learning-rate may help (record: {folder.record})"
        )
    if record.status == "diverged":
        say(
            f"note: the training diverged: the loss of epoch {record.epochs} is not a finite number; the model has "
            f"the weights of epoch {record.best_epoch}, the best one before; a smaller --learning-rate may help",
            stderr=True,
        )
    _, valid, test = record.split_sizes
    for part, score, size in (("test", record.test_score, test), ("validation", record.valid_score, valid)):
        figure = "unknown" if score is None else f"{score:.4f}"
        say(f"{part} {METRICS[record.metric].label}  {figure}  ({size:,} graphs)")
    if record.assessment:
        assessment = Assessment.from_dict(record.assessment)
        for line in assessment_lines(assessment):
            say(line)
        for warning in assessment_warnings(assessment):
            say(f"warning: {warning}", stderr=True)
    say(f"best epoch {record.best_epoch} of {record.epochs}, in {record.seconds:.1f} s")
    say(f"files: {folder.path}")
    say(f"next: bankgcn predict {_quoted(folder)} NEW_GRAPHS")


def _again(folder: RunFolder) -> str:
    """The command that repeats the run of a folder from its first epoch."""
    return f"bankgcn train --config {shlex.quote(str(folder.config))} --out {_quoted(folder)} --overwrite"


def _quoted(folder: RunFolder) -> str:
    return shlex.quote(str(folder.path))
