"""One training of ``bankgcn train``: resolve its settings, train or resume it in its folder."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import typer

from bankgcn.cli.errors import INTERRUPTED
from bankgcn.cli.output import say
from bankgcn.cli.progress import TrainingProgress
from bankgcn.cli.reading import load_graphs
from bankgcn.cli.run_report import choose_by_data, show_start
from bankgcn.cli.settings import Settings, read_settings
from bankgcn.data.splits import Split
from bankgcn.files.checked import FileError, read_toml, write_toml
from bankgcn.settings import Plain
from bankgcn.training.execute import RunResult, execute
from bankgcn.training.parallel import ProcessGroup
from bankgcn.training.prepare import Loader, PreparedRun, prepare
from bankgcn.training.record import RunRecord
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.setting_names import DATA_ROOT
from bankgcn.training.tensorboard import TensorBoardLog

RUNS = Path("runs")


@dataclass(frozen=True, kw_only=True)
class Command:
    """What all trainings of one command have in common.

    Args:
        config: File with further settings.
        overwrite: Whether to replace a run in the folder.
        group: The processes that train together.
        tensorboard: Folder of the log for TensorBoard, if there shall be one.
        resume: The command that resumes the training after an interrupt; by default one that names its folder.
    """

    config: Path | None
    overwrite: bool
    group: ProcessGroup
    tensorboard: Path | None = None
    resume: str | None = None

    @property
    def speaks(self) -> bool:
        """Whether this process is the one that talks to the user and writes files."""
        return self.group.rank == 0

    def to_resume(self, folder: RunFolder) -> str:
        """The command that resumes the training in a folder."""
        log = f" --tensorboard {shlex.quote(str(self.tensorboard))}" if self.tensorboard else ""
        return self.resume or f"{folder.to_resume}{log}"


def train_one(flags: dict[str, Plain], out: Path | None, command: Command) -> tuple[RunRecord | None, RunFolder]:
    """Train a model in its folder, or read the record of a finished training.

    Args:
        flags: The settings that were typed.
        out: The folder; by default named after the settings.
        command: What else was typed.

    Returns:
        The record, in the first process of a group, and the folder.
    """
    settings, folder, free = _resolve(flags, command.config, out, command.overwrite)
    if not folder.finished or command.overwrite:
        return _train(settings, free, folder, command), folder
    if command.speaks:
        folder.tidy_finished()
        say(f"this run is finished already; to train it again: {folder.to_repeat}", stderr=True)
    record = folder.read_record()
    if record.best_epoch is not None and not folder.model.exists():
        raise FileError(folder.why_no_model(), folder.path)
    return record, folder


def _resolve(
    flags: dict[str, Plain], config: Path | None, out: Path | None, overwrite: bool
) -> tuple[Settings, RunFolder, tuple[str, ...]]:
    """The settings and the folder of the run, and names of the settings that the data may choose.

    A run in the folder is resumed with its own settings, and conflicting flags raise an error; with ``overwrite`` its
    settings do not count.
    """
    named = RunFolder(out) if out is not None else None
    resumed = named is not None and named.started and not overwrite
    file = config or (named.config if named is not None and resumed else None)
    content = read_settings(file) if file else {}
    settings = Settings.resolve(flags, content, str(file))
    free = _left_open(flags, content)
    folder = named or RunFolder(RUNS / settings.name)
    folder.check_free()
    if folder.started and not overwrite:
        before = Settings.resolve({}, read_toml(folder.config), str(folder.config))
        settings = Settings({**settings.values, **{key: before[key] for key in free}})  # as the run began
        free = ()
        for key in settings.differing(before)[:1]:
            raise ValueError(
                f"{folder.path} holds a run with {key} = {before.values.get(key)}, not {settings.values.get(key)}: "
                "name another folder by --out, or give up that run by --overwrite"
            )
    return settings, folder, free


def _left_open(flags: dict[str, Plain], file: dict[str, Plain]) -> tuple[str, ...]:
    """Names of the settings that the data may choose: a file that has a metric describes a run completely."""
    free = [] if "metric" in {**flags, **file} else ["metric"]
    return (*free, *([] if "threshold" in {**flags, **file} or "metric" in file else ["threshold"]))


def _train(settings: Settings, free: tuple[str, ...], folder: RunFolder, command: Command) -> RunRecord | None:
    """Train in the folder; only the first process of a group returns the record."""
    load = Loader(settings[DATA_ROOT] or None, load_graphs)
    run = prepare(settings.spec, load)
    chosen = choose_by_data(run, free, shown=command.speaks)
    if chosen:
        settings = Settings({**settings.values, **chosen})
        run = prepare(settings.spec, load)
    with folder.lock() if command.speaks else nullcontext():
        if command.speaks:
            _prepare(folder, settings, run, command.overwrite)
        command.group.barrier()
        result = _execute(run, folder, command)
        if result is None:
            return None
        if not folder.started:
            raise FileError("was removed or replaced during the training, so nothing is written there", folder.path)
        folder.write_result(result)
        return result.record


def _execute(run: PreparedRun, folder: RunFolder, command: Command) -> RunResult | None:
    """Train, and show the user how it goes."""
    before = folder.epochs()
    if command.speaks:
        show_start(run, folder, len(before))
        if run.graphs.skipped:
            count = len(run.graphs.skipped)
            say(f"note: {count:,} rows without a graph, with the reasons: {folder.skipped}", stderr=True)
    logs = [TensorBoardLog(command.tensorboard)] if command.tensorboard else []
    try:
        with TrainingProgress(run.spec.train, before, metric=run.task.metric, shown=command.speaks) as progress:
            return execute(run, callbacks=[progress, *logs], checkpoint=folder.checkpoint, group=command.group)
    except KeyboardInterrupt:
        if command.speaks:
            done = f"after epoch {progress.last.number}" if progress.last else "before the first epoch was over"
            say(f"interrupted {done}; to resume: {command.to_resume(folder)}", stderr=True)
        raise typer.Exit(INTERRUPTED) from None


def _prepare(folder: RunFolder, settings: Settings, run: PreparedRun, overwrite: bool) -> None:
    """Write the settings and the split, and remove what must not be there when the training starts or resumes."""
    if overwrite:
        folder.clear()
    if folder.split.exists():
        kept = Split.load(folder.split, run.graphs.fingerprint)
        if kept.hash != run.split.hash:
            raise FileError(
                f"is not the split that this version makes; to train again: {folder.to_repeat}", folder.split
            )
    folder.remove_scraps()
    aside = folder.set_damaged_aside()
    if aside is not None:
        say(
            f"note: the checkpoint cannot be read and is now {aside}; the training starts again",
            stderr=True,
        )
    write_toml(folder.config, settings.values, f"bankgcn train --config {folder.config.name} repeats this run")
    run.split.save(folder.split, run.graphs.fingerprint, run.seen_hashes())
    if run.graphs.skipped:
        folder.write_skipped(run.graphs.skipped)
