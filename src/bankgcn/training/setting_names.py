"""The settings of a run under one flat list of names, as flags, files and keywords use them.

The one way from what a user gives to a run: :func:`given_settings` checks names and types, :func:`complete_settings`
adds the protocol of the dataset and the defaults, and :func:`spec_of` makes the run of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from bankgcn.choices import pick
from bankgcn.data.catalog import CATALOG
from bankgcn.data.options import ReadOptions
from bankgcn.files.checked import TomlSettings
from bankgcn.messages import Message, Option
from bankgcn.nn.convs import CONVS
from bankgcn.settings import Plain, Setting, settings_of
from bankgcn.training.config import TrainConfig
from bankgcn.training.model_config import ModelConfig
from bankgcn.training.spec import RunSpec
from bankgcn.training.split_options import SplitOptions


class Place(NamedTuple):
    """Where a setting belongs in a :class:`RunSpec`: the part ("" for the run itself), and the field of the part."""

    part: str
    field: str
    setting: Setting


def _places() -> dict[str, Place]:
    """Every setting of a run by its name, in the order in which files list them."""
    found: dict[str, Place] = {}
    parts = {
        "reader": ReadOptions,
        "split": SplitOptions,
        "": RunSpec,
        "model": ModelConfig,
        "conv_options": None,
        "train": TrainConfig,
    }
    for part, config in parts.items():
        rows = [settings_of(config)] if config else [conv.options for conv in CONVS.values()]
        for options in rows:
            for field, row in options.items():
                found.setdefault(row.name or field, Place(part, field, row))
    return found


PLACES = _places()

BANK_ONLY = ("gamma", "coherence")
"""Settings of the training that mean something to filter banks only."""

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


def given_settings(
    flags: Mapping[str, Any], file: Mapping[str, Any] | None = None, where: str = ""
) -> dict[str, Plain]:
    """What is given: flags, or keywords, override a file.

    Options of a convolution in the file do not count if a flag names another model than the file.

    Args:
        flags: What was typed.
        file: The content of a file.
        where: Name of the file in messages.

    Raises:
        ValueError: A setting is unknown, or of the wrong type.
    """
    place = file.place if isinstance(file, TomlSettings) else lambda _: where
    file = {key: _checked(key, value, f"{place(key)}: ") for key, value in (file or {}).items()}
    flags = {key: _checked(key, value) for key, value in flags.items()}
    if "model" in file and flags.get("model", file["model"]) != file["model"]:
        file = {key: value for key, value in file.items() if not _is_of_model(key)}
    return {**file, **flags}


def complete_settings(given: Mapping[str, Plain]) -> dict[str, Plain]:
    """All settings of a run: those given override the protocol of the dataset, which overrides the defaults.

    Settings of other models are left out.

    Raises:
        ValueError: A setting is not one of the model's, or the model is unknown.
    """
    model = str(given.get("model", DEFAULTS["model"]))
    unused = unused_settings(model)
    for key in given:
        if key in unused:
            wrong = "{key} is no option of the model {model}, which has {options}"
            raise ValueError(Message(wrong, key=Option(key), model=model, options=_options(model)))
    complete = {**DEFAULTS, **protocol(str(given.get(SOURCE, DEFAULTS[SOURCE]))), **given}
    return {key: complete[key] for key in DEFAULTS if key not in unused}


def _checked(key: str, value: Any, where: str = "") -> Plain:
    """The value of a setting, of the type it should have."""
    try:
        default = pick(DEFAULTS, key, "setting")
        row = PLACES[key].setting if key in PLACES else None
        if row is not None and row.choices and value != row.none:
            pick(dict.fromkeys(row.choices), value, key)
    except ValueError as error:
        raise ValueError(f"{where}{error}") from error
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        with suppress(OverflowError):  # an integer beyond all floats
            return float(value)
    if type(value) is not type(default):
        kinds = {str: "a word", int: "a whole number", float: "a number", bool: "true or false"}
        raise ValueError(f"{where}{key} is {value!r}, expected {kinds[type(default)]}")
    return value


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


def spec_of(dataset: str, values: Mapping[str, Plain]) -> RunSpec:
    """The run that flat settings describe; names that are not in :data:`PLACES` are ignored.

    Raises:
        ValueError: A value is out of range, or not one of the model's options.
    """
    parts: dict[str, dict[str, Any]] = {place.part: {} for place in PLACES.values()}
    for name, value in values.items():
        if name in PLACES:
            part, field, row = PLACES[name]
            parts[part][field] = row.parsed(value)
    return RunSpec(
        dataset=dataset,
        reader=ReadOptions(**parts["reader"]),
        split=SplitOptions(**parts["split"]),
        model=ModelConfig(conv_options=parts["conv_options"], **parts["model"]),
        train=TrainConfig(**parts["train"]),
        **parts[""],
    )


def settings_of_run(spec: RunSpec) -> dict[str, Plain]:
    """The flat settings that describe a run: the inverse of :func:`spec_of`. Those of other models are left out.

    Example:
        >>> spec = spec_of("MUTAG", {"model": "cheb", "order": 3})
        >>> settings_of_run(spec)["order"], spec_of("MUTAG", settings_of_run(spec)) == spec
        (3, True)
    """
    values: dict[str, Plain] = {}
    for name, (part, field, row) in PLACES.items():
        if part == "conv_options":
            if field in spec.model.conv_options:
                values[name] = row.plain(spec.model.conv_options[field])
        elif name not in BANK_ONLY or spec.model.conv == "bank":
            values[name] = row.plain(getattr(getattr(spec, part) if part else spec, field))
    return values
