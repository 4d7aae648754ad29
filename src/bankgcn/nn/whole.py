"""A network of filter banks as a whole: graphs go through all of it at once."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from bankgcn.kernels import fused_for
from bankgcn.nn.activation import COMPILED_READOUTS
from bankgcn.nn.bank_conv import BankConv
from bankgcn.nn.network import BankGCN, GraphNetwork

if TYPE_CHECKING:  # the compiler of the passes is loaded when one is first used
    from bankgcn.kernels.network.executor import Graphs, Plan


class WholeNetwork:
    """The passes through a network; make one with :func:`whole`.

    Args:
        net: The network.
        plan: What it is made of.
    """

    def __init__(self, net: GraphNetwork, plan: Plan):
        self.net, self.plan = net, plan

    def embedding(self, graphs: Graphs) -> Tensor:
        r"""The representation :math:`h_{\mathcal G}` of every graph, without a record for a backward pass."""
        from bankgcn.kernels.network.executor import readouts

        theta = torch.cat([parameter.detach().reshape(-1) for parameter in self.net.parameters()])
        return torch.from_numpy(readouts(graphs, self.plan, theta.numpy()))


def whole(net: GraphNetwork) -> WholeNetwork | None:
    """The network as a whole; ``None`` if it has parts that the pass does not know, or fused passes are switched off.

    Known are filter banks with a linear projection, without pooling, an encoder, or hooks that would not be called.
    """
    if type(net) not in (GraphNetwork, BankGCN) or net.encoder is not None or net.pools or _has_hooks(net):
        return None
    if net.readout not in COMPILED_READOUTS or not fused_for(*net.parameters()):
        return None
    expected, kinds = [], set()
    for conv in net.convs:
        if type(conv) is not BankConv or type(conv.project) is not nn.Linear or conv.in_channels == -1:
            return None
        expected += [conv.alpha, *conv.project.parameters()]
        kinds.add((conv.out_channels, conv.order, repr(conv.basis), conv.shortcut, conv.project.bias is None))
    expected += net.predict.parameters()
    given = list(net.parameters())
    in_order = len(given) == len(expected) and all(map(operator.is_, given, expected))
    if len(kinds) > 1 or not in_order or len({parameter.dtype for parameter in given}) > 1:
        return None
    return WholeNetwork(net, _plan(net))


def _has_hooks(net: nn.Module) -> bool:
    return any(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
        for module in net.modules()
    )


def _plan(net: GraphNetwork) -> Plan:
    from bankgcn.kernels.layer.activation import MODES
    from bankgcn.kernels.network.executor import Plan, Shape

    first = cast(BankConv, net.convs[0])
    basis = first.chebyshev_coefficients.to(net.predict.weight.dtype).contiguous().numpy()
    shape = Shape(
        layers=len(net.convs),
        order=basis.shape[1] - 1,
        hidden=first.out_channels,
        inputs=first.in_channels,
        classes=net.predict.out_features,
        parts=len(net.readout),
        mode=MODES[net.normalize],
        bias=first.project.bias is not None,
        shortcut=first.shortcut,
    )
    banks, start = [], 0
    for conv in net.convs:
        banks.append((start, conv.num_subspaces))
        start += sum(parameter.numel() for parameter in conv.parameters())  # alpha is the first of them
    return Plan(shape, np.array(banks), basis)
