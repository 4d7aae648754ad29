"""Numeric settings outside their range are refused where they are given."""

from __future__ import annotations

import math

import pytest

from bankgcn.training import ModelConfig, TrainConfig
from bankgcn.training.ranges import Range


@pytest.mark.parametrize(
    ("allowed", "value", "message"),
    [
        (Range(at_least=1, whole=True), 0, "^n=0: expected at least 1$"),
        (Range(at_least=1, whole=True), 1.5, "^n=1.5: expected a whole number$"),
        (Range(at_least=1, whole=True), True, "^n=True: expected a whole number$"),
        (Range(at_least=0), -0.5, "^n=-0.5: expected at least 0$"),
        (Range(at_least=0), math.inf, "^n=inf: expected a finite number$"),
        (Range(at_least=0), math.nan, "^n=nan: expected a finite number$"),
        (Range(at_least=1, whole=True), 10**400, "expected a finite number$"),
        (Range(at_least=0), "3", "^n='3': expected a finite number$"),
        (Range(above=0), 0.0, "^n=0.0: expected more than 0$"),
        (Range(at_least=0, below=1), 1.0, "^n=1.0: expected at least 0 and less than 1$"),
    ],
)
def test_the_error_names_the_setting_the_value_and_what_is_allowed(allowed: Range, value: object, message: str) -> None:
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
    ],
)
def test_a_protocol_checks_every_number(name: str, value: float | None) -> None:
    with pytest.raises(ValueError, match=f"^{name}={value}: expected"):
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
