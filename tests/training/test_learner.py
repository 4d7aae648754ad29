"""A step's gradient is the same by one pass and by autograd, and lands in one vector that the network shares."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from bankgcn.data.builtin.generated import smooth_or_alternating
from bankgcn.kernels import use_kernels
from bankgcn.nn import CONVS, GraphNetwork
from bankgcn.training import TrainConfig, embed
from bankgcn.training.flat import FlatParameters
from bankgcn.training.learner import Learner


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)  # as graphs are stored


def network(conv: str = "bank") -> GraphNetwork:
    torch.manual_seed(0)
    return GraphNetwork(1, 2, hidden_channels=16, num_layers=3, conv=conv)


@pytest.mark.parametrize("coherence", ["sum", "mean"])
@pytest.mark.parametrize("gamma", [0.0, 0.1, 10.0])
def test_one_pass_and_autograd_agree(gamma: float, coherence: str) -> None:
    config = TrainConfig(gamma=gamma, coherence=coherence)
    batch, outcomes = smooth_or_alternating(20).batch(), []
    for on in (True, False):
        learner = Learner(network(), config)
        with use_kernels(on):
            loss = learner.add_gradient(batch, share=0.5)
        outcomes.append((loss, learner.parameters.gradient))
    (loss, gradient), (expected_loss, expected) = outcomes
    torch.testing.assert_close(torch.tensor(loss), expected_loss)
    torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=1e-5 * expected.abs().max().item())
    assert expected.abs().max() > 0


@pytest.mark.parametrize("weight_decay", [0.0, 0.01])
def test_steps_by_passes_and_by_autograd_agree(weight_decay: float) -> None:
    config = TrainConfig(batch_size=8, gamma=0.3, weight_decay=weight_decay, learning_rate=0.01)
    graphs, outcomes = smooth_or_alternating(20), []
    for on in (True, False):
        learner = Learner(network(), config)
        with use_kernels(on):
            at_once = learner.steps_at_once(graphs)
            losses = [loss for batch in graphs.batches(8 * at_once) for loss in learner.train(batch)]
        state = learner.optimizer.state[learner.parameters.vector]
        outcomes.append((at_once, torch.tensor(losses), learner.parameters.vector.detach(), state))
    (many, losses, vector, state), (one, expected_losses, expected, expected_state) = outcomes
    assert many > one == 1
    torch.testing.assert_close(losses, expected_losses)
    torch.testing.assert_close(vector, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(state["exp_avg"], expected_state["exp_avg"], rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(state["exp_avg_sq"], expected_state["exp_avg_sq"], rtol=1e-3, atol=1e-7)
    assert state["step"] == expected_state["step"] == 3


def test_either_way_goes_on_where_the_other_stopped() -> None:
    config, batch, outcomes = TrainConfig(batch_size=20), smooth_or_alternating(20).batch(), []
    for order in ((True, False), (False, True), (True, True)):
        learner = Learner(network(), config)
        for on in order:
            with use_kernels(on):
                learner.train(batch)
        outcomes.append(learner.parameters.vector.detach())
    torch.testing.assert_close(outcomes[0], outcomes[2], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(outcomes[1], outcomes[2], rtol=1e-4, atol=1e-5)


def test_representations_agree() -> None:
    net, graphs = network(), smooth_or_alternating(20)
    with use_kernels(False):
        expected = embed(net, graphs)
    torch.testing.assert_close(embed(net, graphs, batch_size=7), expected)


def test_only_filter_banks_that_learn_altogether_take_the_pass() -> None:
    assert Learner(network(), TrainConfig())._whole is not None
    assert Learner(network("sage"), TrainConfig())._whole is None
    frozen = network()
    frozen.predict.bias.requires_grad_(False)
    learner = Learner(frozen, TrainConfig())
    assert learner._whole is None
    learner.add_gradient(smooth_or_alternating(5).batch())
    assert learner.parameters.gradient.numel() == sum(p.numel() for p in frozen.parameters()) - 2


@pytest.mark.parametrize("conv", [conv for conv in CONVS if conv != "bank"])
def test_gradients_of_a_baseline_land_in_the_vector(conv: str) -> None:
    batch = smooth_or_alternating(10).batch()
    learner, alone = Learner(network(conv), TrainConfig()), network(conv)
    learner.add_gradient(batch)
    from bankgcn.training.objective import objective

    objective(alone, batch, TrainConfig())[0].backward()
    expected = torch.cat([parameter.grad.reshape(-1) for parameter in alone.parameters()])
    torch.testing.assert_close(learner.parameters.gradient, expected)


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


def test_a_share_of_nothing_is_no_step() -> None:
    learner = Learner(network(), replace(TrainConfig(), gamma=0.0))
    learner.add_gradient(smooth_or_alternating(4).batch(), share=0.0)
    assert not learner.parameters.gradient.any()


def test_the_path_is_the_one_that_the_steps_take(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, config = smooth_or_alternating(4), TrainConfig()
    assert Learner(network(), config).path(graphs) == "whole network"
    assert Learner(network("mlp"), config).path(graphs) == "fused layers"
    assert Learner(network().double(), config).path(graphs) == "fused layers"  # graphs are in single precision
    assert Learner(network().bfloat16(), config).path(graphs) == "plain"
    learner = Learner(network(), config)
    with use_kernels(False):
        assert learner.path(graphs) == "plain"
    monkeypatch.setattr("bankgcn.training.objective.LARGEST_WHOLE", graphs.largest - 1)
    assert learner.path(graphs) == "fused layers"
