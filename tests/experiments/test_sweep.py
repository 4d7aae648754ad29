"""A sweep runs what is missing, and only that, whatever happened before."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bankgcn.data.builtin import mutag
from bankgcn.data.readers.json_graphs import write_jsonlines
from bankgcn.data.sources import load_source
from bankgcn.experiments import Event, RunSpec, Store, make_engine, sweep
from bankgcn.experiments.engines.base import SerialEngine
from bankgcn.experiments.sweep import SweepResult
from bankgcn.files.tensors import load_tensors, save_tensors
from bankgcn.training.fitting import Epoch, Training
from bankgcn.training.record import OtherVersion, checkpoint_path
from fake_runs import attempts, scripted_score
from refusals import refused

CONFIGS = [RunSpec(dataset="MUTAG", seed=seed) for seed in range(4)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def engine(tmp_path: Path) -> SerialEngine:
    return SerialEngine(tmp_path, runner="fake_runs:Scripted")


def seeds_run(folder: Path) -> list[int]:
    return [seed for seed, _ in attempts(folder)]


def test_a_second_sweep_runs_nothing(tmp_path: Path, store: Store, engine: SerialEngine) -> None:
    first = sweep([*CONFIGS, CONFIGS[0]], store, engine)
    assert [record.config for record in first.records] == CONFIGS
    assert [record.valid_score for record in first.records] == [scripted_score(config) for config in CONFIGS]
    assert (first.ran, first.failed) == (4, ())
    events: list[Event] = []
    second = sweep(CONFIGS, Store(store.folder), engine, events.append)
    assert second.records == first.records
    assert second.ran == 0
    assert [event.kind for event in events] == ["kept"] * 4
    assert seeds_run(tmp_path) == [0, 1, 2, 3]


def test_removing_one_record_runs_exactly_one_run_again(tmp_path: Path, store: Store, engine: SerialEngine) -> None:
    first = sweep(CONFIGS, store, engine)
    store.path(CONFIGS[2].key).unlink()
    assert sweep(CONFIGS, store, engine).records == first.records
    assert seeds_run(tmp_path) == [0, 1, 2, 3, 2]


def test_a_changed_record_is_told_set_aside_and_run_again(tmp_path: Path, store: Store, engine: SerialEngine) -> None:
    first = sweep(CONFIGS, store, engine)
    path = store.path(CONFIGS[1].key)
    path.write_text(json.dumps({**json.loads(path.read_text()), "sha256": "0"}))
    events: list[Event] = []
    assert sweep(CONFIGS, store, engine, events.append).records == first.records
    assert [event.kind for event in events] == ["kept", "set aside", "kept", "kept", "started", "finished"]
    assert path.name in events[1].message
    assert seeds_run(tmp_path)[4:] == [1]


def test_a_record_of_another_version_stops_the_sweep_before_it_begins(
    tmp_path: Path, store: Store, engine: SerialEngine
) -> None:
    sweep(CONFIGS[:1], store, engine)
    path = store.path(CONFIGS[0].key)
    content = json.loads(path.read_text())
    content["record"]["format"] = 99
    path.write_text(json.dumps(content))
    with refused(OtherVersion, path.name, "format 99", 2):
        sweep(reversed(CONFIGS), store, engine)
    assert seeds_run(tmp_path) == [0]


def test_a_file_that_has_changed_is_trained_on_again(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_default_dtype(torch.float32)
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "own.jsonl"
    write_jsonlines(mutag()[:60], file)
    config = RunSpec(dataset=str(file)).with_(max_epochs=1, hidden_channels=8, num_layers=1)
    first = sweep([config], store, SerialEngine())
    assert sweep([config], store, SerialEngine()).records == first.records
    write_jsonlines(mutag()[:30], file)
    events: list[Event] = []
    again = sweep([config], store, SerialEngine(), events.append)
    assert [event.kind for event in events] == ["outdated", "started", "finished"]
    assert events[0].message == f"{file} has changed since this run: the run is repeated"
    assert again.records[0].fingerprint == load_source(file, edges=False).fingerprint
    assert sweep([config], store, SerialEngine()).ran == 0
    file.write_bytes(file.read_bytes()[:-30])
    assert "own.jsonl:30" in sweep([config], store, SerialEngine()).failed[0].error
    file.unlink()
    assert sweep([config], store, SerialEngine()).records == again.records  # there is nothing to compare with


def test_a_column_that_splits_otherwise_is_trained_on_again(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_default_dtype(torch.float32)
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "own.csv"
    lines = [f"{'C' * (1 + n % 5)}O,{n % 2},{'train' if n < 20 else 'valid' if n < 25 else 'test'}" for n in range(30)]
    file.write_text("\n".join(["smiles,y,part", *lines]))
    options = {"max_epochs": 1, "hidden_channels": 8, "num_layers": 1, "split_column": "part", "target": "y"}
    config = RunSpec(dataset=str(file)).with_(**options)
    first = sweep([config], store, SerialEngine())
    assert sweep([config], store, SerialEngine()).ran == 0
    file.write_text("\n".join(["smiles,y,part", *(line.replace("valid", "train") for line in lines[:21]), *lines[21:]]))
    again = sweep([config], store, SerialEngine())
    assert again.ran == 1
    assert again.records[0].fingerprint == first.records[0].fingerprint
    assert again.records[0].split_sizes == (21, 4, 5)
    assert len(list(store.folder.glob("*.outdated-1"))) == 1


def test_what_a_killed_sweep_left_of_a_write_is_removed_when_it_is_old(store: Store, engine: SerialEngine) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    store.folder.mkdir()
    old, fresh, living = (
        store.folder / f".a.json.{name}.part" for name in (f"{ended.pid}-a", f"{ended.pid}-b", f"{os.getpid()}-c")
    )
    for path in (old, fresh, living):
        path.touch()
    for path in (old, living):
        os.utime(path, (0, 0))
    sweep(CONFIGS[:1], store, engine)
    assert [path.exists() for path in (old, fresh, living)] == [False, True, True]


def test_a_failed_run_stops_no_other_and_is_tried_again(tmp_path: Path, store: Store, engine: SerialEngine) -> None:
    trouble = tmp_path / "1.error"
    trouble.write_text("the data are gone")
    events: list[Event] = []
    result = sweep(CONFIGS, store, engine, events.append)
    assert [record.config.seed for record in result.records] == [0, 2, 3]
    assert [record.error for record in result.failed] == ["the data are gone"]
    assert [event.message for event in events if event.kind == "failed"] == ["the data are gone"]
    assert not store.has(CONFIGS[1].key)
    trouble.unlink()
    assert sweep(CONFIGS, store, engine).ran == 1
    assert seeds_run(tmp_path)[4:] == [1]


def test_an_error_of_the_code_is_told_with_its_place(tmp_path: Path, store: Store, engine: SerialEngine) -> None:
    (tmp_path / "0.error").write_text("bug")
    (record,) = sweep(CONFIGS[:1], store, engine).failed
    assert "fake_runs.py" in record.error
    assert record.error.endswith("RuntimeError: bug")


def test_an_interrupted_sweep_goes_on_where_it_stopped(tmp_path: Path, store: Store, engine: SerialEngine) -> None:
    def interrupt(event: Event) -> None:
        if event.kind == "started" and event.config.seed == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(CONFIGS, store, engine, interrupt)
    assert sweep(CONFIGS, store, engine).ran == 2
    assert seeds_run(tmp_path) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["local", "serial"])
def test_a_run_that_was_interrupted_resumes_from_its_checkpoint(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    torch.set_default_dtype(torch.float32)  # as graphs are stored
    config = CONFIGS[0].with_(max_epochs=4, hidden_channels=16, num_layers=2)
    run_epoch = Training.run_epoch

    def interrupted(training: Training) -> Epoch:
        if len(training.epochs) == 2:
            raise KeyboardInterrupt
        return run_epoch(training)

    monkeypatch.setattr(Training, "run_epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep([config], store, SerialEngine(checkpoints=store.folder))
    monkeypatch.undo()
    (checkpoint,) = store.folder.glob("*.checkpoint")
    assert list(store.records()) == []
    tensors, values = load_tensors(checkpoint)
    assert len(values["epochs"]) == 2
    save_tensors(checkpoint, tensors, values | {"seconds": 1000.0})
    (resumed,) = sweep([config], store, make_engine(name, checkpoints=store.folder)).records
    assert resumed.seconds > 1000  # so it began with that checkpoint
    (undisturbed,) = sweep([config], Store(tmp_path / "other"), SerialEngine()).records
    assert replace(resumed, seconds=0.0) == replace(undisturbed, seconds=0.0)
    assert [path.name for path in store.folder.iterdir()] == [f"{config.key}.json"]


def test_a_checkpoint_beside_its_record_is_removed_by_the_next_sweep(store: Store, engine: SerialEngine) -> None:
    sweep(CONFIGS[:1], store, engine)
    left, other = (checkpoint_path(store.folder, config.key, []) for config in CONFIGS[:2])
    for path in (left, other):
        path.touch()
    sweep(CONFIGS[:1], store, engine)
    assert (left.exists(), other.exists()) == (False, True)


def test_a_full_disk_ends_the_sweep_and_keeps_what_was_done(
    tmp_path: Path, store: Store, engine: SerialEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        if len(attempts(tmp_path)) > 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OSError, match=str(store.folder)) as caught:
            sweep(CONFIGS, store, engine)
        assert caught.value.errno == errno.ENOSPC
    assert len(list(store.records())) == 2
    assert sweep(CONFIGS, store, engine).ran == 2


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"name": "loca"}, ("engine", "'loca'", "'local'")),
        ({"name": "local", "address": "auto"}, ("address='auto'", "'ray'", "'local'")),
        ({"name": "local", "workers": 0}, ("workers=0",)),
        ({"name": "ray", "workers": -1}, ("workers=-1",)),
        ({"name": "serial", "workers": 2}, ("workers=2", "'serial'")),
    ],
)
def test_a_wrong_choice_of_engine_is_named(options: dict, named: tuple) -> None:
    with refused(ValueError, *named):
        make_engine(**options)


def test_two_sweeps_on_one_store_share_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["bankgcn.experiments.sweep"], "POLL_SECONDS", 0.01)
    configs = [RunSpec(dataset="MUTAG", seed=seed) for seed in range(40)]
    start = threading.Barrier(2)

    def one_of_two() -> SweepResult:
        start.wait()
        return sweep(configs, Store(tmp_path / "store"), SerialEngine(tmp_path, runner="fake_runs:Scripted"))

    with ThreadPoolExecutor(2) as pool:
        first, second = (future.result() for future in [pool.submit(one_of_two) for _ in range(2)])
    assert sorted(seeds_run(tmp_path)) == list(range(40))  # none twice
    assert first.ran + second.ran == 40
    assert first.records == second.records
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == sorted(f"{c.key}.json" for c in configs)


def test_a_run_that_another_sweep_gives_up_is_run_by_this_one(
    tmp_path: Path, store: Store, engine: SerialEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["bankgcn.experiments.sweep"], "POLL_SECONDS", 0.01)
    events: list[Event] = []
    with store.claims() as others:
        assert others.take(CONFIGS[1].key)

        def give_up(event: Event) -> None:
            events.append(event)
            if event.kind == "elsewhere" and len(seeds_run(tmp_path)) == 3:
                others.release(CONFIGS[1].key)

        assert sweep(CONFIGS, store, engine, give_up).ran == 4
    assert seeds_run(tmp_path) == [0, 2, 3, 1]
    assert [event.config.seed for event in events if event.kind == "elsewhere"] == [1]


def test_a_claim_of_a_killed_sweep_holds_nobody_up(tmp_path: Path, store: Store, engine: SerialEngine) -> None:
    store.folder.mkdir()
    (store.folder / f".{CONFIGS[0].key}.claim").write_text("1 on elsewhere")
    (store.folder / ".of-a-finished-run.claim").touch()
    assert sweep(CONFIGS[:1], store, engine).ran == 1
    assert [path.name for path in store.folder.iterdir()] == [f"{CONFIGS[0].key}.json"]


def test_a_store_that_vanishes_ends_the_sweep_and_is_not_made_anew(
    tmp_path: Path, store: Store, engine: SerialEngine
) -> None:
    moved = tmp_path / "moved"

    def vanish(event: Event) -> None:
        if event.kind == "started" and event.config.seed == 2:
            store.folder.rename(moved)
            store.folder.mkdir()  # as the place where a disk was mounted

    with pytest.raises(OSError, match="folder of the store was removed or replaced; this record is not stored"):
        sweep(CONFIGS, store, engine, vanish)
    assert list(store.folder.iterdir()) == []
    store.folder.rmdir()
    moved.rename(store.folder)
    assert sweep(CONFIGS, Store(store.folder), engine).ran == 2
    assert len(list(store.folder.iterdir())) == 4
