"""Several trainings by one command: a model for each seed, which vote together, or for each fold."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, stdev

from bankgcn.cli.errors import with_flags
from bankgcn.cli.evaluate import show_assessment
from bankgcn.cli.model_input import read_input
from bankgcn.cli.output import say
from bankgcn.cli.settings import Settings
from bankgcn.cli.train_one import RUNS, Command, train_one
from bankgcn.files.checked import FileError, read_toml
from bankgcn.metrics import METRICS
from bankgcn.settings import Plain
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.record import RunRecord
from bankgcn.training.run_folder import SMALLER_STEPS, RunFolder
from bankgcn.training.spec import DATA_ROOT


@dataclass(frozen=True)
class Members:
    """The trainings of one command.

    Args:
        folder: The folder that holds their folders.
        flags: The settings of each, by the name of its folder.
    """

    folder: Path
    flags: Mapping[str, dict[str, Plain]]

    @classmethod
    def resolve(
        cls, flags: dict[str, Plain], config: Path | None, out: Path | None, seeds: str | None
    ) -> Members | None:
        """The trainings that flags ask for; ``None`` if it is one."""
        file = read_toml(config) if config else None
        given = Settings.resolve(flags, file, str(config))
        folds = given["folds"] if given["fold"] < 0 else 0
        if seeds is None and not folds:
            if out is not None and not RunFolder(out).started and _holds_runs(out):
                raise FileError("holds several runs: to resume them, type --seeds or --folds as before", out)
            return None
        if seeds is not None and "seed" in flags:
            raise ValueError(f"--seed {flags['seed']} and --seeds {seeds} contradict each other: choose one")
        if out is not None and RunFolder(out).started:
            raise FileError("holds a single run: name another folder by --out", out)
        numbers = parse_seeds(seeds) if seeds is not None else []
        members: dict[str, dict[str, Plain]] = {"": dict(flags)}
        if folds:
            members = {f"fold-{fold}": {**flags, "fold": fold} for fold in range(folds)}
        if numbers:
            split: dict[str, Plain] = {"split_seed": given["split_seed"] if given["split_seed"] >= 0 else numbers[0]}
            members = {
                f"{name}-seed-{number}".lstrip("-"): {**one, **split, "seed": number}
                for name, one in members.items()
                for number in numbers
            }
        first = next(iter(members.values()))
        settings = Settings.resolve(first, file, str(config))
        name = re.sub("-fold=0", "", settings.name) + (f"-seeds={seeds}" if seeds else "")
        return cls(out or RUNS / name, members)


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
    for name, flags in members.flags.items():
        log = command.tensorboard / name if command.tensorboard else None
        one = replace(command, tensorboard=log, resume="type the same command again")
        record, _ = train_one(flags, members.folder / name, one)
        if record is not None:
            records[name] = record
    if command.speaks:
        _show_scores(records, members.folder)
        _show_ensemble(members)
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
    if len(scores) > 1:
        middle, spread = metric.text(mean(scores)), metric.text(stdev(scores))
        say(f"mean of {len(scores)} models  {middle}, standard deviation {spread}")
    diverged = [name for name, record in records.items() if record.best_epoch is None]
    if diverged:
        say(
            f"warning: there is no model of {', '.join(diverged)}: the training diverged in the first epoch; "
            f"{with_flags(SMALLER_STEPS)}",
            stderr=True,
        )
    unscored = len(records) - len(scores) - len(diverged)
    if unscored:
        say(f"warning: {unscored} models in {folder} have no test score", stderr=True)


def _show_ensemble(members: Members) -> None:
    """How good the models are together: on the test graphs that they share, or in a cross-validation on all graphs."""
    ensemble = Ensemble.load(members.folder)
    if len(ensemble.members) < 2:
        return
    root = next(iter(members.flags.values())).get(DATA_ROOT)
    found = read_input(ensemble, None, Path(str(root)) if root else None, {}, part="test", notes=False)
    if len(found.graphs):
        together = "models together" if found.voters is None else "models, each on its test graphs"
        show_assessment(ensemble, found, prefix=f"all {len(ensemble.members)} {together}: test ")


def _holds_runs(folder: Path) -> bool:
    return folder.is_dir() and any(RunFolder(inner).started for inner in folder.iterdir())
