"""Gradients and steps are the same by program and by autograd; the parameters of a network share one vector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.kernels import use_kernels
from bankgcn.nn import PLAIN_CONVS, GraphNetwork
from bankgcn.nn.layers import dropout_key
from bankgcn.tasks import Task
from bankgcn.training import TrainConfig, embed
from bankgcn.training.fitting import Context
from bankgcn.training.stepper import FlatParameters, ProcessGroup, ProgramStepper, Stepper, make_stepper
from refusals import refused

TASK = Task(names=("smooth", "alternating"))


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None, small_sets_are_merged: None) -> None:
    torch.set_default_dtype(torch.float32)  # as graphs are stored


def network(conv: str = "bank") -> GraphNetwork:
    torch.manual_seed(0)
    net = GraphNetwork(1, 2, hidden_channels=16, num_layers=3, conv=conv)
    for parameter in net.parameters():
        if parameter.dim() == 1:  # with biases of 0, GCN turns alternating signals into rounding errors
            parameter.data.normal_(std=0.1)
    return net


def context(config: TrainConfig | None = None, task: Task = TASK, **options) -> Context:
    return Context(config=config or TrainConfig(), task=task, generator=torch.Generator(), **options)


@pytest.mark.parametrize("coherence", ["sum", "mean"])
@pytest.mark.parametrize("gamma", [0.0, 0.1, 10.0])
def test_program_and_autograd_have_the_same_gradient(gamma: float, coherence: str) -> None:
    config = TrainConfig(gamma=gamma, coherence=coherence)
    graphs, outcomes = smooth_or_alternating(20), []
    for on in (True, False):
        with use_kernels(on):
            stepper = make_stepper(network(), graphs, context(config))
            loss = stepper.add_gradient(graphs.batch(), share=0.5)
        assert isinstance(stepper, ProgramStepper) == on
        outcomes.append((loss, stepper.parameters.gradient))
    (loss, gradient), (expected_loss, expected) = outcomes
    torch.testing.assert_close(torch.tensor(loss), expected_loss)
    torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=1e-5 * expected.abs().max().item())
    assert expected.abs().max() > 0


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("weight_decay", [0.0, 0.01])
def test_program_and_autograd_take_the_same_steps(weight_decay: float, dropout: float) -> None:
    config = TrainConfig(batch_size=8, gamma=0.3, weight_decay=weight_decay, learning_rate=0.01)
    graphs, outcomes = smooth_or_alternating(20), []
    for on in (True, False):
        with use_kernels(on):
            net = network()
            net.dropout = dropout
            stepper = make_stepper(net, graphs, context(config, dropout_seed=5))
            per_call = stepper.batches_per_call
            losses = [loss for batch in graphs.batches(8 * per_call) for loss in stepper.step(batch)]
        state = stepper.optimizer.adam.state[stepper.parameters.vector]
        outcomes.append((per_call, torch.tensor(losses), stepper.parameters.vector.detach(), state))
    (many, losses, vector, state), (one, expected_losses, expected, expected_state) = outcomes
    assert many > one == 1
    torch.testing.assert_close(losses, expected_losses)
    torch.testing.assert_close(vector, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(state["exp_avg"], expected_state["exp_avg"], rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(state["exp_avg_sq"], expected_state["exp_avg_sq"], rtol=1e-3, atol=1e-7)
    assert state["step"] == expected_state["step"] == 3


def test_a_stepper_of_either_kind_continues_from_the_state_of_the_other() -> None:
    config, graphs, outcomes = TrainConfig(batch_size=20), smooth_or_alternating(20), []
    for order in ((True, False), (False, True), (True, True)):
        net, state = network(), None
        for on in order:
            with use_kernels(on):
                stepper = make_stepper(net, graphs, context(config))
                if state is not None:
                    stepper.optimizer.adam.load_state_dict(state)
                stepper.step(graphs.batch())
            state = stepper.optimizer.adam.state_dict()
        outcomes.append(stepper.parameters.vector.detach())
    torch.testing.assert_close(outcomes[0], outcomes[2], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(outcomes[1], outcomes[2], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "binary_cross_entropy"])
def test_every_loss_has_the_same_gradient_by_program_and_by_autograd(loss: str) -> None:
    graphs = smooth_or_alternating(20)
    y = np.stack([graphs.y, 1 - graphs.y], axis=1).astype(np.float32)
    y[3, 0] = y[5] = np.nan
    graphs = replace(graphs, y=y, classes=(), targets=("a", "b"))
    kind = "labels" if loss == "binary_cross_entropy" else "values"
    task, outcomes = Task.fitted(y, ("a", "b"), kind, loss=loss), []
    for on in (True, False):
        with use_kernels(on):
            stepper = make_stepper(network(), graphs, context(TrainConfig(batch_size=8), task))
            losses = [loss for batch in graphs.batches(8 * stepper.batches_per_call) for loss in stepper.step(batch)]
        assert isinstance(stepper, ProgramStepper) == on
        outcomes.append((torch.tensor(losses), stepper.parameters.gradient, stepper.parameters.vector.detach()))
    for found, expected in zip(*outcomes, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("loss", ["cross_entropy", "squared_error", "absolute_error", "binary_cross_entropy"])
def test_weighted_graphs_have_the_same_steps_by_program_and_by_autograd(loss: str) -> None:
    graphs, task = smooth_or_alternating(20), TASK
    if loss != "cross_entropy":
        y = np.stack([graphs.y, 1 - graphs.y], axis=1).astype(np.float32)
        y[3, 0] = y[5] = np.nan
        graphs = replace(graphs, y=y, classes=(), targets=("a", "b"))
        kind = "labels" if loss == "binary_cross_entropy" else "values"
        task = Task.fitted(y, ("a", "b"), kind, loss=loss)
    weights = np.random.default_rng(0).uniform(0, 3, 20)
    weights[8:16] = 0  # a whole batch
    outcomes = []
    for on in (True, False):
        with use_kernels(on):
            stepper = make_stepper(network(), graphs, context(TrainConfig(batch_size=8), task, weights=weights))
            losses = [loss for batch in graphs.batches(8 * stepper.batches_per_call) for loss in stepper.step(batch)]
        assert isinstance(stepper, ProgramStepper) == on
        outcomes.append((torch.tensor(losses), stepper.parameters.gradient, stepper.parameters.vector.detach()))
    assert outcomes[0][0][1] == 0
    for found, expected in zip(*outcomes, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_representations_agree() -> None:
    net, graphs = network(), smooth_or_alternating(20)
    with use_kernels(False):
        expected = embed(net, graphs)
    torch.testing.assert_close(embed(net, graphs, batch_size=7), expected)


def test_programs_are_for_networks_of_which_all_parameters_learn() -> None:
    graphs = smooth_or_alternating(5)
    for conv in PLAIN_CONVS:
        assert type(make_stepper(network(conv), graphs, context())) is ProgramStepper
    frozen = network()
    frozen.predict.bias.requires_grad_(False)
    stepper = make_stepper(frozen, graphs, context())
    assert type(stepper) is Stepper
    stepper.add_gradient(graphs.batch())
    assert stepper.parameters.gradient.numel() == sum(p.numel() for p in frozen.parameters()) - 2


@pytest.mark.parametrize("conv", [conv for conv in PLAIN_CONVS if conv != "bank"])
def test_the_vector_holds_the_gradients_of_a_baseline(conv: str) -> None:
    batch = smooth_or_alternating(10).batch()
    stepper, alone = make_stepper(network(conv), batch.source, context()), network(conv)
    stepper.add_gradient(batch)
    from bankgcn.training.stepper import objective

    objective(alone, batch, TrainConfig(), TASK)[0].backward()
    expected = torch.cat([parameter.grad.reshape(-1) for parameter in alone.parameters()])
    torch.testing.assert_close(stepper.parameters.gradient, expected)


def test_a_network_shares_the_vector_until_it_is_released() -> None:
    net = network()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    flat = FlatParameters(net.parameters())
    torch.testing.assert_close(dict(net.state_dict()), before, rtol=0, atol=0)
    with torch.no_grad():
        flat.vector.mul_(2)
    torch.testing.assert_close(net.convs[1].alpha, 2 * before["convs.1.alpha"], rtol=0, atol=0)
    flat.release()
    with torch.no_grad():
        flat.vector.mul_(2)
    torch.testing.assert_close(net.convs[1].alpha, 2 * before["convs.1.alpha"], rtol=0, atol=0)
    assert net.convs[1].alpha.grad is None


def test_each_step_and_each_process_has_its_own_dropout() -> None:
    graphs, keys = smooth_or_alternating(4), []
    for rank in range(3):
        stepper = make_stepper(network(), graphs, context(dropout_seed=11, group=ProcessGroup(rank, 3)))
        keys += [stepper.dropout_key(step) for step in range(4)]
    assert sorted(keys) == sorted(dropout_key(11, number) for number in range(12))
    assert len(set(keys)) == 12


@pytest.mark.parametrize("on", [True, False])
def test_the_steps_of_a_training_are_counted_by_its_optimiser(on: bool) -> None:
    graphs, config = smooth_or_alternating(20), TrainConfig(batch_size=8)
    with use_kernels(on):
        stepper = make_stepper(network(), graphs, context(config))
        assert stepper.optimizer.steps_taken == 0
        for batch in graphs.batches(8):
            stepper.step(batch)
        assert stepper.optimizer.steps_taken == 3
        resumed = make_stepper(network(), graphs, context(config))
        resumed.optimizer.adam.load_state_dict(stepper.optimizer.adam.state_dict())
        assert resumed.optimizer.steps_taken == 3


def test_a_share_of_zero_has_no_gradient() -> None:
    graphs = smooth_or_alternating(4)
    stepper = make_stepper(network(), graphs, context(TrainConfig(gamma=0.0)))
    stepper.add_gradient(graphs.batch(), share=0.0)
    assert not stepper.parameters.gradient.any()


def test_the_path_is_the_one_that_the_steps_take(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, config = smooth_or_alternating(4), TrainConfig()

    def path(net: GraphNetwork) -> str:
        return make_stepper(net, graphs, context(config)).path

    assert path(network()) == "whole network"
    assert path(network("mlp")) == "whole network"
    assert path(network().double()) == "fused layers"  # graphs are in single precision
    assert path(network().bfloat16()) == "plain"
    with use_kernels(False):
        assert path(network()) == "plain"
    monkeypatch.setattr("bankgcn.training.stepper.MAX_PROGRAM_NODES", graphs.largest - 1)
    assert path(network()) == "fused layers"


def test_weights_that_a_layer_cannot_use_are_refused_on_every_path() -> None:
    graphs = smooth_or_alternating(4)
    weighted = replace(graphs, edge_weight=np.full_like(graphs.shift, 2.0))
    for on in (True, False):
        with use_kernels(on), refused(ValueError, "SAGEConv"):
            embed(network("sage"), weighted)
