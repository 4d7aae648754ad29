"""The settings of a run as flags and files name them: one flat list, made from the fields of :class:`RunSpec`.

Every field that is a setting becomes a flag and a key of configuration files. Nothing is listed twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bankgcn.cli.errors import print_error
from bankgcn.cli.reading import STANDARD_INPUT
from bankgcn.data.catalog import catalog_name
from bankgcn.files.checked import TomlSettings, check_name, read_toml
from bankgcn.settings import Plain
from bankgcn.training.spec import (
    DATA_ROOT,
    DEFAULTS,
    RUN_SETTINGS,
    SOURCE,
    RunSpec,
    complete_settings,
    given_settings,
    spec_of,
)

MAX_NAME = 200  # bytes; file systems end at 255
READING = {
    name: place for name, place in RUN_SETTINGS.items() if place.part == "reader" and name not in ("features", "scale")
}
"""The settings of commands that read graphs for a trained model, which knows the features and their scale."""


@dataclass(frozen=True)
class Settings:
    """Everything that decides a run: complete, checked, in a fixed order, as flags and files name it."""

    values: Mapping[str, Plain]

    @classmethod
    def resolve(cls, flags: Mapping[str, Plain], file: Mapping[str, Plain] | None = None, where: str = "") -> Settings:
        """Flags override a file, which overrides the protocol of the dataset, which overrides the defaults.

        Args:
            flags: What was typed.
            file: The content of a file.
            where: Name of the file in messages.

        Raises:
            ValueError: A setting is unknown, of the wrong type, out of range, or not one of the model's.
        """
        given = given_settings(flags, file, where)
        given[SOURCE] = _canonical_source(str(given.get(SOURCE, DEFAULTS[SOURCE])))
        if given.get("test"):
            given["test"] = _canonical_source(str(given["test"]))
        if given.get(DATA_ROOT):
            given[DATA_ROOT] = full_path(str(given[DATA_ROOT]))
        settings = cls(complete_settings(given))
        _ = settings.spec  # which checks its own values
        return settings

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @cached_property
    def spec(self) -> RunSpec:
        """The run that the settings describe."""
        return spec_of(self[SOURCE], self.values)

    def differing(self, other: Settings) -> list[str]:
        """Names of the settings that differ, apart from where the data lies."""
        keys = [key for key in DEFAULTS if key != DATA_ROOT]
        return [key for key in keys if self.values.get(key) != other.values.get(key)]

    @property
    def name(self) -> str:
        """A name for the run: its data, model and seed, and what differs from the defaults."""
        usual = Settings.resolve({key: self[key] for key in (SOURCE, "model", "seed")})
        words = [Path(self[SOURCE]).stem, self["model"], str(self["seed"])]
        words += [f"{key}={self[key]}" for key in self.differing(usual)]
        name = re.sub(r"[^\w.=-]+", "_", "-".join(words))
        return name.encode(errors="replace")[:MAX_NAME].decode(errors="ignore")  # letters may have several bytes


def read_settings(path: Path) -> TomlSettings:
    """The settings of a file, which may be edited by hand; a note says so."""
    settings = read_toml(path)
    if settings.changed:
        print_error(f"note: {path} was changed after it was written; its settings count as they are now")
    return settings


def full_path(path: str) -> str:
    """The path from the root, which means the same in every folder."""
    return str(Path(path).expanduser().absolute())


def _canonical_source(source: str) -> str:
    """A dataset by its own name, a file by its full path: what means the same wherever it is read again."""
    if not source:  # an empty path would be the current folder
        raise ValueError("the name of the graphs is empty: expected a dataset's name, a file or a folder")
    if source == STANDARD_INPUT:  # SOURCE has been read by now
        raise ValueError("only SOURCE can be standard input: write these graphs to a file, and name it instead of '-'")
    check_name(source)
    path = Path(source).expanduser()
    return catalog_name(source) or (str(path.resolve()) if path.exists() else source)
