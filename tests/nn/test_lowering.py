"""Which networks can be lowered to a program."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from bankgcn.kernels import use_kernels
from bankgcn.nn import BankConv, BankGCN, GraphNetwork
from bankgcn.nn.lowering import lower, run_embedding


class Doubled(BankGCN):
    """A network with another forward pass."""

    def graph_embedding(self, *arguments, **options):
        return 2 * super().graph_embedding(*arguments, **options)


def hooked() -> BankGCN:
    net = BankGCN(3, 2)
    net.convs[1].register_forward_hook(lambda *_: None)
    return net


def replaced() -> BankGCN:
    net = BankGCN(3, 2)
    net.convs[1] = BankConv(64, 64, order=3)
    return net


def normalised() -> BankGCN:
    net = BankGCN(3, 2)
    nn.utils.parametrizations.weight_norm(net.convs[0].project)
    return net


@pytest.mark.parametrize(
    "net",
    [BankGCN(3, 2), GraphNetwork(3, 2), BankGCN(3, 2, basis="jacobi", bias=False), BankGCN(1, 2)],
    ids=["bank", "generic", "other basis", "one channel"],
)
def test_filter_banks_with_linear_projections_are_lowered(net: GraphNetwork) -> None:
    assert lower(net) is not None
    with use_kernels(False):
        assert lower(net) is None


@pytest.mark.parametrize(
    "net",
    [
        GraphNetwork(3, 2, conv="gcn"),
        BankGCN(3, 2, projection="mlp"),
        BankGCN(3, 2, pooling="topk"),
        BankGCN(3, 2, readout="mean_max_sum"),
        BankGCN(3, 2, encoder=nn.Linear(7, 3)),
        BankGCN(3, 2, norm="layer"),
        BankGCN(3, 2, norm="graph"),
        BankGCN(3, 2, norm="batch"),
        BankGCN(3, 2, residual=True),
        BankGCN(3, 2, dropout=0.1),
        BankGCN(3, 2, head="mlp"),
        BankGCN(-1, 2),
        BankGCN(3, 2).half(),
        Doubled(3, 2),
        hooked(),
        replaced(),
        normalised(),
    ],
    ids=[
        "baseline",
        "mlp",
        "pooling",
        "sum",
        "encoder",
        "layer norm",
        "graph norm",
        "batch norm",
        "residual",
        "dropout",
        "hidden layer in the head",
        "lazy",
        "half precision",
        "subclass",
        "hook",
        "mixed",
        "parametrised",
    ],
)
def test_other_networks_are_not_lowered(net: GraphNetwork) -> None:
    assert lower(net) is None


def test_a_program_uses_the_parameters_of_the_moment() -> None:
    from bankgcn.data.builtin.generated import smooth_or_alternating

    torch.set_default_dtype(torch.float32)
    net, batch = BankGCN(1, 2, hidden_channels=8, num_layers=2), smooth_or_alternating(3).batch()
    program = lower(net)
    before = run_embedding(program, net, batch.collated)
    with torch.no_grad():
        net.convs[0].project.weight.mul_(2)
    after = run_embedding(program, net, batch.collated)
    assert not torch.equal(before, after)
    torch.testing.assert_close(after, net.graph_embedding(batch.x, batch.shift, batch.batch).detach())
