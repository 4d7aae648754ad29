"""Which networks can be lowered to a program."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.kernels import use_kernels
from bankgcn.nn import CONVS, PLAIN_CONVS, AtomEncoder, BankConv, BankGCN, GraphNetwork
from bankgcn.nn.layers import FeedForward
from bankgcn.nn.lowering import lower, run_embedding


class Doubled(BankGCN):
    """A network with another forward pass."""

    def graph_embedding(self, *arguments, **options):
        return 2 * super().graph_embedding(*arguments, **options)


def hooked() -> BankGCN:
    net = BankGCN(3, 2)
    net.convs[1].register_forward_hook(lambda *_: None)
    return net


def overridden() -> BankGCN:
    net = BankGCN(3, 2)
    net.convs[1].forward = lambda x, edges: torch.zeros(len(x), 64)
    return net


def normalised() -> BankGCN:
    net = BankGCN(3, 2)
    nn.utils.parametrizations.weight_norm(net.convs[0].project)
    return net


def other_epsilon() -> BankGCN:
    net = BankGCN(3, 2, norm="layer")
    net.norms[2].eps = 1e-3
    return net


def other_epsilon_after_a_block() -> BankGCN:
    net = BankGCN(3, 2, norm="layer", feed_forward=1)
    net.feed_forward_norms[2].eps = 1e-3
    return net


def replaced(conv: nn.Module) -> GraphNetwork:
    net = GraphNetwork(3, 2)
    net.convs[1] = conv
    return net


class Halved(nn.Linear):
    """A linear layer with another forward pass."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) / 2


class Doubling(FeedForward):
    """A feed-forward block with another forward pass."""

    def forward(self, h: torch.Tensor, dropout: object = None) -> torch.Tensor:
        return 2 * super().forward(h)


def with_part(net: GraphNetwork, path: str, module: nn.Module) -> GraphNetwork:
    net.set_submodule(path, module)
    return net


def shared() -> BankGCN:
    net = BankGCN(3, 2)
    net.convs[2] = net.convs[1]
    return net


def pyg(name: str, *arguments, **options) -> GraphNetwork:
    """A network of PyG's layers with settings of their own."""
    import torch_geometric.nn as layers

    return GraphNetwork(64, 2, 64, 2, conv=lambda *_: getattr(layers, name)(*arguments, **options))


@pytest.mark.parametrize(
    "net",
    [
        *(GraphNetwork(3, 2, conv=conv) for conv in PLAIN_CONVS),
        BankGCN(3, 2),
        BankGCN(3, 2, basis="jacobi", bias=False),
        BankGCN(1, 2),
        BankGCN(3, 2, projection="mlp"),
        BankGCN(3, 2, readout="mean_max_sum"),
        BankGCN(3, 2, norm="layer", normalize="after"),
        BankGCN(3, 2, norm="graph"),
        BankGCN(3, 2, residual=True, dropout=0.1, head="mlp"),
        *(GraphNetwork(3, 2, conv=conv, feed_forward=2) for conv in PLAIN_CONVS),
        BankGCN(3, 2, feed_forward=1, norm="graph", residual=True, dropout=0.1),
        BankGCN(64, 2, encoder=AtomEncoder([3, 5], 64)),
        replaced(BankConv(64, 64, order=3, basis="legendre")),
        replaced(CONVS["cheb"](64, 64)),
        pyg("SAGEConv", 64, 64),
        pyg("SAGEConv", 64, 64, bias=False),
        pyg("GATConv", 64, 16, heads=4),
    ],
    ids=lambda net: type(net.convs[1]).__name__,
)
def test_networks_of_the_known_layers_are_lowered(net: GraphNetwork) -> None:
    assert lower(net) is not None
    assert lower(net, "cross_entropy") is not None
    with use_kernels(False):
        assert lower(net) is None


@pytest.mark.parametrize(
    "net",
    [
        BankGCN(3, 2, pooling="topk"),
        BankGCN(3, 2, encoder=nn.Linear(7, 3)),
        BankGCN(3, 2, norm="batch"),
        other_epsilon(),
        other_epsilon_after_a_block(),
        BankGCN(-1, 2),
        BankGCN(3, 2).half(),
        Doubled(3, 2),
        hooked(),
        overridden(),
        normalised(),
        shared(),
        replaced(CONVS["gcn"](64, 64)),
        pyg("SAGEConv", 64, 64, aggr="max"),
        pyg("SAGEConv", 64, 64, normalize=True),
        pyg("GINConv", nn.Linear(64, 64)),
        pyg("GINConv", nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)), train_eps=True),
        pyg("GATConv", 64, 64, heads=2, concat=False),
        pyg("GATConv", 64, 8, heads=8, dropout=0.5),
        pyg("GATConv", 64, 16, heads=4, add_self_loops=False),
        pyg("ChebConv", 64, 64, K=2, normalization="rw"),
        pyg("GraphConv", 64, 64),
    ],
    ids=[
        "pooling", "encoder", "batch norm", "epsilon", "epsilon of a block", "lazy", "half precision", "subclass",
        "hook", "other forward", "parametrised", "shared weights", "two operators", "SAGE of maxima", "SAGE with l2",
        "GIN of one layer", "GIN with eps", "GAT of means", "GAT with dropout", "GAT without loops",
        "Cheb of the random walk", "unknown layer",
    ],
)  # fmt: skip
def test_other_networks_are_not_lowered(net: GraphNetwork) -> None:
    assert lower(net) is None


