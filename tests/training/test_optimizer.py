"""Steps by program and by autograd equal those of torch's AdamW, schedulers and clipping on the module."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.kernels import use_kernels
from bankgcn.nn import GraphNetwork
from bankgcn.tasks import Task
from bankgcn.training import TrainConfig, fitting
from bankgcn.training.evaluation import Evaluation
from bankgcn.training.fitting import Context, Training
from bankgcn.training.optimizer import Optimizer
from bankgcn.training.stepper import ProgramStepper, make_stepper, objective

TASK = Task(names=("smooth", "alternating"))
GRAPHS = smooth_or_alternating(20)
STEPS = 3  # of an epoch
CONFIG = TrainConfig(
    max_epochs=4,
    batch_size=8,
    gamma=0.3,
    learning_rate=0.05,
    optimizer="adamw",
    weight_decay=0.5,
    schedule="cosine",
    warmup=1,
    clip_norm=0.1,
)


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None, small_sets_are_merged: None) -> None:
    torch.set_default_dtype(torch.float32)  # as graphs are stored


def network() -> GraphNetwork:
    torch.manual_seed(0)
    return GraphNetwork(1, 2, hidden_channels=16, num_layers=2, norm="layer", head="mlp")


def context(config: TrainConfig) -> Context:
    return Context(config=config, task=TASK, generator=torch.Generator().manual_seed(1))


def optimizer_of(config: TrainConfig, steps_per_epoch: int) -> Optimizer:
    net = network()
    parameters = list(net.parameters())
    return Optimizer(
        net, parameters, torch.nn.Parameter(torch.cat([p.flatten() for p in parameters])), config, steps_per_epoch
    )


@pytest.mark.parametrize(("warmup", "schedule"), [(0, "cosine"), (2, "cosine"), (2, "constant"), (0, "constant")])
def test_learning_rates_are_those_of_torchs_schedulers(warmup: int, schedule: str) -> None:
    config = TrainConfig(max_epochs=6, warmup=warmup, schedule=schedule, learning_rate=0.1, min_learning_rate=0.01)
    optimizer, rising, total = optimizer_of(config, 5), 5 * warmup, 30
    reference = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    lowest = 0.01 if schedule == "cosine" else 0.1
    parts: list = [CosineAnnealingLR(reference, total - rising, eta_min=lowest)]
    if warmup:
        parts.insert(0, LinearLR(reference, start_factor=1 / rising, total_iters=rising - 1))
    scheduler = SequentialLR(reference, parts, milestones=[rising][: len(parts) - 1])
    expected = []
    for _ in range(total):
        expected.append(reference.param_groups[0]["lr"])
        reference.step()
        scheduler.step()
    assert [optimizer.rate(step) for step in range(total)] == pytest.approx(expected, rel=1e-9)
    if warmup == 0 and schedule == "constant":
        assert {optimizer.rate(step) for step in range(total)} == {0.1}  # the same bits


def test_a_warm_up_may_be_longer_than_the_training_and_the_lowest_rate_above_the_highest() -> None:
    short = optimizer_of(TrainConfig(max_epochs=2, warmup=9, schedule="cosine", learning_rate=0.1), 5)
    assert [short.rate(step) for step in (0, 9)] == pytest.approx([0.01, 0.1])
    low = TrainConfig(max_epochs=2, schedule="cosine", learning_rate=1e-3, min_learning_rate=1.0)
    assert {optimizer_of(low, 5).rate(step) for step in range(10)} == {1e-3}


def by_torch(config: TrainConfig, epochs: int) -> torch.Tensor:
    """Plain torch on the module: groups of parameters, clipping, and a rate that torch's scheduler gives."""
    net, rates = network(), optimizer_of(config, STEPS)
    filters = [conv.alpha for conv in net.convs]
    matrices = [p for p in net.parameters() if p.dim() == 2 and all(p is not alpha for alpha in filters)]
    rest = [p for p in net.parameters() if all(p is not matrix for matrix in matrices)]
    assert len(matrices) == 4  # two projections, two layers of the head
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": rest, "weight_decay": 0.0}]
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    optimizer = kind(groups if config.optimizer == "adamw" else net.parameters(), weight_decay=config.weight_decay)
    step = 0
    for _ in range(epochs):
        for batch in GRAPHS.batches(config.batch_size):
            optimizer.zero_grad()
            objective(net, batch, config, TASK)[0].backward()
            if config.clip_norm is not None:
                clip_grad_norm_(net.parameters(), config.clip_norm)
            for group in optimizer.param_groups:
                group["lr"] = rates.rate(step)
            optimizer.step()
            step += 1
    return torch.cat([parameter.detach().reshape(-1) for parameter in net.parameters()])


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimizer": "adam", "weight_decay": 0.01},
        {"clip_norm": None, "schedule": "constant", "warmup": 0},
        {"optimizer": "adam", "weight_decay": 0.0, "clip_norm": None},
    ],
    ids=["all", "clip and schedule with adam", "adamw alone", "schedule alone"],
)
def test_steps_equal_those_of_torch_on_the_module(changes: dict, on: bool) -> None:
    config = replace(CONFIG, **changes)
    expected = by_torch(config, epochs=2)
    with use_kernels(on):
        stepper = make_stepper(network(), GRAPHS, context(config))
        assert isinstance(stepper, ProgramStepper) == on
        assert not on or stepper.batches_per_call > STEPS  # all steps of an epoch in one call
        for _ in range(2):
            for batch in GRAPHS.batches(8 * stepper.batches_per_call):
                stepper.step(batch)
    assert stepper.optimizer.steps_taken == 2 * STEPS
    torch.testing.assert_close(stepper.parameters.vector.detach(), expected, rtol=1e-4, atol=2e-5)
    start = torch.cat([parameter.detach().reshape(-1) for parameter in network().parameters()])
    assert (expected - start).abs().max() > 0.01


