"""The plain layer of the benchmark is the layer of the package."""

from __future__ import annotations

import torch

from bankgcn import BankConv
from edge_features import plain_edge_conv
from strategies import ring


def test_the_plain_layer_is_bank_conv() -> None:
    torch.manual_seed(0)
    plain, conv = plain_edge_conv(3, 64, 2), BankConv(3, 64, order=2, num_subspaces=8, edge_dim=2)
    for mine, theirs in ((conv.project, plain.lin), (conv.weigh_edges, plain.gate)):
        torch.nn.init.normal_(theirs.weight)
        mine.load_state_dict(theirs.state_dict())
    conv.alpha.data.copy_(plain.alpha)
    x, features = torch.randn(6, 3), torch.randn(6, 2).repeat(2, 1)
    torch.testing.assert_close(conv(x, ring(6), edge_attr=features), plain(x, ring(6), features))
