"""Runs on a cluster: the same records, and a machine lost in the middle."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from bankgcn.data.workers import Job
from bankgcn.experiments import Event, RunSpec, Store, run, sweep
from bankgcn.experiments.engines.cluster import RayEngine, RayWorkers
from fake_runs import attempts, scripted_score
from refusals import refused

CONFIGS = [RunSpec(dataset="MUTAG", seed=seed) for seed in range(6)]


def test_without_ray_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with refused(ImportError, "pip install 'bankgcn[ray]'"):
        sweep(CONFIGS, Store(tmp_path), RayEngine())


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pytest.importorskip("ray", reason="needs Ray: pip install 'bankgcn[ray]'")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # as an installed package would be, on every machine
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        yield cluster
        cluster.shutdown()


@pytest.mark.slow
def test_a_sweep_survives_the_loss_of_a_machine(tmp_path: Path, cluster: Any) -> None:
    second = cluster.add_node(num_cpus=1)
    for seed in range(2):
        (tmp_path / f"{seed}.wait").touch()
    events: list[Event] = []

    def lose_a_machine_in_the_middle(event: Event) -> None:
        events.append(event)
        if event.kind == "started" and event.config.seed == 1:
            deadline = time.monotonic() + 60
            while len(attempts(tmp_path)) < 2:  # both machines are in the middle of a run
                assert time.monotonic() < deadline
                time.sleep(0.05)
            cluster.remove_node(second, allow_graceful=False)
        if event.kind == "retried":
            for seed in range(2):
                (tmp_path / f"{seed}.wait").unlink()

    store = Store(tmp_path / "store")
    engine = RayEngine(cluster.address, data_root=tmp_path, runner="fake_runs:Scripted")
    result = sweep(CONFIGS, store, engine, lose_a_machine_in_the_middle)
    assert [record.valid_score for record in result.records] == [scripted_score(config) for config in CONFIGS]
    assert result.failed == ()
    (lost,) = (event for event in events if event.kind == "retried")
    assert lost.message.startswith("its worker was lost: ")
    assert sum(seed == lost.config.seed for seed, _ in attempts(tmp_path)) == 2
    assert sweep(CONFIGS, Store(store.folder), engine).ran == 0


@pytest.mark.slow
def test_a_worker_that_keeps_dying_fails_its_run_alone(tmp_path: Path, cluster: Any) -> None:
    (tmp_path / "1.kill").write_text("1")
    (tmp_path / "2.kill").write_text("9")
    engine = RayEngine(cluster.address, data_root=tmp_path, runner="fake_runs:Scripted")
    result = sweep(CONFIGS[:4], Store(tmp_path / "store"), engine)
    assert [record.config.seed for record in result.records] == [0, 1, 3]
    assert [record.config.seed for record in result.failed] == [2]
    assert result.failed[0].error.endswith(", 3 times")


@pytest.mark.slow
def test_ray_gives_the_same_record_as_this_process(tmp_path: Path, cluster: Any) -> None:
    torch.set_default_dtype(torch.float32)
    configs = [RunSpec(dataset="MUTAG", seed=seed).with_(max_epochs=2, num_layers=2) for seed in range(2)]
    there = sweep(configs, Store(tmp_path), RayEngine(cluster.address)).records
    here = [run(config) for config in configs]
    assert [replace(record, seconds=0.0) for record in there] == [replace(record, seconds=0.0) for record in here]


@pytest.mark.slow
def test_a_run_that_cannot_be_run_at_all_is_not_tried_again(tmp_path: Path, cluster: Any) -> None:
    events: list[Event] = []
    engine = RayEngine(cluster.address, runner="no_such_module:Runner")
    (record,) = sweep(CONFIGS[:1], Store(tmp_path), engine, events.append).failed
    assert "No module named 'no_such_module'" in record.error
    assert [event.kind for event in events] == ["started", "failed"]


@pytest.mark.slow
def test_a_wrong_address_is_named(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs Ray: pip install 'bankgcn[ray]'")
    with refused(ValueError, "'127.0.0.1:1'"):
        sweep(CONFIGS, Store(tmp_path), RayEngine("127.0.0.1:1"))


KILLS, SLOW = -1, 0.2


def squares(numbers: Sequence[int], folder: str) -> list[int | str]:
    """A job that takes a while and notes who does it; one number kills the process."""
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(SLOW)
    if KILLS in numbers:
        os.kill(os.getpid(), signal.SIGKILL)
    if -2 in numbers:
        raise ValueError("no number may be -2")
    return [number * number for number in numbers]


def job(numbers: Sequence[int], folder: Path) -> Job:
    return Job(
        squares,
        numbers,
        (str(folder),),
        lost=lambda item, cause, folder: [f"{item} {cause}"],
        joined=lambda parts: [square for part in parts for square in part],
    )


@pytest.mark.slow
def test_rows_are_parsed_on_a_cluster_that_loses_a_machine_and_none_is_lost_or_there_twice(
    tmp_path: Path, cluster: Any
) -> None:
    second = cluster.add_node(num_cpus=1)
    blocks = [[number, number + 100] for number in range(30)]
    blocks[7] = [7, KILLS, 9]
    found: list[int | str] = []
    with RayWorkers(cluster.address, 2) as workers:
        for block, result in workers.results(blocks, lambda block: job(block, tmp_path)):
            found += result
            if block[0] == 10:
                assert len(list(tmp_path.iterdir())) > 1  # both machines work
                cluster.remove_node(second, allow_graceful=False)
    (dead,) = (one for one in found if isinstance(one, str))
    assert dead.startswith("-1 was lost: ")
    assert [one for one in found if one != dead] == [n * n for block in blocks for n in block if n != KILLS]
    with RayWorkers(cluster.address, 1) as workers, refused(ValueError, "no number may be -2"):
        list(workers.results([[-2]], lambda block: job(block, tmp_path)))