@pytest.mark.parametrize(
    "net",
    [
        with_part(BankGCN(3, 2), "predict", Halved(512, 2)),
        with_part(BankGCN(3, 2, head="mlp"), "head", Halved(512, 64)),
        with_part(BankGCN(3, 2, residual=True), "residual", Halved(3, 64, bias=False)),
        with_part(BankGCN(3, 2, residual=True), "residual", nn.Sequential(nn.Linear(3, 64))),
        with_part(BankGCN(3, 2, feed_forward=1), "feed_forwards.1", Doubling(64, 64)),
        with_part(BankGCN(3, 2, feed_forward=1), "feed_forwards.1.hidden", Halved(64, 64)),
        with_part(BankGCN(3, 2, feed_forward=1), "feed_forwards.1.output", Halved(64, 64)),
        with_part(BankGCN(3, 2), "convs.1.project", Halved(64, 64)),
        with_part(BankGCN(3, 2, projection="mlp"), "convs.1.project.2", Halved(64, 64)),
        with_part(GraphNetwork(3, 2, conv="gcn"), "convs.1.lin", Halved(64, 64, bias=False)),
        with_part(GraphNetwork(3, 2, conv="gcn"), "convs.1.lin", nn.Sequential(nn.Linear(64, 64, bias=False))),
        with_part(GraphNetwork(3, 2, conv="sage"), "convs.1.lin_l", Halved(64, 64)),
        with_part(GraphNetwork(3, 2, conv="sage"), "convs.1.lin_r", Halved(64, 64, bias=False)),
        with_part(GraphNetwork(3, 2, conv="gin"), "convs.1.nn.0", Halved(64, 64)),
        with_part(GraphNetwork(3, 2, conv="gat"), "convs.1.lin", Halved(64, 64, bias=False)),
        with_part(GraphNetwork(3, 2, conv="cheb"), "convs.1.lins.1", Halved(64, 64, bias=False)),
    ],
)
def test_networks_with_other_linear_layers_are_not_lowered(net: GraphNetwork) -> None:
    assert lower(net) is None
    assert lower(net, "cross_entropy") is None


@pytest.mark.parametrize(
    "part", ["predict", "head", "residual", "convs.1.lin", "norms.1", "feed_forwards.1.output", "feed_forward_norms.1"]
)
def test_parametrised_parts_are_not_lowered(part: str) -> None:
    net = GraphNetwork(3, 2, conv="gcn", residual=True, head="mlp", norm="layer", feed_forward=1)
    assert lower(net) is not None
    nn.utils.parametrize.register_parametrization(net.get_submodule(part), "weight", nn.Tanh())
    assert lower(net) is None


def test_an_eps_of_gin_that_is_not_learned_is_part_of_the_operator() -> None:
    mlps = (nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)) for _ in range(2))
    from torch_geometric.nn import GINConv

    net = GraphNetwork(64, 2, 64, 2, conv=lambda *_: GINConv(next(mlps), eps=0.25))
    assert lower(net).operator == ("sum", 1.25, ())


def test_a_program_uses_the_parameters_of_the_moment() -> None:
    torch.set_default_dtype(torch.float32)
    net, batch = BankGCN(1, 2, hidden_channels=8, num_layers=2), smooth_or_alternating(3).batch()
    program = lower(net)
    graphs = batch.collate(program.operator)
    before = run_embedding(program, net, graphs)
    with torch.no_grad():
        net.convs[0].project.weight.mul_(2)
    after = run_embedding(program, net, graphs)
    assert not torch.equal(before, after)
    torch.testing.assert_close(after, net.graph_embedding(batch.x, batch.shift, batch.batch).detach())


def test_layers_with_filters_of_different_orders_and_bases_agree_with_the_modules() -> None:
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(0)
    net, batch = BankGCN(1, 2, hidden_channels=8, num_layers=3, num_subspaces=2), smooth_or_alternating(3).batch()
    net.convs[1], net.convs[2] = BankConv(8, 8, 4, 4, basis="bernstein"), BankConv(8, 8, 1, 8, basis="legendre")
    program = lower(net)
    found = run_embedding(program, net, batch.collate(program.operator))
    torch.testing.assert_close(found, net.graph_embedding(batch.x, batch.shift, batch.batch).detach())