def test_biases_normalisations_and_filters_do_not_decay() -> None:
    net = network()
    stepper = make_stepper(net, GRAPHS, context(CONFIG))
    decaying = stepper.optimizer.decays.split([parameter.numel() for parameter in net.parameters()])
    names = {name for (name, _), values in zip(net.named_parameters(), decaying, strict=True) if values.all()}
    assert names == {"convs.0.project.weight", "convs.1.project.weight", "head.weight", "predict.weight"}
    assert sum(values.sum() for values in decaying) == sum(dict(net.named_parameters())[n].numel() for n in names)


@pytest.mark.parametrize("on", [True, False])
def test_the_norm_of_a_clipped_gradient_does_not_count_frozen_layers(on: bool) -> None:
    config, batch = replace(CONFIG, freeze=1), GRAPHS.batch(slice(0, 8))
    net, twin = network(), network()
    with use_kernels(on):
        training = Training(net, GRAPHS, GRAPHS, context(config))
        training.stepper.step(batch)
    objective(twin, batch, config, TASK)[0].backward()
    twins = dict(twin.named_parameters())
    frozen = {name for name, parameter in net.named_parameters() if torch.equal(parameter, twins[name])}
    assert frozen == {name for name in twins if name.startswith(("convs.0", "norms.0"))}
    gradients = [twins[name].grad * (name not in frozen) for name in twins]
    expected = torch.cat([gradient.reshape(-1) for gradient in gradients])
    assert expected.norm() > config.clip_norm
    expected *= config.clip_norm / expected.norm()
    torch.testing.assert_close(training.stepper.parameters.gradient, expected, rtol=1e-4, atol=1e-6)


def test_the_history_has_the_rate_of_the_last_step_of_each_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "evaluate_outputs", lambda *_: Evaluation(1.0, 0.0))  # never better than at first
    config = replace(CONFIG, schedule="constant", warmup=2, decay_patience=2, decay_factor=0.5, max_epochs=6)
    training = Training(network(), GRAPHS, GRAPHS, context(config))
    rates = [training.run_epoch().learning_rate for _ in range(6)]
    np.testing.assert_allclose(rates, [0.025, 0.05, 0.05, 0.05, 0.025, 0.025], rtol=1e-6)
