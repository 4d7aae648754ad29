"""Recorded runs against their repetition."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from bankgcn.experiments import RunRecord, RunSpec
from bankgcn.experiments.verify import TOLERANCE, Check, check, draw_sample
from fake_records import fake_record, fake_records

CONFIG = RunSpec(dataset="MUTAG")
RECORD = fake_record(CONFIG, valid_score=0.8, valid_loss=0.4, test_score=0.75, test_loss=2.0)
ELSEWHERE = {"versions": {**RECORD.versions, "processor": "another one"}}


def against(**changes: object) -> Check:
    """The record against a repetition with these changes."""
    return check(RECORD, lambda config: replace(RECORD, config=config, **changes))


def test_the_same_outcome_agrees_bit_for_bit() -> None:
    found = against(seconds=99.0)
    assert (found.verdict, found.agreed, found.reason, found.changed) == ("bit for bit", True, "", {})


@pytest.mark.parametrize("name", ["valid_score", "valid_loss", "test_score", "test_loss"])
def test_with_the_same_versions_the_last_bit_counts(name: str) -> None:
    recorded = getattr(RECORD, name)
    found = against(**{name: math.nextafter(recorded, 0)})
    assert (found.verdict, found.agreed) == ("differs", False)
    assert repr(recorded) in found.reason
    assert repr(math.nextafter(recorded, 0)) in found.reason


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"test_score": 0.75 - 0.9 * TOLERANCE}, "within tolerance"),
        ({"test_score": 0.75 - 1.1 * TOLERANCE}, "differs"),
        ({"test_loss": 2.0 + 1.9 * TOLERANCE}, "within tolerance"),  # relative, because the loss is above 1
        ({"test_loss": 2.0 + 2.9 * TOLERANCE}, "differs"),
        ({"valid_score": None}, "differs"),
        ({}, "bit for bit"),
    ],
)
def test_with_another_processor_there_is_a_tolerance(changes: dict, verdict: str) -> None:
    found = against(**ELSEWHERE, **changes)
    assert found.verdict == verdict
    assert found.changed == {"processor": (None, "another one")}


def test_scores_that_are_unknown_in_both_agree() -> None:
    diverged = replace(RECORD, status="diverged", valid_score=None, test_score=None, valid_loss=None, test_loss=None)
    assert check(diverged, lambda config: diverged).verdict == "bit for bit"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"fingerprint": "other"}, "MUTAG has other graphs here than in the record"),
        ({"split_hash": "other"}, "the split is not that of the record"),
        ({"status": "diverged"}, "the recorded run finished, the repeated one diverged"),
    ],
)
def test_other_graphs_splits_and_ends_differ_whatever_the_scores(changes: dict, reason: str) -> None:
    for versions in ({}, ELSEWHERE):
        found = against(**versions, **changes)
        assert (found.verdict, found.reason) == ("differs", reason)


def test_a_run_that_cannot_be_repeated_is_not_checked_and_does_not_agree() -> None:
    found = check(RECORD, lambda config: RunRecord.failed(config, "MUTAG is not here"))
    assert (found.verdict, found.agreed, found.reason) == ("not checked", False, "MUTAG is not here")
    assert found.to_dict()["changed"] == {}


def test_a_seed_draws_a_sample_without_repetition_ordered_by_dataset() -> None:
    records = fake_records(RunSpec(dataset=name, seed=seed) for seed in range(20) for name in ("NCI1", "MUTAG"))
    drawn = draw_sample(records, 10, seed=3)
    assert drawn == draw_sample(dict(reversed(records.items())), 10, seed=3)
    assert len({record.config.key for record in drawn}) == 10
    assert [record.config.dataset for record in drawn] == sorted(record.config.dataset for record in drawn)
    assert drawn != draw_sample(records, 10, seed=4)
    assert len(draw_sample(records, 100, seed=0)) == 40
    assert draw_sample({}, 10, seed=0) == []
