"""The baselines are PyG's layers with the paper's settings and numbers of parameters."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch_geometric.nn import ChebConv, GCNConv

import oracles
from bankgcn.data import GraphSet
from bankgcn.nn import CONVS, PLAIN_CONVS, BankConv, GraphNetwork, layer_parameters, width_for_budget
from bankgcn.training.stepper import embedding_of
from refusals import refused
from strategies import disjoint_union, ring, signals

PUBLISHED = {"gcn": 4160, "sage": 8256, "gin": 8320, "gat": 4288}


@pytest.mark.parametrize(("conv", "parameters"), PUBLISHED.items())
def test_parameters_of_a_layer_of_width_64_are_the_published_ones(conv: str, parameters: int) -> None:
    assert layer_parameters(conv, 64) == parameters


def test_parameters_where_the_paper_miscounts() -> None:
    assert layer_parameters("cheb", 64, order=2) == 12352  # printed as 12353
    for order in (1, 2, 3, 4):
        for s in (1, 4, 8, 16):  # printed as 4161 + order, whatever s
            assert layer_parameters("bank", 64, order=order, num_subspaces=s) == 4160 + s * (order + 1)


def ring_neighbours(x: np.ndarray) -> np.ndarray:
    return np.roll(x, 1, axis=0) + np.roll(x, -1, axis=0)


def test_baselines_compute_their_formulas() -> None:
    """On a ring every node has two neighbours, so each aggregation is a formula of one line."""
    x = signals(6, 8)
    a, n = x.numpy(), ring_neighbours(x.numpy())
    convs = {name: CONVS[name](8, 8) for name in ("gcn", "sage", "gin", "mlp")}
    out = {name: conv(x, ring(6)).detach().numpy() for name, conv in convs.items()}
    parameters = {name: [p.detach().numpy() for p in conv.parameters()] for name, conv in convs.items()}

    bias, weight = parameters["gcn"]
    np.testing.assert_allclose(out["gcn"], (a + n) / 3 @ weight.T + bias, atol=1e-12)
    weight, bias, root = parameters["sage"]
    np.testing.assert_allclose(out["sage"], n / 2 @ weight.T + bias + a @ root.T, atol=1e-12)
    w1, b1, w2, b2 = parameters["gin"]
    np.testing.assert_allclose(out["gin"], np.maximum((a + n) @ w1.T + b1, 0) @ w2.T + b2, atol=1e-12)
    weight, bias = parameters["mlp"]
    np.testing.assert_allclose(out["mlp"], a @ weight.T + bias, atol=1e-12)


def test_chebnet_of_order_two_has_the_quadratic_term() -> None:
    conv, x = CONVS["cheb"](3, 3, order=2), signals(6, 3)
    shift = -ring_neighbours(np.eye(6)) / 2
    terms = [np.eye(6), shift, 2 * shift @ shift - np.eye(6)]
    expected = sum(t @ x.numpy() @ lin.weight.detach().numpy().T for t, lin in zip(terms, conv.lins, strict=True))
    np.testing.assert_allclose(conv(x, ring(6)).detach(), expected + conv.bias.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_chebnet_is_pygs_for_any_spectrum(weighted: bool) -> None:
    """We pass 2 as the largest frequency, the value that PyG uses for every symmetrically normalised Laplacian."""
    conv, x = CONVS["cheb"](3, 3), signals(6, 3)
    plain = ChebConv(3, 3, K=3, normalization="sym")
    plain.load_state_dict(conv.state_dict())
    weight = torch.arange(1.0, 7).repeat(2) if weighted else None
    assert torch.equal(conv(x, ring(6), weight), plain(x, ring(6), weight))
    assert pickle.loads(pickle.dumps(conv))(x[:0], ring(6)[:, :0]).shape == (0, 3)


def test_heads_of_gat_share_the_width() -> None:
    conv = CONVS["gat"](5, 64)
    assert (conv.heads, conv.out_channels) == (8, 8)
    assert conv(signals(6, 5), ring(6)).shape == (6, 64)
    with refused(ValueError, out_channels=60, heads=8):
        CONVS["gat"](5, 60)


PYGS_OWN = {"gcn": GCNConv}
"""Layers that cannot prepare the edges, in place of those that can."""


def pair_of_networks(conv: str) -> tuple[GraphNetwork, GraphNetwork]:
    """A network that may prepare the edges for its layers, and one whose layers take the edges themselves."""
    nets = []
    for choice in (conv, PYGS_OWN.get(conv, CONVS[conv].make)):
        torch.manual_seed(7)
        nets.append(GraphNetwork(3, 2, hidden_channels=16, conv=choice))
    return nets[0], nets[1]


def logits_and_gradients(
    net: GraphNetwork, edges: torch.Tensor, weight: torch.Tensor | None, batch: torch.Tensor
) -> list[torch.Tensor]:
    """Logits, and the gradients of a weighted sum of the logits: for signals, weights and parameters."""
    x = signals(len(batch), 3).requires_grad_()
    weight = None if weight is None else weight.clone().requires_grad_()
    logits = net(x, edges, batch, weight, batch_size=4)
    wanted = [x, *net.parameters()] + ([] if weight is None else [weight])
    return [logits, *torch.autograd.grad((logits * signals(4, 2, seed=1)).sum(), wanted)]


def unusual_batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Edges and batch of two rings, a graph without edges and a node alone."""
    none = torch.empty(2, 0, dtype=torch.long)
    return disjoint_union([ring(5), none, none, ring(6)], [5, 3, 1, 6])


