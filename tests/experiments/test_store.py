"""Records on disk: whole or absent, never deleted, never believed when changed."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from bankgcn.experiments import RunConfig, RunRecord, Store

CONFIG = RunConfig(dataset="MUTAG")
RECORD = RunRecord(config=CONFIG, status="finished", metric="accuracy", valid_score=0.1 + 0.2, alpha=((0.1, 1 / 3),))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "deep" / "store")


def test_what_is_put_is_found_again(store: Store) -> None:
    assert not store.has(CONFIG.key)
    assert list(store.records()) == []
    other = replace(RECORD, config=CONFIG.with_(seed=1), status="diverged", valid_score=None)
    store.put(RECORD)
    store.put(other)
    again = Store(store.folder)
    assert again.get(CONFIG.key) == RECORD
    assert sorted(again.records(), key=lambda record: record.config.seed) == [RECORD, other]
    assert again.quarantined == []


def corrupt(path: Path, how: str) -> bytes:
    content = json.loads(path.read_bytes())
    if how == "cut short":
        path.write_bytes(path.read_bytes()[:-40])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "not text":
        path.write_bytes(b"\xff\xfe\x00")
    elif how == "other json":
        path.write_text("[1, 2]")
    elif how == "better score":
        content["record"]["valid_score"] = 0.99
        path.write_text(json.dumps(content))
    elif how == "other run":
        content["record"]["config"]["seed"] = 5
        path.write_text(json.dumps(content))
    elif how == "newer":
        content["record"]["format"] = 99
        path.write_text(json.dumps(content))
    return path.read_bytes()


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("cut short", "is no whole JSON file"),
        ("empty", "is no whole JSON file"),
        ("not text", "is no whole JSON file"),
        ("other json", "is no record of a run"),
        ("better score", "was changed after it was written"),
        ("other run", "was changed after it was written"),
        ("newer", "has format 99, newer than 1: update bankgcn"),
    ],
)
def test_a_record_that_cannot_be_trusted_is_moved_aside(store: Store, how: str, reason: str) -> None:
    store.put(RECORD)
    path = store.path(CONFIG.key)
    content = corrupt(path, how)
    assert list(store.records()) == []
    assert not path.exists()
    assert path.with_name(f"{path.name}.corrupt-1").read_bytes() == content
    (message,) = store.quarantined
    assert str(path) in message
    assert reason in message
    assert f"{path.name}.corrupt-1" in message


def test_nothing_that_was_moved_aside_is_overwritten(store: Store) -> None:
    for _ in range(3):
        store.put(RECORD)
        corrupt(store.path(CONFIG.key), "cut short")
        assert store.get(CONFIG.key) is None
    assert len(list(store.folder.glob("*.corrupt-*"))) == 3
    store.put(RECORD)
    assert store.get(CONFIG.key) == RECORD


def test_a_record_under_another_name_is_not_believed(store: Store) -> None:
    store.put(RECORD)
    other = CONFIG.with_(seed=9).key
    store.path(CONFIG.key).rename(store.path(other))
    assert store.get(other) is None
    assert f"holds the run {CONFIG.key}" in store.quarantined[0]


def test_a_full_disk_loses_nothing_that_was_there(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(RECORD)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device; this record is not kept, all earlier ones are") as info:
        store.put(replace(RECORD, config=CONFIG.with_(seed=1)))
    assert str(store.folder) in info.value.filename
    with pytest.raises(OSError, match="No space left"):
        store.put(replace(RECORD, valid_score=0.5))
    assert [path.name for path in store.folder.iterdir()] == [f"{CONFIG.key}.json"]
    assert store.get(CONFIG.key) == RECORD


def test_a_failed_run_is_not_kept(store: Store) -> None:
    with pytest.raises(ValueError, match="no memory"):
        store.put(RunRecord.failed(CONFIG, "no memory"))
    assert not store.has(CONFIG.key)


def test_unfinished_and_foreign_files_are_no_records(store: Store) -> None:
    store.put(RECORD)
    (store.folder / f".{CONFIG.key}.json.1-ab.part").write_text("{")
    (store.folder / "README.txt").write_text("mine")
    assert list(store.records()) == [RECORD]


def test_a_store_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="must be a folder"):
        Store(tmp_path / "file")
