"""The helper that compares errors by value: whatever differs fails."""

from __future__ import annotations

from typing import Any

import pytest

from bankgcn.files.checked import FileError
from bankgcn.messages import Message, Option, advise
from refusals import refused


def _raise_as_data() -> None:
    layers = Option("layers", 0, field="num_layers")
    advice = [advise("skip_missing", True, "leaves them out")]
    inner = Message(
        "{layers} and {ratios} do not fit column 'y'", layers=layers, ratios=Option("ratios"), advice=advice
    )
    raise FileError(Message("{inner} of 30 rows", inner=inner), "runs/own.csv", 3)


def _raise_as_text() -> None:
    raise FileError("num_layers=0 and ratios= do not fit column 'y' of 30 rows", "runs/own.csv", 3)


@pytest.mark.parametrize("fail", [_raise_as_data, _raise_as_text])
def test_what_an_error_names_is_found(fail: Any) -> None:
    with refused(FileError, "'y'", 30, at="own.csv:3", num_layers=0, ratios=...):
        fail()
    with refused(ValueError, at="runs/own.csv:3"):
        fail()


def test_the_names_of_settings_and_the_advice_are_data() -> None:
    with refused(FileError, advice={"skip_missing": True}, layers=0):
        _raise_as_data()


@pytest.mark.parametrize("fail", [_raise_as_data, _raise_as_text])
@pytest.mark.parametrize(
    ("values", "named"),
    [
        (("'x'",), {}),
        ((3,), {}),  # a part of 30
        ((), {"at": "own.csv:4"}),
        ((), {"at": "own.csv"}),
        ((), {"at": "n.csv:3"}),
        ((), {"at": "other/own.csv:3"}),
        ((), {"num_layers": 1}),
        ((), {"num_layers": ...}),
        ((), {"order": 0}),
        ((), {"ratios": "8,1,1"}),
        ((), {"advice": {"skip_missing": False}}),
        ((), {"advice": {"symmetrise": True}}),
        ((), {"cause": OSError}),
    ],
)
def test_what_an_error_does_not_name_fails(fail: Any, values: tuple, named: dict[str, Any]) -> None:
    with pytest.raises(AssertionError), refused(FileError, *values, **named):
        fail()


def test_an_error_that_does_not_come_fails() -> None:
    with pytest.raises(pytest.fail.Exception), refused(ValueError):
        pass
