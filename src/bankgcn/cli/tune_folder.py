"""The folder of a search: its settings, its trials, the winner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bankgcn.cli.settings import DATA_ROOT, DEFAULTS, SOURCE, Settings
from bankgcn.experiments.tuning.space import SPACE
from bankgcn.files.atomic import atomic_write
from bankgcn.files.checked import FileError, read_toml, write_toml
from bankgcn.files.tables import Columns, write_csv
from bankgcn.settings import Plain

if TYPE_CHECKING:
    from bankgcn.experiments.tuning.study import TrialResult

GRAPHS, TRIALS = "graphs", "trials"
"""Fingerprint of the graphs, and number of trials, in the file of the settings."""
USUAL_TRIALS = 50


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
        kept = {name: value for name, value in read_toml(self.config).items() if name not in (GRAPHS, TRIALS)}
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
        write_toml(self.config, {**fixed, **paths, TRIALS: trials, GRAPHS: fingerprint}, comment)

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
    """The words of the command that trains with these settings."""
    usual = Settings.resolve({name: settings[name] for name in (SOURCE, "model")})
    words = ["bankgcn", "train", str(settings[SOURCE])]
    words += ["--model", str(settings["model"])] if settings["model"] != DEFAULTS["model"] else []
    for name in settings.differing(usual):
        flag, value = f"--{name.replace('_', '-')}", settings[name]
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
        else:
            words += [flag, str(value)]
    words += ["--data-root", str(settings[DATA_ROOT])] if settings[DATA_ROOT] else []
    return [*words, "--out", str(out)]
