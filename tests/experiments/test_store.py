"""Records on disk: whole or absent, never deleted, never believed when changed, never touched by reading."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from bankgcn.experiments import RunRecord, RunSpec, Store
from bankgcn.files.checked import content_hash
from bankgcn.training.record import OtherVersion

WRITTEN_BY_0_1_0 = Path(__file__).parents[1] / "records_v010" / "store"
CONFIG = RunSpec(dataset="MUTAG")
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
    assert again.skipped == []


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of change of every file."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def rewrite(path: Path, changes: dict[str, object], sound: bool = False) -> None:
    """Change values of a record; sound, if as a version of bankgcn would write them."""
    content = json.loads(path.read_bytes())
    content["record"] |= changes
    if sound:
        content["sha256"] = content_hash(content["record"])
    path.write_text(json.dumps(content))


def corrupt(path: Path, how: str) -> None:
    if how == "cut short":
        path.write_bytes(path.read_bytes()[:-40])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "not text":
        path.write_bytes(b"\xff\xfe\x00")
    elif how == "other json":
        path.write_text("[1, 2]")
    elif how == "better score":
        rewrite(path, {"valid_score": 0.99})
    elif how == "other run":
        rewrite(path, {"config": CONFIG.with_(seed=5).to_dict()})


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("cut short", "is not a complete JSON file"),
        ("empty", "is not a complete JSON file"),
        ("not text", "is not a complete JSON file"),
        ("other json", "is not a record of a run"),
        ("better score", "was changed after it was written"),
        ("other run", "was changed after it was written"),
    ],
)
def test_a_record_that_cannot_be_trusted_is_reported_and_skipped(store: Store, how: str, reason: str) -> None:
    store.put(RECORD)
    sound = replace(RECORD, config=CONFIG.with_(seed=1))
    store.put(sound)
    path = store.path(CONFIG.key)
    corrupt(path, how)
    before = state(store.folder)
    assert list(store.records()) == [sound]
    assert state(store.folder) == before
    (message,) = store.skipped
    assert str(path) in message
    assert reason in message


def test_a_file_that_cannot_be_opened_is_reported_and_skipped(store: Store) -> None:
    store.put(RECORD)
    path = store.path(CONFIG.with_(seed=1).key)
    path.mkdir()
    assert list(store.records()) == [RECORD]
    assert store.skipped == [f"{path} cannot be read: Is a directory; its run counts as missing"]


def test_nothing_that_cannot_be_trusted_is_overwritten(store: Store) -> None:
    for number in range(1, 4):
        store.put(RECORD)
        path = store.path(CONFIG.key)
        corrupt(path, "cut short")
        content = path.read_bytes()
        assert store.get(CONFIG.key) is None
        store.put(RECORD)
        assert path.with_name(f"{path.name}.corrupt-{number}").read_bytes() == content
    assert len(list(store.folder.iterdir())) == 4
    assert store.get(CONFIG.key) == RECORD


def test_a_record_of_other_graphs_is_not_overwritten(store: Store) -> None:
    store.put(RECORD)
    newer = replace(RECORD, fingerprint="of the changed file")
    old = store.path(CONFIG.key).read_bytes()
    store.put(newer)
    assert store.get(CONFIG.key) == newer
    assert store.path(CONFIG.key).with_suffix(".json.outdated-1").read_bytes() == old


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"format": 99}, "has format 99, newer than 2: update bankgcn"),
        ({"colour": "red"}, "colour"),
        ({"config": {**CONFIG.to_dict(), "dropout": 0.5}}, "dropout"),
        ({"config": CONFIG.with_(seed=5).to_dict()}, f"names {CONFIG.with_(seed=5).key}"),
    ],
)
def test_a_record_of_another_version_is_reported_and_left_alone(store: Store, changes: dict, reason: str) -> None:
    store.put(RECORD)
    rewrite(store.path(CONFIG.key), changes, sound=True)
    before = state(store.folder)
    assert list(store.records()) == []
    (message,) = store.skipped
    assert str(store.path(CONFIG.key)) in message
    assert reason in message
    with pytest.raises(OtherVersion, match=CONFIG.key):
        store.get(CONFIG.key)
    with pytest.raises(ValueError, match="or use another store"):
        store.put(RECORD)
    assert state(store.folder) == before


def test_records_of_version_0_1_0_are_read() -> None:
    store = Store(WRITTEN_BY_0_1_0)
    records = list(store.records())
    assert store.skipped == []
    assert sorted(record.config.key for record in records) == sorted(path.stem for path in WRITTEN_BY_0_1_0.iterdir())
    assert {record.status for record in records} == {"finished", "diverged"}
    assert {record.versions["bankgcn"] for record in records} == {"0.1.0"}


def test_a_record_under_another_name_is_not_believed(store: Store) -> None:
    store.put(RECORD)
    other = CONFIG.with_(seed=9).key
    store.path(CONFIG.key).rename(store.path(other))
    assert store.get(other) is None
    assert f"holds the run {CONFIG.key}" in store.skipped[0]


def test_a_full_disk_loses_nothing_that_was_there(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(RECORD)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        OSError, match="No space left on device; this record is not stored, all earlier ones are"
    ) as info:
        store.put(replace(RECORD, config=CONFIG.with_(seed=1)))
    assert str(store.folder) in info.value.filename
    with pytest.raises(OSError, match=CONFIG.key) as info:
        store.put(replace(RECORD, valid_score=0.5))
    assert info.value.errno == errno.ENOSPC
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
