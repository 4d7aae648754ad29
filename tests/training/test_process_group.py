"""Several processes train one model as one process with a larger batch would."""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.kernels import use_kernels
from bankgcn.nn import GraphNetwork
from bankgcn.tasks import Task
from bankgcn.training import TrainConfig, TrainedModel
from bankgcn.training.checks import count_known
from bankgcn.training.fitting import Context, Training
from bankgcn.training.stepper import ProcessGroup, make_stepper, objective
from refusals import refused

TASK = Task(names=("smooth", "alternating"))


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)


def context(config: TrainConfig, task: Task, **options) -> Context:
    return Context(config=config, task=task, generator=torch.Generator(), **options)


@pytest.mark.parametrize(("graphs", "processes"), [(12, 2), (13, 2), (5, 3), (2, 4)])
def test_the_gradients_of_all_shards_add_up_to_that_of_the_batch(graphs: int, processes: int) -> None:
    config = TrainConfig(gamma=0.5)
    batch = smooth_or_alternating(graphs).batch()
    net = GraphNetwork(1, 2, hidden_channels=16, num_layers=2)
    objective(net, batch, config, TASK)[0].backward()
    expected = [parameter.grad.clone() for parameter in net.parameters()]
    net.zero_grad()
    seen = []
    for rank in range(processes):
        shard, share = ProcessGroup(rank, processes).shard(batch)
        seen += shard.indices.tolist()
        if shard.num_graphs:
            (share * objective(net, shard, config, TASK)[0]).backward()
    assert sorted(seen) == list(range(graphs))
    torch.testing.assert_close([parameter.grad for parameter in net.parameters()], expected)


@pytest.mark.parametrize("on", [True, False])
def test_the_gradients_add_up_where_targets_are_unknown(on: bool) -> None:
    generator = np.random.default_rng(0)
    graphs = smooth_or_alternating(12)
    y = generator.integers(0, 2, (12, 3)).astype(np.float32)
    y[::2, 1:] = np.nan  # the first of two processes has a third of the targets that the second has
    graphs = replace(graphs, y=y, classes=(), targets=("a", "b", "c"))
    task, config = Task(kind="labels", names=("a", "b", "c")), TrainConfig(gamma=0.5, batch_size=6)
    weights = generator.uniform(0.5, 2, 12)
    counts = count_known(y) * weights
    net = GraphNetwork(1, 3, hidden_channels=16, num_layers=2)
    with use_kernels(on):
        stepper = make_stepper(net, graphs, context(config, task, weights=weights))
        batch, gradient = graphs.batch(), stepper.parameters.gradient
        loss, expected = stepper.add_gradient(batch), gradient.clone()
        gradient.zero_()
        losses = [stepper.add_gradient(*ProcessGroup(rank, 2).shard(batch, counts)) for rank in (0, 1)]
    torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-5)
    assert float(sum(losses)) == pytest.approx(float(loss), rel=1e-5)


def test_one_process_alone_agrees_with_itself() -> None:
    group = ProcessGroup.from_environment()
    assert group == ProcessGroup()
    assert group.broadcast([1.5, 2.0]) == [1.5, 2.0]
    group.barrier()
    group.close()


def test_a_training_is_resumed_by_as_many_processes_as_began_it() -> None:
    def training(group: ProcessGroup) -> Training:
        net = GraphNetwork(1, 2, hidden_channels=16, num_layers=2)
        graphs = smooth_or_alternating(8)
        return Training(net, graphs, graphs, context(TrainConfig(), TASK, group=group))

    with refused(ValueError, "2 processes", 1):
        training(ProcessGroup()).restore(*training(ProcessGroup(0, 2)).state())


@pytest.mark.slow
def test_two_processes_train_as_one_with_twice_the_batch(tmp_path: Path) -> None:
    options = ["--epochs", "3", "--hidden", "16", "--layers", "2"]
    alone = [sys.executable, "-m", "bankgcn", "train", *options, "--batch-size", "32", "--out", "alone"]
    both = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "bankgcn",
        "train",
        *options,
    ]
    both += ["--batch-size", "16", "--out", "both"]
    output = {}
    for command in (alone, both):
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        output[command[-1]] = result.stdout
    assert output["both"].count("test accuracy") == 1  # the first process speaks for all
    models = [TrainedModel.load(tmp_path / name / "model.safetensors") for name in ("alone", "both")]
    one, other = (list(model.net.parameters()) for model in models)
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    histories = [
        list(csv.DictReader((tmp_path / name / "history.csv").read_text().splitlines())) for name in ("alone", "both")
    ]
    for ours, theirs in zip(*histories, strict=True):
        assert float(ours["train_loss"]) == pytest.approx(float(theirs["train_loss"]), rel=1e-5)
