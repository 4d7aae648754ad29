"""Which networks graphs can go through as a whole."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from bankgcn.kernels import use_kernels
from bankgcn.nn import BankConv, BankGCN, GraphNetwork
from bankgcn.nn.whole import whole


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
def test_filter_banks_with_linear_projections(net: GraphNetwork) -> None:
    assert whole(net) is not None
    with use_kernels(False):
        assert whole(net) is None


@pytest.mark.parametrize(
    "net",
    [
        GraphNetwork(3, 2, conv="gcn"),
        BankGCN(3, 2, projection="mlp"),
        BankGCN(3, 2, pooling="topk"),
        BankGCN(3, 2, readout="mean_max_sum"),
        BankGCN(3, 2, encoder=nn.Linear(7, 3)),
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
        "lazy",
        "half precision",
        "subclass",
        "hook",
        "mixed",
        "parametrised",
    ],
)
def test_anything_else_goes_layer_by_layer(net: GraphNetwork) -> None:
    assert whole(net) is None


def test_the_parameters_are_looked_up_when_they_are_needed() -> None:
    from bankgcn.data.builtin.generated import smooth_or_alternating

    torch.set_default_dtype(torch.float32)
    net, batch = BankGCN(1, 2, hidden_channels=8, num_layers=2), smooth_or_alternating(3).batch()
    passes = whole(net)
    before = passes.embedding(batch.arrays)
    with torch.no_grad():
        net.convs[0].project.weight.mul_(2)
    after = passes.embedding(batch.arrays)
    assert not torch.equal(before, after)
    torch.testing.assert_close(after, net.graph_embedding(batch.x, batch.shift, batch.batch).detach())
