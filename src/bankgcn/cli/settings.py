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

from bankgcn.choices import pick
from bankgcn.cli.standard_input import STANDARD_INPUT
from bankgcn.data.catalog import CATALOG, catalog_name
from bankgcn.files.checked import check_name
from bankgcn.messages import Message, Option
from bankgcn.nn.convs import CONVS
from bankgcn.settings import Plain
from bankgcn.training.setting_names import BANK_ONLY, PLACES, spec_of
from bankgcn.training.spec import RunSpec

MAX_NAME = 200  # bytes; file systems end at 255
READING = {
    name: place for name, place in PLACES.items() if place.part == "reader" and name not in ("features", "scale")
}
"""The settings of commands that read graphs for a trained model, which knows the features and their scale."""
SOURCE, DATA_ROOT = "source", "data_root"
DEFAULTS: dict[str, Plain] = {
    SOURCE: "MUTAG",
    DATA_ROOT: "",
    **{name: place.setting.plain(place.setting.default) for name, place in PLACES.items()},
}
"""The paper's values for the TU datasets. Empty words and 0, where they make no sense otherwise, mean none."""


def protocol(dataset: str) -> dict[str, Plain]:
    """The settings that the paper changes for a dataset, by the names of the flags."""
    values = CATALOG[dataset].protocol if dataset in CATALOG else {}
    return {name: values[place.field] for name, place in PLACES.items() if place.field in values}


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
        file = {key: _checked(key, value, f"{where}: ") for key, value in (file or {}).items()}
        flags = {key: _checked(key, value) for key, value in flags.items()}
        if "model" in file and flags.get("model", file["model"]) != file["model"]:
            file = {key: value for key, value in file.items() if not _is_of_model(key)}
        given = file | flags
        source = given[SOURCE] = _canonical_source(str(given.get(SOURCE, DEFAULTS[SOURCE])))
        if given.get("test"):
            given["test"] = _canonical_source(str(given["test"]))
        if given.get(DATA_ROOT):
            given[DATA_ROOT] = full_path(str(given[DATA_ROOT]))
        model = str(given.get("model", DEFAULTS["model"]))
        unused = unused_settings(model)
        for key in given:
            if key in unused:
                wrong = "{key} is no option of the model {model}, which has {options}"
                raise ValueError(Message(wrong, key=Option(key), model=model, options=_options(model)))
        complete = DEFAULTS | protocol(source) | given
        settings = cls({key: complete[key] for key in DEFAULTS if key not in unused})
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


def _checked(key: str, value: Plain, where: str = "") -> Plain:
    """The value of a setting, of the type it should have."""
    try:
        default = pick(DEFAULTS, key, "setting")
        row = PLACES[key].setting if key in PLACES else None
        if row is not None and row.choices and value != row.none:
            pick(dict.fromkeys(row.choices), str(value), key)
    except ValueError as error:
        raise ValueError(f"{where}{error}") from error
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type(default):
        kinds = {str: "a word", int: "a whole number", float: "a number", bool: "true or false"}
        raise ValueError(f"{where}{key} is {value!r}, expected {kinds[type(default)]}")
    return value


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


def _is_of_model(key: str) -> bool:
    """Whether a setting means something to some models only, so that it does not outlive a change of the model."""
    return key in BANK_ONLY or (key in PLACES and PLACES[key].part == "conv_options")


def unused_settings(model: str) -> set[str]:
    """Names of the settings that mean nothing to a model."""
    options = pick(CONVS, model, "model").options
    unused = {key for key, place in PLACES.items() if place.part == "conv_options" and place.field not in options}
    return unused if model == "bank" else unused | set(BANK_ONLY)


def _options(model: str) -> str:
    options = CONVS[model].options
    return ", ".join(row.name or field for field, row in options.items()) or "none of its own"
