"""Subspaces that weigh edges by their features: equations, gradients and symmetries; bad features raise."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import oracles
from bankgcn import BankConv
from bankgcn.spectral.featured_edges import FeaturedEdges
from strategies import RandomGraph, disjoint_union, edge_features, graphs, ring, signals

TRIANGLE = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])


def with_edges(edges: str = "weights", **options) -> BankConv:
    """A layer whose subspaces weigh edges differently."""
    torch.manual_seed(0)
    conv = BankConv(4, 6, num_subspaces=3, edge_dim=2, edges=edges, **options).double()
    if conv.weigh_edges is not None:
        nn.init.normal_(conv.weigh_edges.weight)
        nn.init.normal_(conv.weigh_edges.bias)
    return conv


def numbers(conv: BankConv) -> tuple[np.ndarray, ...]:
    return tuple(p.detach().numpy() for p in (conv.project.weight, conv.project.bias, conv.alpha))


@given(graph=graphs(), seed=st.integers(0, 99), order=st.integers(0, 4))
def test_each_subspace_is_filtered_on_its_own_graph(graph: RandomGraph, seed: int, order: int) -> None:
    conv, x, features = with_edges(order=order), signals(graph.num_nodes, 4), edge_features(graph, 2, seed)
    out = conv(x, graph.edge_index, graph.edge_weight, features)
    theta, b = (p.detach().numpy() for p in (conv.weigh_edges.weight, conv.weigh_edges.bias))
    weights = oracles.edge_weights(graph.weights, features.numpy(), theta, b)
    expected = oracles.edge_bank_conv(graph.num_nodes, graph.edges, weights, x.numpy(), *numbers(conv))
    np.testing.assert_allclose(out.detach(), expected, atol=1e-10)


@pytest.mark.parametrize("edges", ["input", "both"])
@given(graph=graphs(), seed=st.integers(0, 99))
def test_sums_over_the_edges_of_a_node_join_its_signal(edges: str, graph: RandomGraph, seed: int) -> None:
    conv, x, features = with_edges(edges), signals(graph.num_nodes, 4), edge_features(graph, 2, seed)
    out = conv(x, graph.edge_index, graph.edge_weight, features)
    sums = oracles.edge_sums(graph.num_nodes, graph.edges, graph.weights, features.numpy())
    wide = np.concatenate([sums, x.numpy()], axis=1)
    if edges == "both":
        theta, b = (p.detach().numpy() for p in (conv.weigh_edges.weight, conv.weigh_edges.bias))
        weights = oracles.edge_weights(graph.weights, features.numpy(), theta, b)
        expected = oracles.edge_bank_conv(graph.num_nodes, graph.edges, weights, wide, *numbers(conv))
    else:
        expected = oracles.bank_conv(graph.laplacian, wide, *numbers(conv))
    np.testing.assert_allclose(out.detach(), expected, atol=1e-9)


@given(graph=graphs(), seed=st.integers(0, 99))
def test_the_layer_starts_as_the_layer_without_features(graph: RandomGraph, seed: int) -> None:
    torch.manual_seed(seed)
    conv, plain = BankConv(4, 6, num_subspaces=3, edge_dim=2), BankConv(4, 6, num_subspaces=3)
    plain.load_state_dict({name: value for name, value in conv.state_dict().items() if "weigh_edges" not in name})
    x = signals(graph.num_nodes, 4)
    out = conv(x, graph.edge_index, graph.edge_weight, edge_features(graph, 2, seed))
    torch.testing.assert_close(out, plain(x, graph.edge_index, graph.edge_weight))


@given(graph=graphs(), seed=st.integers(0, 99))
def test_every_shift_is_symmetric_with_its_spectrum_in_the_interval(graph: RandomGraph, seed: int) -> None:
    features = 5 * edge_features(graph, 2, seed)
    conv = with_edges()
    edges = conv.prepare_edges(signals(graph.num_nodes, 4), graph.edge_index, graph.edge_weight, features)
    dense = edges.shifts(conv.edge_weights(edges.features)).to_dense().detach()
    torch.testing.assert_close(dense, dense.mT)
    assert torch.linalg.eigvalsh(dense).abs().max() <= 1 + 1e-12


@given(graph=graphs(), seed=st.integers(0, 2**31))
def test_the_order_of_nodes_and_edges_changes_nothing(graph: RandomGraph, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    conv, x, features = with_edges("both"), signals(graph.num_nodes, 4), edge_features(graph, 2)
    out = conv(x, graph.edge_index, graph.edge_weight, features)
    nodes = torch.randperm(graph.num_nodes, generator=generator)
    order = torch.randperm(len(graph.edges), generator=generator)
    moved = torch.argsort(nodes)[graph.edge_index][:, order]
    torch.testing.assert_close(conv(x[nodes], moved, graph.edge_weight[order], features[order]), out[nodes])


@given(st.lists(graphs(max_nodes=5), min_size=1, max_size=4))
def test_a_batch_equals_its_graphs_one_by_one(batch: list[RandomGraph]) -> None:
    conv, sizes = with_edges("both"), [graph.num_nodes for graph in batch]
    x, features = signals(sum(sizes), 4), [edge_features(graph, 2, seed) for seed, graph in enumerate(batch)]
    edges, _ = disjoint_union([graph.edge_index for graph in batch], sizes)
    weights = torch.cat([graph.edge_weight for graph in batch])
    singles = [
        conv(part, graph.edge_index, graph.edge_weight, own)
        for part, graph, own in zip(x.split(sizes), batch, features, strict=True)
    ]
    torch.testing.assert_close(conv(x, edges, weights, torch.cat(features)), torch.cat(singles))


@pytest.mark.parametrize("edges", ["weights", "both"])
def test_gradients_pass_gradcheck(edges: str) -> None:
    conv = with_edges(edges)
    names = [name for name, _ in conv.named_parameters()]

    def call(x: torch.Tensor, weight: torch.Tensor, features: torch.Tensor, *parameters: torch.Tensor) -> torch.Tensor:
        arguments = (x, ring(5), weight.repeat(2), features.repeat(2, 1))
        return torch.func.functional_call(conv, dict(zip(names, parameters, strict=True)), arguments)

    inputs = (
        signals(5, 4),
        torch.rand(5).double() + 0.5,
        signals(5, 2, seed=1),
        *(p.detach() for p in conv.parameters()),
    )
    assert torch.autograd.gradcheck(call, tuple(tensor.clone().requires_grad_() for tensor in inputs))


def test_edges_of_other_features_between_the_same_nodes_stay_apart() -> None:
    conv, x = with_edges(), signals(2, 4)
    pair = torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0]])
    features = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    edges = FeaturedEdges.of(pair, None, features, num_nodes=2, edge_dim=2, dtype=torch.float64)
    assert len(edges.row) == 4
    weights = oracles.edge_weights(
        [1.0] * 4, features.numpy(), *(p.detach().numpy() for p in conv.weigh_edges.parameters())
    )
    edge_list = [tuple(edge) for edge in pair.T.tolist()]
    expected = oracles.edge_bank_conv(2, edge_list, weights, x.numpy(), *numbers(conv))
    np.testing.assert_allclose(conv(x, pair, edge_attr=features).detach(), expected, atol=1e-12)


def test_equal_edges_are_one_with_the_sum_of_their_weights() -> None:
    pair = torch.tensor([[0, 1, 0, 1, 1], [1, 0, 1, 0, 1]])
    edges = FeaturedEdges.of(
        pair, torch.tensor([1.0, 1, 2, 2, 9]), torch.ones(5), num_nodes=2, edge_dim=1, dtype=torch.float64
    )
    assert edges.row.tolist() == [0, 1]
    assert edges.weight.tolist() == [3, 3]
    assert edges.sums().tolist() == [[3], [3]]


@pytest.mark.parametrize(
    ("features", "named"),
    [
        (torch.tensor([[1.0, 2], [1, 3], [0, 0], [0, 0], [0, 0], [0, 0]]), ["(0, 1)", "(1, 2)", "(1, 0)", "(1, 3)"]),
        (torch.full((6, 2), torch.nan), ["edge 0", "(0, 1)", "nan"]),
        (torch.ones(6, 3), ["(6, 3)", "edge_dim=2"]),
        (torch.ones(5, 2), ["(5, 2)", "(6, edge_dim=2)"]),
        (None, ["edge_attr", "edge_dim=2"]),
    ],
)
def test_bad_features_are_named(features: torch.Tensor | None, named: list[str]) -> None:
    with pytest.raises(ValueError, match=".*".join(map(re.escape, named))):
        with_edges()(signals(3, 4), TRIANGLE, edge_attr=features)


@pytest.mark.parametrize(
    ("edge_index", "weight", "named"),
    [
        (torch.tensor([[0, 1, 1], [1, 0, 2]]), None, ["(1, 2)", "(2, 1)"]),
        (torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0]), ["1.0", "2.0"]),
        (torch.tensor([[0, 1], [1, 3]]), None, ["(1, 3)", "num_nodes=3"]),
        (torch.eye(3).to_sparse(), None, ["edge_index"]),
    ],
)
def test_bad_edges_are_named(edge_index: torch.Tensor, weight: torch.Tensor | None, named: list[str]) -> None:
    features = torch.ones(edge_index.size(1), 2)
    with pytest.raises(ValueError, match=".*".join(map(re.escape, named))):
        with_edges()(signals(3, 4), edge_index, weight, features)


def test_a_layer_without_edge_dim_refuses_features() -> None:
    with pytest.raises(ValueError, match="edge_dim"):
        BankConv(4, 6, num_subspaces=3)(signals(3, 4), TRIANGLE, edge_attr=torch.ones(6, 2))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"edge_dim": 0}, "edge_dim=0"),
        ({"edge_dim": 2, "edges": "all"}, "'all'"),
        ({"edge_dim": 2, "in_channels": -1}, "in_channels=-1"),
    ],
)
def test_bad_options_are_named(options: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        BankConv(**{"in_channels": 4, "out_channels": 6, "num_subspaces": 3} | options)


def test_ignored_features_need_no_parameters() -> None:
    conv = BankConv(4, 6, num_subspaces=3, edge_dim=2, edges="none")
    assert [name for name, _ in conv.named_parameters()] == ["alpha", "project.weight", "project.bias"]
    assert BankConv(4, 6, num_subspaces=3, edge_dim=2).edge_weights(torch.zeros(5, 2)).tolist() == [[1.0] * 3] * 5
    with pytest.raises(ValueError, match="edges='input'"):
        BankConv(4, 6, num_subspaces=3, edge_dim=2, edges="input").edge_weights(torch.zeros(5, 2))
