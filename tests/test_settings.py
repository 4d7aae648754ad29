"""Numeric settings outside their range are refused where they are given."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

from bankgcn.settings import Setting, check_settings, setting, settings_of
from bankgcn.training import ModelConfig, TrainConfig
from bankgcn.training.spec import RunSpec, given_settings, spec_of
from refusals import refused


def number(**bounds: float) -> Setting:
    return Setting(default=0.0, help="", kind=float, **bounds)


def whole(**bounds: float) -> Setting:
    return Setting(default=0, help="", kind=int, **bounds)


@pytest.mark.parametrize(
    ("allowed", "value", "message"),
    [
        (whole(at_least=1), 0, "^n=0: expected at least 1$"),
        (whole(at_least=1), 1.5, "^n=1.5: expected a whole number$"),
        (whole(at_least=1), True, "^n=True: expected a whole number$"),
        (number(at_least=0), -0.5, "^n=-0.5: expected at least 0$"),
        (number(at_least=0), math.inf, "^n=inf: expected a finite number$"),
        (number(at_least=0), math.nan, "^n=nan: expected a finite number$"),
        (whole(at_least=1), 10**400, "expected a finite number$"),
        (number(at_least=0), True, "^n=True: expected a number$"),
        (number(at_least=0), "3", '^n="3": expected a finite number$'),
        (number(above=0), 0.0, "^n=0.0: expected more than 0$"),
        (number(at_least=0, below=1), 1.0, "^n=1.0: expected at least 0 and less than 1$"),
    ],
)
def test_the_error_names_the_setting_the_value_and_what_is_allowed(
    allowed: Setting, value: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        allowed.check("n", value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", math.inf),
        ("learning_rate", -1e-3),
        ("weight_decay", math.nan),
        ("gamma", math.inf),
        ("batch_size", 2.5),
        ("patience", None),
        ("max_epochs", math.inf),
        ("decay_patience", -1),
        ("decay_factor", math.nan),
        ("decay_factor", 2.0),
        ("min_learning_rate", -math.inf),
        ("warmup", -1),
        ("clip_norm", 0.0),
    ],
)
def test_a_protocol_checks_every_number(name: str, value: float | None) -> None:
    with refused(ValueError, **{name: value}):
        TrainConfig(**{name: value})


def test_no_decay_needs_no_number() -> None:
    assert TrainConfig(decay_patience=None).decay_patience is None
    assert TrainConfig(decay_patience=0, decay_factor=0.0, gamma=0, weight_decay=0).decay_patience == 0


@pytest.mark.parametrize(
    "options",
    [
        {"hidden_channels": 0},
        {"num_layers": -1},
        {"conv_options": {"order": -1}},
        {"conv_options": {"num_subspaces": 0}},
        {"conv_options": {"order": 1.5}},
        {"conv": "gat", "conv_options": {"heads": 0}},
    ],
)
def test_a_model_checks_every_number(options: dict) -> None:
    with pytest.raises(ValueError, match=r"^\w+=-?[\d.]+: expected"):
        ModelConfig(**options)


@dataclass(frozen=True)
class Example:
    width: int | None = setting(None, "Width.", panel="Model", none=0, at_least=1)
    basis: str = setting("a", "Basis:", name="kind_of_basis", choices=("a", "b"))
    private: int = 3


def test_a_field_is_a_setting_with_its_type_and_name() -> None:
    width, basis = settings_of(Example).values()
    assert (width.name, width.kind, width.panel) == ("width", int, "Model")
    assert (basis.name, basis.kind, basis.default) == ("kind_of_basis", str, "a")
    assert width.parsed(width.plain(None)) is None
    assert width.parsed(width.plain(4)) == 4


def test_a_configuration_refuses_what_its_settings_do_not_allow() -> None:
    check_settings(Example())
    with pytest.raises(ValueError, match="width=0: expected at least 1"):
        check_settings(Example(width=0))
    with pytest.raises(ValueError, match="unknown kind_of_basis 'c', expected one of a, b"):
        check_settings(Example(basis="c"))


def test_numbers_of_numpy_become_pythons() -> None:
    example = Example(width=np.int64(3))
    check_settings(example)
    assert type(example.width) is int


def test_an_integer_for_a_real_number_is_the_same_setting_wherever_it_is_given() -> None:
    settings = {"gamma": 1, "learning_rate": 1, "decay_factor": np.int64(0)}
    run = RunSpec(dataset="MUTAG", train=TrainConfig(**settings))
    written = {**run.to_dict(), "train": {**run.to_dict()["train"], "gamma": 1, "learning_rate": 1, "decay_factor": 0}}
    specs = (
        run,
        RunSpec(dataset="MUTAG").with_(**settings),
        RunSpec.from_dict(written),  # a record of an earlier version
        spec_of("MUTAG", given_settings(settings)),
    )
    for spec in specs:
        assert [type(getattr(spec.train, name)) for name in settings] == [float] * 3
        assert json.dumps(spec.to_dict()) == json.dumps(run.to_dict())
        assert spec.key == "76a6ec7e8b3a278c8fcb"  # as before the numbers had one type
    large = 2**53 + 1  # the nearest real number is another one
    assert RunSpec(dataset="MUTAG").with_(gamma=large).key == RunSpec(dataset="MUTAG").with_(gamma=float(large)).key
