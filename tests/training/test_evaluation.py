"""Applying a network: in evaluation mode, in the network's own precision, and without a trace in the network."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bankgcn import BankConv, BankGCN
from bankgcn.data.builtin.generated import smooth_or_alternating
from bankgcn.data.graphs import GraphSet
from bankgcn.nn import CONVS, AtomEncoder, GraphNetwork
from bankgcn.nn.lowering import lower
from bankgcn.tasks import Task
from bankgcn.training import TrainConfig, embed, evaluate, fit, predict_logits


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)  # as graphs are stored


def noisy_network() -> GraphNetwork:
    """A network whose modes differ: with dropout and batch normalisation in its projections."""

    def conv(in_channels: int, out_channels: int) -> nn.Module:
        layers = nn.Linear(in_channels, out_channels), nn.BatchNorm1d(out_channels), nn.Dropout(0.5)
        return BankConv(in_channels, out_channels, projection=nn.Sequential(*layers))

    return GraphNetwork(1, 2, hidden_channels=16, num_layers=2, conv=conv)


def wide_graphs(weighted: bool = False) -> GraphSet:
    """Graphs with two numbers a node."""
    narrow = smooth_or_alternating(5)
    batch = narrow.batch()
    return GraphSet.from_edges(
        narrow.num_nodes,
        batch.edge_index,
        edge_weight=1.0 + batch.edge_index.sum(0) % 3 if weighted else None,
        attributes=batch.x.repeat(1, 2),
        y=narrow.y,
    )


def loss(net: GraphNetwork, graphs: GraphSet) -> Tensor:
    return torch.tensor(evaluate(net, graphs).loss)


@pytest.mark.parametrize("apply", [predict_logits, embed, loss])
def test_a_network_is_applied_in_evaluation_mode(apply: Callable[[GraphNetwork, GraphSet], Tensor]) -> None:
    net, graphs = noisy_network(), smooth_or_alternating(20)
    state = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    first = apply(net, graphs)
    assert torch.equal(apply(net, graphs), first)
    assert torch.equal(apply(net.eval(), graphs), first)
    assert all(torch.equal(tensor, state[name]) for name, tensor in net.state_dict().items())  # running means too


@pytest.mark.parametrize("apply", [predict_logits, embed, loss])
def test_every_module_gets_its_own_mode_back(apply: Callable[[GraphNetwork, GraphSet], Tensor]) -> None:
    net, graphs = noisy_network(), smooth_or_alternating(5)
    net.convs[0].eval()  # frozen by the caller
    modes = [module.training for module in net.modules()]
    apply(net, graphs)
    assert [module.training for module in net.modules()] == modes
    with pytest.raises(ValueError, match="expected in_channels=1"):
        apply(net, wide_graphs())
    assert [module.training for module in net.modules()] == modes


@pytest.mark.parametrize(
    ("conv", "weighted"),
    [*((conv, False) for conv in CONVS), *((conv, True) for conv in CONVS if CONVS[conv].takes_weights)],
)
def test_a_network_is_applied_in_its_own_precision(conv: str, weighted: bool) -> None:
    net, graphs = GraphNetwork(2, 2, hidden_channels=16, num_layers=2, conv=conv), wide_graphs(weighted)
    single = predict_logits(net, graphs)
    double = predict_logits(net.double(), graphs)
    assert double.dtype == torch.float64
    assert predict_logits(net, graphs[[]]).dtype == embed(net, graphs[[]]).dtype == torch.float64
    torch.testing.assert_close(double.float(), single, atol=1e-4, rtol=1e-4)
    evaluate(net, graphs)
    half = predict_logits(net.bfloat16(), graphs)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), single, atol=0.1, rtol=0.1)


def test_numbers_that_an_encoder_looks_up_are_not_rounded() -> None:
    net = GraphNetwork(8, 2, hidden_channels=8, num_layers=1, encoder=AtomEncoder([1000], 8)).bfloat16()
    names = torch.tensor([[257.0], [999.0]])  # which bfloat16 does not have
    graphs = GraphSet.from_edges([1, 1], torch.empty(2, 0, dtype=torch.long), attributes=names)
    seen = []
    net.encoder.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0]))
    predict_logits(net, graphs)
    assert torch.equal(seen[0], names)


@pytest.mark.parametrize("kind", ["values", "labels"])
def test_no_graphs_have_no_score(kind: str) -> None:
    task = Task(kind=kind, names=("a", "b"), center=(0.0, 0.0), scale=(1.0, 1.0))
    found = evaluate(BankGCN(2, 2), replace(wide_graphs()[:0], y=np.empty((0, 2), np.float32), classes=()), task)
    assert (found.loss, math.isnan(found.score)) == (0, True)


def test_a_lazy_network_can_be_applied() -> None:
    net = BankGCN(-1, 2, hidden_channels=16)
    assert predict_logits(net, smooth_or_alternating(5)).shape == (5, 2)
    assert net.convs[0].in_channels == 1


def test_a_network_is_lowered_once_for_all_batches_and_all_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_default_dtype(torch.float32)
    lowered = []
    monkeypatch.setattr("bankgcn.training.evaluation.lower", lambda net: lowered.append(net) or lower(net))
    net, graphs = BankGCN(1, 2, hidden_channels=16), smooth_or_alternating(20)
    for apply in (predict_logits, embed):
        apply(net, graphs, batch_size=3)
    assert len(lowered) == 2
    fit(net, graphs, graphs[:10], TrainConfig(max_epochs=4), generator=torch.Generator())
    assert len(lowered) == 3
