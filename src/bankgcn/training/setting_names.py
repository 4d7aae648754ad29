"""The settings of a run under one flat list of names, as flags and files use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bankgcn.data.options import ReadOptions
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
