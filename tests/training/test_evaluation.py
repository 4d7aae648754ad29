"""Applying a network: in evaluation mode, in the network's own precision, and without a trace in the network."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bankgcn import BankConv, BankGCN
from bankgcn.data.builtin import mutag, smooth_or_alternating
from bankgcn.data.graphs import GraphSet
from bankgcn.kernels import use_kernels
from bankgcn.nn import CONVS, PLAIN_CONVS, AtomEncoder, GraphNetwork
from bankgcn.nn.lowering import lower
from bankgcn.tasks import Task
from bankgcn.training import ModelConfig, TrainConfig, embed, evaluate, fit, predict_logits
from bankgcn.training.evaluation import Inference, linear_by_row
from refusals import refused


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
    with refused(ValueError, in_channels=1):
        apply(net, wide_graphs())
    assert [module.training for module in net.modules()] == modes


@pytest.mark.parametrize(
    ("conv", "weighted"),
    [*((conv, False) for conv in PLAIN_CONVS), *((conv, True) for conv in PLAIN_CONVS if CONVS[conv].takes_weights)],
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
    lowered = []
    monkeypatch.setattr("bankgcn.training.evaluation.lower", lambda net: lowered.append(net) or lower(net))
    net, graphs = BankGCN(1, 2, hidden_channels=16), smooth_or_alternating(20)
    for apply in (predict_logits, embed):
        apply(net, graphs, batch_size=3)
    assert len(lowered) == 2
    fit(net, graphs, graphs[:10], TrainConfig(max_epochs=4), generator=torch.Generator())
    assert len(lowered) == 3


def test_a_program_that_is_kept_is_not_used_where_kernels_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    net, graphs = BankGCN(1, 2, hidden_channels=16), smooth_or_alternating(20)
    inference = Inference(net)
    expected = inference.logits(graphs)
    monkeypatch.setattr("bankgcn.training.evaluation.run_embedding", None)  # whoever runs the program fails
    with use_kernels(False):
        torch.testing.assert_close(inference.logits(graphs), expected)


SMALL: dict[str, Any] = {"hidden_channels": 16, "num_layers": 2}


@pytest.mark.parametrize("outputs", [1, 2, 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_row_of_a_linear_layer_does_not_depend_on_the_other_rows(outputs: int, dtype: torch.dtype) -> None:
    layer = nn.Linear(300, outputs, dtype=dtype)
    x = torch.randn(90, 300, dtype=dtype)
    expected = linear_by_row(x.numpy(), layer)
    torch.testing.assert_close(torch.from_numpy(expected), layer(x).detach())
    for rows in (slice(7, 8), slice(3, 20), slice(0, 65)):
        np.testing.assert_array_equal(linear_by_row(x[rows].numpy(), layer), expected[rows])
        np.testing.assert_array_equal(linear_by_row(np.asfortranarray(x[rows].numpy()), layer), expected[rows])


def test_a_large_layer_is_applied_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x = nn.Linear(20, 3), torch.randn(11, 20).numpy()
    expected = linear_by_row(x, layer)
    monkeypatch.setattr("bankgcn.training.evaluation.CHUNK", 100)
    with use_kernels(False):
        np.testing.assert_array_equal(linear_by_row(x, layer), expected)
    assert linear_by_row(x[:0], layer).shape == (0, 3)


@pytest.mark.parametrize("options", [{}, {"head": "mlp", "readout": "sum"}, {"norm": "batch"}])
@pytest.mark.parametrize("kernels", [True, False])
def test_results_are_those_of_the_network(options: dict[str, Any], kernels: bool) -> None:
    torch.set_default_dtype(torch.float32)
    graphs = mutag()[:40]
    with use_kernels(kernels):
        net = ModelConfig(**SMALL, **options).build(graphs.num_features, 1).eval()
        inference = Inference(net)
        embeddings = inference.embeddings(graphs)
        torch.testing.assert_close(torch.from_numpy(embeddings), embed(net, graphs))
        torch.testing.assert_close(torch.from_numpy(inference.outputs(embeddings)), predict_logits(net, graphs))
        if kernels and "norm" not in options:  # by the executor
            assert embeddings.flags.c_contiguous
            for chosen in ([3], [5, 3, 17], list(range(1, 33))):
                some = inference.embeddings(graphs[chosen])
                np.testing.assert_array_equal(some, embeddings[chosen])
                np.testing.assert_array_equal(inference.outputs(some), inference.outputs(embeddings)[chosen])
        assert inference.outputs(inference.embeddings(graphs[[]])).shape == (0, 1)


def test_parameters_may_change_afterwards() -> None:
    torch.set_default_dtype(torch.float32)
    graphs = mutag()[:5]
    net = ModelConfig(**SMALL).build(graphs.num_features, 2).eval()
    inference = Inference(net)
    before = inference.embeddings(graphs)
    with torch.no_grad():
        net.convs[0].project.weight.neg_()
    assert not np.array_equal(inference.embeddings(graphs), before)
    torch.testing.assert_close(torch.from_numpy(inference.embeddings(graphs)), embed(net, graphs))


def test_the_size_of_a_set_does_not_matter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("bankgcn.kernels.network.quotient.MIN_NODES", 500)  # larger sets are merged in training
    torch.set_default_dtype(torch.float32)
    graphs = mutag()[:40]
    assert len(graphs.quotient.degree) < len(graphs.degree)
    graphs[[3]].save(tmp_path / "one.graphs")
    inference = Inference(ModelConfig(**SMALL).build(graphs.num_features, 2).eval())
    alone = inference.embeddings(GraphSet.load(tmp_path / "one.graphs"))
    np.testing.assert_array_equal(inference.embeddings(graphs)[[3]], alone)
