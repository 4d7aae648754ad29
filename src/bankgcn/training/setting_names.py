"""The settings of a run under one flat list of names, as flags and files use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bankgcn.nn.convs import CONVS
from bankgcn.settings import Plain, Setting, settings_of
from bankgcn.training.config import TrainConfig
from bankgcn.training.model import ModelConfig
from bankgcn.training.spec import ReaderOptions, RunSpec
from bankgcn.training.splitting import SplitOptions


class Place(NamedTuple):
    """Where a setting belongs in a :class:`RunSpec`: the part ("" for the run itself), and the field of the part."""

    part: str
    field: str
    setting: Setting


def _places() -> dict[str, Place]:
    """Every setting of a run by its name, in the order in which files list them."""
    found: dict[str, Place] = {}
    parts = {
        "reader": ReaderOptions,
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
        reader=ReaderOptions(**parts["reader"]),
        split=SplitOptions(**parts["split"]),
        model=ModelConfig(conv_options=parts["conv_options"], **parts["model"]),
        train=TrainConfig(**parts["train"]),
        **parts[""],
    )