DIRECTED = torch.tensor([[0, 2, 2, 7, 9, 9, 4], [1, 0, 0, 8, 9, 10, 12]])  # with a duplicate and a self-loop


@pytest.mark.parametrize(("conv", "weighted"), [("gcn", False), ("gcn", True), ("sage", False)])
@pytest.mark.parametrize("directed", [False, True])
def test_prepared_edges_give_the_same_logits_and_gradients(conv: str, weighted: bool, directed: bool) -> None:
    net, plain = pair_of_networks(conv)
    edges, batch = unusual_batch()
    edges = DIRECTED if directed else edges
    weight = 0.5 + signals(edges.size(1), 1).abs().squeeze() if weighted else None
    for one, other in zip(
        logits_and_gradients(net, edges, weight, batch), logits_and_gradients(plain, edges, weight, batch), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_preparing_the_edges_does_not_change_the_initial_weights(conv: str) -> None:
    one, other = (net.state_dict() for net in pair_of_networks(conv))
    assert list(one) == list(other)
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_gcn_normalises_once_for_all_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch_geometric.nn.conv import gcn_conv

    calls, original = [], gcn_conv.gcn_norm
    monkeypatch.setattr(gcn_conv, "gcn_norm", lambda *a, **k: calls.append(1) or original(*a, **k))
    for net, expected in zip(pair_of_networks("gcn"), (1, 4), strict=True):
        calls.clear()
        net(signals(5, 3), ring(5))
        assert len(calls) == expected


def test_sage_takes_an_adjacency_for_the_edges() -> None:
    net, plain = pair_of_networks("sage")
    edges, batch = unusual_batch()
    for some in (edges, edges[:, :0]):
        ones = torch.ones(some.size(1), dtype=torch.float32)  # as batches have it; the network is in double precision
        adjacency = torch.sparse_coo_tensor(some, ones, (15, 15)).to_sparse_csr()
        for one, other in zip(
            logits_and_gradients(net, adjacency, None, batch),
            logits_and_gradients(plain, some, None, batch),
            strict=True,
        ):
            torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_batches_pass_the_adjacency_to_networks_that_are_faster_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_default_dtype(torch.float32)  # as graphs are stored
    attributes = signals(5, 3).float().numpy()
    batch = GraphSet.from_edges(np.array([4, 1]), ring(4).numpy(), attributes=attributes).batch()
    taken = []
    original = GraphNetwork.graph_embedding
    monkeypatch.setattr(
        GraphNetwork,
        "graph_embedding",
        lambda self, x, e, *a, **k: taken.append(e.layout) or original(self, x, e, *a, **k),
    )
    for conv, pooling in (("sage", None), ("sage", "topk"), ("gin", None)):
        net = GraphNetwork(3, 2, conv=conv, pooling=pooling)
        expected = original(net, batch.x, batch.edge_index, batch.batch)
        torch.testing.assert_close(embedding_of(net, batch), expected)
    assert taken == [torch.sparse_csr, torch.strided, torch.strided]


@pytest.mark.parametrize("conv", PLAIN_CONVS)
@pytest.mark.parametrize("budget", [16_500, 65_800])
def test_the_width_is_the_nearest_to_the_budget(conv: str, budget: int) -> None:
    best = width_for_budget(conv, budget)
    assert best.parameters == layer_parameters(conv, best.channels)
    for channels in range(max(1, best.channels - 20), best.channels + 21):
        try:
            parameters = layer_parameters(conv, channels)
        except ValueError:
            continue
        assert abs(parameters - budget) >= abs(best.parameters - budget)


def test_budget_errors_are_named() -> None:
    with refused(ValueError, budget=0):
        width_for_budget("gcn", 0)
    with refused(ValueError, "up to 5", "'gat'"):
        width_for_budget("gat", 5)
    with refused(ValueError, "convolution", "'chebb'", "'cheb'"):
        width_for_budget("chebb", 5)
    with refused(ValueError, "basis", "'chebishev'"):
        width_for_budget("bank", 2000, basis="chebishev")
    for heads in (0, 2.5):
        with refused(ValueError, heads=heads):
            width_for_budget("gat", 2000, heads=heads)
    with refused(ValueError, heads=0):
        layer_parameters("gat", 64, heads=0)


def test_the_width_is_a_multiple_of_the_subspaces_even_if_one_channel_is_nearer_to_the_budget() -> None:
    assert width_for_budget("bank", 40) == (8, 8 * 8 + 8 + 8 * 3)


def test_the_mlp_ignores_the_edges() -> None:
    conv, x = CONVS["mlp"](3, 4), signals(5, 3)
    assert torch.equal(conv(x, ring(5)), conv(x, torch.empty(2, 0, dtype=torch.long)))


def test_oracle_and_laplacian_agree_on_the_ring() -> None:
    edges = [tuple(pair) for pair in ring(6).T.tolist()]
    lap = oracles.laplacian(oracles.adjacency(6, edges, [1.0] * len(edges)))
    np.testing.assert_allclose(lap, np.eye(6) - ring_neighbours(np.eye(6)) / 2)


@pytest.mark.parametrize("conv", CONVS)
def test_options_are_the_arguments_of_the_factory_with_their_defaults(conv: str) -> None:
    spec = CONVS[conv]
    factory = BankConv if conv == "bank" else spec.make  # the row of the filter bank loads its layer when it makes one
    parameters = list(inspect.signature(factory).parameters.values())[2:]
    given = {parameter.name: parameter.default for parameter in parameters}
    assert (given.pop("edge_dim", 0) is None) == spec.takes_features  # which a network knows
    given.pop("edges", None)
    assert given == spec.defaults
    for name, option in spec.options.items():
        option.check(name, option.default)
        assert isinstance(option.default, option.kind)
        assert option.help.endswith((".", ":"))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_layer_of_a_gcn_network_alone_is_pygs(weighted: bool) -> None:
    layer, x = GraphNetwork(3, 2, conv="gcn").convs[0], signals(6, 3)
    plain = GCNConv(3, 64)
    plain.load_state_dict(layer.state_dict())
    assert isinstance(layer, GCNConv)
    assert [name for name, _ in layer.named_parameters()] == [name for name, _ in plain.named_parameters()]
    weight = torch.arange(1.0, 7).repeat(2) if weighted else None
    assert torch.equal(layer(x, ring(6), weight), plain(x, ring(6), weight))
    assert torch.equal(layer(x, layer.prepare_edges(x, ring(6), weight)), plain(x, ring(6), weight))


@pytest.mark.parametrize(
    "copy_of", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))], ids=["copy", "pickle"]
)
def test_a_gcn_network_can_be_copied_and_its_hooks_fire(copy_of: Callable[[GraphNetwork], GraphNetwork]) -> None:
    net = GraphNetwork(3, 2, conv="gcn")
    other, shapes = copy_of(net), []
    for layer in other.convs:
        layer.register_forward_hook(lambda module, inputs, output: shapes.append(tuple(output.shape)))
    assert torch.equal(other(signals(5, 3), ring(5)), net(signals(5, 3), ring(5)))
    assert shapes == [(5, 64)] * 4


@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_without_pyg_a_baseline_says_what_to_install(monkeypatch: pytest.MonkeyPatch, conv: str) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    spec = CONVS[conv]
    for use in (spec.check_available, lambda: spec(8, 8), lambda: GraphNetwork(3, 2, hidden_channels=8, conv=conv)):
        if not spec.needs_pyg:
            use()
            continue
        with refused(ImportError, spec.label, "pip install 'bankgcn[pyg]'"):
            use()
