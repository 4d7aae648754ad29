"""What is known after a run, and its way through JSON."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from bankgcn.experiments import RunRecord, RunSpec
from bankgcn.training.record import FORMAT

CONFIG = RunSpec(dataset="MUTAG", seed=2)
RECORD = RunRecord(
    warnings=("90% of the graphs have the class 'a'",),
    config=CONFIG,
    status="finished",
    metric="accuracy",
    valid_score=0.1 + 0.2,
    valid_loss=1 / 3,
    test_score=0.75,
    test_loss=float("nan"),
    best_epoch=4,
    epochs=34,
    coherence=[0.5, 0.25],
    alpha=[[1.0, 2.0], [3.0, 0.1]],
    parameters=1000,
    layer_parameters=4184,
    fingerprint="188-1-1-ab",
    split_hash="cd",
    notes=["a stand-in"],
    intervals={"level": 0.9, "coverage": 0.875},
    versions={"torch": "2"},
    seconds=1.5,
)


def test_a_record_survives_a_json_round_trip_bit_for_bit() -> None:
    text = json.dumps(RECORD.to_dict(), allow_nan=False)
    again = RunRecord.from_dict(json.loads(text))
    assert again == RECORD
    assert json.dumps(again.to_dict()) == text
    assert set(RECORD.to_dict()) == ({field.name for field in fields(RunRecord)} - {"parent"}) | {"format"}


def test_what_is_not_a_number_is_not_known() -> None:
    assert RECORD.test_loss is None
    failed = RunRecord.failed(CONFIG, "no memory")
    assert (failed.status, failed.error, failed.valid_score) == ("failed", "no memory", None)
    assert RunRecord.from_dict(failed.to_dict()) == failed


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({**RECORD.to_dict(), "format": FORMAT + 1}, "newer than"),
        ({**RECORD.to_dict(), "status": "well"}, "status='well'"),
        ({**RECORD.to_dict(), "colour": 1}, "no record of a run"),
        ({"format": 1}, "no record of a run"),
        ({}, "no record of a run"),
        ([], "no record of a run"),
    ],
)
def test_what_is_no_record_is_refused(values: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RunRecord.from_dict(values)
