"""The trainings of ``bankgcn train``: one run in its folder, or several runs in folders of their own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, stdev

import typer

from bankgcn.cli.errors import INTERRUPTED, print_note, print_warning, with_flags
from bankgcn.cli.open_input import read_input
from bankgcn.cli.output import say
from bankgcn.cli.progress import TrainingProgress, load_graphs
from bankgcn.cli.run_report import (
    CHOSEN_BY_DATA,
    choose_by_data,
    mixture_lines,
    show_assessment,
    show_coverage,
    show_forest,
    show_start,
)
from bankgcn.cli.settings import Settings, names_in, read_settings
from bankgcn.data import UnsuitableGraphs
from bankgcn.data.catalog import DataFolders
from bankgcn.data.splits import Split
from bankgcn.files.checked import FileError, read_toml, write_toml
from bankgcn.metrics import METRICS
from bankgcn.nn.convs import RIVALS
from bankgcn.nn.network import check_available
from bankgcn.settings import Plain
from bankgcn.training.assessment import Assessment
from bankgcn.training.callbacks import TensorBoardLog
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.execute import RunResult, execute
from bankgcn.training.intervals import LEVEL, TooFewGraphs
from bankgcn.training.mixture import FILE as MIXTURE_FILE
from bankgcn.training.mixture import kinds_of
from bankgcn.training.prepare import Loader, PreparedRun, prepare
from bankgcn.training.record import RunRecord
from bankgcn.training.run_folder import SMALLER_STEPS, RunFolder
from bankgcn.training.spec import DATA_ROOT, unused_settings
from bankgcn.training.stepper import ProcessGroup

RUNS = Path("runs")


@dataclass(frozen=True, kw_only=True)
class Command:
    """What all trainings of one command have in common.

    Args:
        config: File with further settings.
        overwrite: Whether to replace a run in the folder.
        group: The processes that train together.
        tensorboard: Folder of the log for TensorBoard, if there shall be one.
        rival: Whether to print what a forest has on the split of networks.
        resume: The command that resumes the training after an interrupt; by default one that names its folder.
        load: What reads the graphs of several trainings once; by default, each reads its own.
        said: Notes on the graphs that were printed.
    """

    config: Path | None
    overwrite: bool
    group: ProcessGroup
    tensorboard: Path | None = None
    rival: bool = True
    resume: str | None = None
    load: Loader | None = None
    said: set[str] = field(default_factory=set)

    @property
    def speaks(self) -> bool:
        """Whether this process is the one that talks to the user and writes files."""
        return self.group.rank == 0

    def to_resume(self, folder: RunFolder) -> str:
        """The command that resumes the training in a folder."""
        log = f" --tensorboard {shlex.quote(str(self.tensorboard))}" if self.tensorboard else ""
        device = f" --device {self.group.device.type}" if self.group.device.type != "cpu" else ""
        return self.resume or f"{folder.to_resume}{device}{log}"


def train_one(
    flags: dict[str, Plain], out: Path | None, command: Command
) -> tuple[RunRecord | None, RunFolder, PreparedRun | None]:
    """Train a model in its folder, or read the record of a finished training.

    Args:
        flags: The settings that were typed.
        out: The folder; by default named after the settings.
        command: What else was typed.

    Returns:
        The record, in the first process of a group, the folder, and the run if it was trained now.
    """
    settings, folder, free = _resolve(flags, command.config, out, command.overwrite)
    if not folder.finished or command.overwrite:
        record, run = _train(settings, free, folder, command)
        return record, folder, run
    if command.speaks:
        folder.tidy_finished()
        say(f"this run is finished already; to train it again: {folder.to_repeat}", stderr=True)
    record = folder.read_record()
    if record.best_epoch is not None and not folder.model.exists():
        raise FileError(folder.why_no_model(), folder.path)
    return record, folder, None


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
    given = {*flags, *file}
    return tuple(name for name in CHOSEN_BY_DATA if name not in given and (name == "metric" or "metric" not in file))


def _train(
    settings: Settings, free: tuple[str, ...], folder: RunFolder, command: Command
) -> tuple[RunRecord | None, PreparedRun]:
    """Train in the folder; only the first process of a group returns the record, and all the run."""
    load = command.load or Loader(settings.folders, load_graphs)
    run = prepare(settings.spec, load)
    chosen = choose_by_data(run, free, shown=command.speaks and not command.said)
    if chosen:
        settings = Settings({**settings.values, **chosen})
        run = prepare(settings.spec, load)
    with folder.lock() if command.speaks else nullcontext():
        if command.speaks:
            _write_start(folder, settings, run, command.overwrite)
        command.group.barrier()
        result = _execute(run, folder, command)
        if result is None:
            return None, run
        if not folder.started:
            raise FileError("was removed or replaced during the training, so nothing is written there", folder.path)
        folder.write_result(result)
        return result.record, run


def _execute(run: PreparedRun, folder: RunFolder, command: Command) -> RunResult | None:
    """Train, and show the user how it goes."""
    before = folder.epochs()
    if command.speaks:
        show_start(run, folder, len(before), command.said)
        if run.graphs.skipped:
            count = len(run.graphs.skipped)
            print_note(f"{count:,} rows without a graph, with the reasons: {folder.skipped}")
    logs = [TensorBoardLog(command.tensorboard)] if command.tensorboard else []
    shown = command.speaks and run.spec.model.conv not in RIVALS  # which have no epochs
    try:
        with TrainingProgress(run.spec.train, before, metric=run.task.metric, shown=shown) as progress:
            watching = [progress, *logs]
            return execute(
                run, callbacks=watching, checkpoint=folder.checkpoint, group=command.group, for_new_graphs=True
            )
    except KeyboardInterrupt:
        if command.speaks:
            done = f"after epoch {progress.last.number}" if progress.last else "before the first epoch was over"
            say(f"interrupted {done}; to resume: {command.to_resume(folder)}", stderr=True)
        raise typer.Exit(INTERRUPTED) from None


def _write_start(folder: RunFolder, settings: Settings, run: PreparedRun, overwrite: bool) -> None:
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
        print_note(f"the checkpoint cannot be read and is now {aside}; the training starts again")
    write_toml(folder.config, settings.values, f"bankgcn train --config {folder.config.name} repeats this run")
    run.split.save(folder.split, run.graphs.fingerprint, run.seen_hashes())
    if run.graphs.skipped:
        folder.write_skipped(run.graphs.skipped)


@dataclass(frozen=True)
class Members:
    """The trainings of one command.

    Args:
        folder: The folder that holds their folders.
        flags: The settings of each, by the name of its folder.
        optional: Models that are left out, with a note, if they cannot take the graphs.
    """

    folder: Path
    flags: Mapping[str, dict[str, Plain]]
    optional: tuple[str, ...] = ()

    @classmethod
    def resolve(
        cls,
        flags: dict[str, Plain],
        config: Path | None,
        out: Path | None,
        seeds: str | None = None,
        models: str | None = None,
    ) -> Members | None:
        """The trainings that flags ask for; ``None`` if it is one."""
        file = read_toml(config) if config else None
        if seeds is not None and "seed" in flags:
            raise ValueError(f"--seed {flags['seed']} and --seeds {seeds} contradict each other: choose one")
        names = names_in(models, "models") or []
        optional: tuple[str, ...] = ()
        if models is None and "preset" in {*flags, *(file or {})} and "model" not in {*flags, *(file or {})}:
            flags, seeds, optional = _by_preset(flags, seeds, Settings.resolve(flags, file, str(config)))
            names = list(optional)
        for model in names:
            check_available(model)  # before the first of them is trained
        by_model = _by_model(flags, names)
        given = Settings.resolve(next(iter(by_model.values())), file, str(config))
        folds = given["folds"] if given["fold"] < 0 else 0
        if seeds is None and not folds and not names:
            if out is not None and not RunFolder(out).started and _holds_runs(out):
                raise FileError(
                    "holds several runs: to resume them, type --seeds, --folds, --models or --preset as before", out
                )
            return None
        if out is not None and RunFolder(out).started:
            raise FileError("holds a single run: name another folder by --out", out)
        numbers = parse_seeds(seeds) if seeds is not None else []
        members: dict[str, dict[str, Plain]] = {}
        for model, own in by_model.items():
            runs = {f"fold-{fold}": {**own, "fold": fold} for fold in range(folds)} or {"": own}
            if numbers:
                split: dict[str, Plain] = {
                    "split_seed": given["split_seed"] if given["split_seed"] >= 0 else numbers[0]
                }
                once = model in RIVALS  # another seed says little new, and the mean of a kind has one weight
                runs = {
                    f"{name}-seed-{number}".lstrip("-"): {**one, **split, "seed": number}
                    for name, one in runs.items()
                    for number in (numbers[:1] if once else numbers)
                }
            members |= {"-".join(filter(None, (model, name))): one for name, one in runs.items()}
        first = next(iter(members.values()))
        settings = Settings.resolve(first, file, str(config))
        name = re.sub("-fold=0", "", settings.name) + (f"-seeds={seeds}" if seeds else "")
        name += f"-models={models}" if models else ""
        return cls(out or RUNS / name, members, optional[1:])


def _by_preset(
    flags: dict[str, Plain], seeds: str | None, settings: Settings
) -> tuple[dict[str, Plain], str | None, tuple[str, ...]]:
    """The flags without the seed, the seeds, and the models, where a preset trains several of them."""
    models, count = settings.voters
    if not models:
        return flags, seeds, ()
    if seeds is None:
        first = int(settings["seed"])
        flags = {name: value for name, value in flags.items() if name != "seed"}
        seeds = f"{first}-{first + count - 1}"
    return flags, seeds, models


def _by_model(flags: dict[str, Plain], models: list[str]) -> dict[str, dict[str, Plain]]:
    """The flags of each model, those that mean something to it; of one without a name if none are named.

    Raises:
        ValueError: A model is unknown, or a flag means something to none of them.
    """
    if not models:
        return {"": dict(flags)}
    if "model" in flags:
        raise ValueError(f"--model {flags['model']} and --models contradict each other: choose one")
    unused = {model: unused_settings(model) for model in models}
    for name in flags:
        if all(name in names for names in unused.values()):
            raise ValueError(f"--{name.replace('_', '-')} is no option of the models {', '.join(models)}")
    return {
        model: {**{name: value for name, value in flags.items() if name not in names}, "model": model}
        for model, names in unused.items()
    }


def parse_seeds(text: str) -> list[int]:
    """The numbers of ``"0-4"`` or ``"0,3,7"``.

    Example:
        >>> parse_seeds("0-2,7")
        [0, 1, 2, 7]
    """
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:\s*-\s*(\d+))?\s*", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise ValueError(f"--seeds {text}: expected numbers such as 0-4 or 0,3,7")
        numbers += range(int(match[1]), int(match[2] or match[1]) + 1)
    return list(dict.fromkeys(numbers))


def train_many(members: Members, command: Command) -> None:
    """Train all, one after another; finished ones are not trained again. Then print how good they are."""
    records: dict[str, RunRecord] = {}
    runs: list[PreparedRun] = []
    root = next(iter(members.flags.values())).get(DATA_ROOT)
    load = Loader(DataFolders(str(root) if root else None), load_graphs)
    for name, flags in members.flags.items():
        log = command.tensorboard / name if command.tensorboard else None
        one = replace(command, tensorboard=log, resume="type the same command again", load=load)
        try:
            record, _, run = train_one(flags, members.folder / name, one)
        except UnsuitableGraphs as error:
            if flags.get("model") not in members.optional:
                raise
            if command.speaks:
                print_note(f"without {flags['model']}: {with_flags(error)}")
            continue
        if record is not None:
            records[name] = record
            runs += [] if run is None else [run]
    if command.speaks:
        _show_scores(records, members.folder)
        _weigh(members)
        assessment = _show_ensemble(members)
        if command.rival and assessment is not None and runs and _share_split(records):
            _show_rival(runs[0], records, assessment)
        say(f"files: {members.folder}")
        say(f"next: bankgcn predict {shlex.quote(str(members.folder))} NEW_GRAPHS")


def _show_scores(records: Mapping[str, RunRecord], folder: Path) -> None:
    """The scores of the single models, with mean and standard deviation."""
    metric = METRICS[next(iter(records.values())).metric]
    label = metric.label
    scores = [record.test_score for record in records.values() if record.test_score is not None]
    width = max(len("model"), *map(len, records))
    say(f"{'model':<{width}}  test {label}  validation {label}")
    for name, record in records.items():
        test, valid = (metric.text(score).rjust(len(label) + 5) for score in (record.test_score, record.valid_score))
        say(f"{name:<{width}}  {test}  {valid.rjust(len(label) + 11)}")
    kinds = list(dict.fromkeys(record.config.model.conv for record in records.values()))
    for kind in kinds:
        own = [
            one.test_score for one in records.values() if one.config.model.conv == kind and one.test_score is not None
        ]
        if len(own) > 1:
            middle, spread = metric.text(mean(own)), metric.text(stdev(own))
            named = f" {kind}" if len(kinds) > 1 else ""
            say(f"mean of {len(own)}{named} models  {middle}, standard deviation {spread}")
    diverged = [name for name, record in records.items() if record.best_epoch is None]
    if diverged:
        print_warning(
            f"there is no model of {', '.join(diverged)}: the training diverged in the first epoch; "
            f"{with_flags(SMALLER_STEPS)}"
        )
    unscored = len(records) - len(scores) - len(diverged)
    if unscored:
        print_warning(f"{unscored} models in {folder} have no test score")


def _weigh(members: Members) -> None:
    """Choose the weights of several kinds of models by their validation graphs, keep them, and print them."""
    (members.folder / MIXTURE_FILE).unlink(missing_ok=True)  # that of an earlier command
    ensemble = Ensemble.load(members.folder)
    if len(set(kinds_of(ensemble.members))) < 2:
        return
    mixture = ensemble.mixed().mixture
    assert mixture is not None
    mixture.save(members.folder)
    for line in mixture_lines(mixture):
        say(line)


def _share_split(records: Mapping[str, RunRecord]) -> bool:
    return len({record.split_hash for record in records.values()}) == 1


def _show_rival(run: PreparedRun, records: Mapping[str, RunRecord], assessment: Assessment) -> None:
    """Print what a forest has on the split of several networks, unless one of the models is a forest."""
    if any(record.config.model.conv in RIVALS for record in records.values()):
        return
    show_forest(run, sum(record.seconds for record in records.values()), assessment.score, f"{len(records)} networks")


def _show_ensemble(members: Members) -> Assessment | None:
    """How good the models are together: on the test graphs that they share, or in a cross-validation on all graphs."""
    ensemble = Ensemble.load(members.folder)
    if len(ensemble.members) < 2:
        return None
    root = next(iter(members.flags.values())).get(DATA_ROOT)
    inputs = read_input(ensemble, None, DataFolders(str(root) if root else None), {}, part="test", notes=False)
    if len(inputs.graphs):
        together = "models together" if inputs.voters is None else "models, each on its test graphs"
        answered = inputs.answered(ensemble)
        assessment = show_assessment(ensemble, answered, prefix=f"all {len(ensemble.members)} {together}: test ")
        with suppress(TooFewGraphs):  # whoever asks for intervals is told so
            if ensemble.has_intervals:
                show_coverage(ensemble, answered, LEVEL, notes=False)
        return assessment
    return None


def _holds_runs(folder: Path) -> bool:
    return folder.is_dir() and any(RunFolder(inner).started for inner in folder.iterdir())
