"""Processes that run: the same records, deaths survived, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bankgcn.data.workers import available_cores
from bankgcn.experiments import Event, RunSpec, Store, run, sweep
from bankgcn.experiments.engines.base import SerialEngine
from bankgcn.experiments.engines.local import LocalEngine
from fake_runs import attempts, scripted_score

CONFIGS = [RunSpec(dataset="MUTAG", seed=seed) for seed in range(4)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    return LocalEngine(2, tmp_path, runner="fake_runs:Scripted")


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_worker_that_dies_is_replaced_and_its_run_not_lost(tmp_path: Path, store: Store, engine: LocalEngine) -> None:
    (tmp_path / "1.kill").write_text("1")
    (tmp_path / "2.kill").write_text("3")
    events: list[Event] = []
    result = sweep(CONFIGS, store, engine, events.append)
    assert [record.config.seed for record in result.records] == [0, 1, 3]
    assert all(record.valid_score == scripted_score(record.config) for record in result.records)
    assert [record.error for record in result.failed] == ["its worker was killed by SIGKILL, 3 times"]
    assert sorted(event.config.seed for event in events if event.kind == "retried") == [1, 2, 2]
    assert {event.message for event in events if event.kind == "retried"} == {"its worker was killed by SIGKILL"}
    assert not store.has(CONFIGS[2].key)
    assert sweep(CONFIGS, store, SerialEngine(tmp_path, runner="fake_runs:Scripted")).ran == 1


def test_a_run_tells_its_epoch_if_it_is_long(tmp_path: Path, engine: LocalEngine) -> None:
    (tmp_path / "1.epoch").write_text("7")
    for name, runs in {"local": engine, "serial": SerialEngine(tmp_path, runner="fake_runs:Scripted")}.items():
        events: list[Event] = []
        sweep(CONFIGS[:2], Store(tmp_path / name), runs, events.append)
        short, long = ([(e.kind, e.epoch) for e in events if e.config == config] for config in CONFIGS[:2])
        assert short == [("started", None), ("finished", None)]
        assert long == [("started", None), ("epoch", 7), ("finished", None)]


def test_workers_are_kept_for_the_next_run_and_errors_do_not_end_them(
    tmp_path: Path, store: Store, engine: LocalEngine
) -> None:
    (tmp_path / "0.error").write_text("the data are gone")
    result = sweep(CONFIGS, store, engine)
    assert [record.error for record in result.failed] == ["the data are gone"]
    processes = {process for _, process in attempts(tmp_path)}
    assert len(processes) <= 2
    assert os.getpid() not in processes
    assert not any(map(is_alive, processes))


def test_an_interrupt_ends_all_workers_at_once(tmp_path: Path, store: Store, engine: LocalEngine) -> None:
    for seed in (1, 2):
        (tmp_path / f"{seed}.wait").touch()

    def interrupt(event: Event) -> None:
        if event.kind == "finished":
            wait_until(lambda: len(attempts(tmp_path)) >= 3)
            raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sweep(CONFIGS, store, engine, interrupt)
    assert not any(is_alive(process) for _, process in attempts(tmp_path))
    assert time.monotonic() - started < 60
    assert [record.config.seed for record in store.records()] == [0]


SCRIPT = """# Without a guard for its main part: workers do not import it.
import signal, sys
from bankgcn.experiments import RunSpec, Store, sweep
from bankgcn.experiments.engines.local import LocalEngine

signal.signal(signal.SIGINT, signal.default_int_handler)
engine = LocalEngine(1, sys.argv[1], runner="fake_runs:Scripted")
sweep([RunSpec(dataset="MUTAG", seed=seed) for seed in range(2)], Store(sys.argv[2]), engine)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_that_is_killed_leaves_its_records_and_no_process(tmp_path: Path, store: Store, how: int) -> None:
    (tmp_path / "1.wait").touch()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(tmp_path), str(store.folder)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as sweeping:
        wait_until(lambda: len(attempts(tmp_path)) == 2 and store.path(CONFIGS[0].key).exists())
        sweeping.send_signal(how)
        _, complaint = sweeping.communicate(timeout=60)
    assert "KeyboardInterrupt" in complaint or how == signal.SIGKILL
    wait_until(lambda: not any(is_alive(process) for _, process in attempts(tmp_path)))
    (tmp_path / "1.wait").unlink()
    resumed = sweep(CONFIGS[:2], store, SerialEngine(tmp_path, runner="fake_runs:Scripted"))
    assert resumed.ran == 1
    assert [record.config for record in resumed.records] == CONFIGS[:2]


def test_a_worker_that_cannot_start_is_told(store: Store) -> None:
    engine = LocalEngine(1, runner="no_such_module:Runner")
    (record,) = sweep(CONFIGS[:1], store, engine).failed
    assert record.error.startswith("its worker ended with exit code 1 (ModuleNotFoundError: No module named")


def test_a_worker_gives_the_same_record_as_this_process(store: Store) -> None:
    torch.set_default_dtype(torch.float32)
    base = RunSpec(dataset="MUTAG").with_(max_epochs=2, hidden_channels=16, num_layers=2)
    configs = [base, base.with_(seed=1), base.with_(conv="mlp")]
    there = sweep(configs, store, LocalEngine(2)).records
    here = [run(config) for config in configs]
    assert [replace(record, seconds=0.0) for record in there] == [replace(record, seconds=0.0) for record in here]


def test_as_many_workers_as_cores() -> None:
    assert LocalEngine().workers == available_cores() >= 1
