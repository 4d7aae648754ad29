"""Lowers a network to a program: from torch modules to what the compiled executor runs."""

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

if TYPE_CHECKING:  # numba is loaded when a kernel is first used
    from bankgcn.kernels.network.collate import CollatedGraphs
    from bankgcn.kernels.network.program import Program


def lower(net: GraphNetwork) -> Program | None:
    """The program of a network; ``None`` if the executor does not support it or kernels are switched off.

    Supported are filter banks with a linear projection, without pooling, encoder, dropout, or hooks (which would not be
    called), and without parameters of a normalisation, of residuals or of a hidden layer in the head.
    """
    if net.dropout:
        return None
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
    return _program(net)


def run_embedding(program: Program, net: GraphNetwork, graphs: CollatedGraphs) -> Tensor:
    r"""The representation :math:`h_{\mathcal G}` of every graph, computed by the program without autograd."""
    from bankgcn.kernels.network.executor import readouts

    theta = torch.cat([parameter.detach().reshape(-1) for parameter in net.parameters()])
    return torch.from_numpy(readouts(graphs, program, theta.numpy()))


def _has_hooks(net: nn.Module) -> bool:
    return any(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
        for module in net.modules()
    )


def _program(net: GraphNetwork) -> Program:
    from bankgcn.kernels.network.program import NetworkShape, Program
    from bankgcn.kernels.ops.graph_activation import NORMALIZE_MODES

    first = cast(BankConv, net.convs[0])
    basis = first.chebyshev_coefficients.to(net.predict.weight.dtype).contiguous().numpy()
    shape = NetworkShape(
        num_layers=len(net.convs),
        order=basis.shape[1] - 1,
        hidden_channels=first.out_channels,
        in_channels=first.in_channels,
        num_classes=net.predict.out_features,
        num_readouts=len(net.readout),
        normalize=NORMALIZE_MODES[net.normalize],
        bias=first.project.bias is not None,
        shortcut=first.shortcut,
    )
    banks, start = [], 0
    for conv in net.convs:
        banks.append((start, conv.num_subspaces))
        start += sum(parameter.numel() for parameter in conv.parameters())  # alpha is the first of them
    return Program(shape, np.array(banks), basis)
