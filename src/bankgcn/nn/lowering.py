"""Lowers a network to a program: from torch modules to what the compiled executor runs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from bankgcn.kernels import fused_for
from bankgcn.nn.activation import NORMS, GraphNorm
from bankgcn.nn.convs import CONVS, Lowering, OperatorFields, class_name, lambda_max_hook
from bankgcn.nn.layers import AtomEncoder, FeedForward
from bankgcn.nn.network import BankGCN, GraphNetwork, feed_forward_stream

if TYPE_CHECKING:  # numba is loaded when a kernel is first used
    from bankgcn.kernels.network.builder import Builder, InputSignal
    from bankgcn.kernels.network.collate import CollatedGraphs
    from bankgcn.kernels.network.program import Program
    from bankgcn.kernels.network.tape import Signal

EPSILON = 1e-5  # of the normalisations, which the executor has as a constant
LOWERINGS: dict[str, Lowering] = {row.lowering.layer: row.lowering for row in CONVS.values() if row.lowering}


def lower(net: GraphNetwork, loss: str | None = None, *, by_kinds: bool = False) -> Program | None:
    """The program of a network; ``None`` if the executor does not support it or kernels are switched off.

    Supported are all convolutions of :data:`~bankgcn.nn.CONVS` with a lowering and any options, without pooling, batch
    normalisation, encoders other than :class:`AtomEncoder` (and that one without sums over edges), hooks and replaced
    ``forward`` methods, which would not be called, and parts that are of another class than those that the network
    makes. GAT takes features of edges by autograd alone, and so does a filter bank whose number of subspaces is not a
    power of two up to 32.

    Args:
        net: The network.
        loss: What training minimises, a name in :data:`bankgcn.tasks.LOSSES`; without it the program ends with the
            representations of the graphs, as in evaluation mode.
        by_kinds: Whether training may compute with kinds of nodes; see :mod:`bankgcn.kernels.network.kinds`.
    """
    parameters = list(net.parameters())
    if type(net) not in (GraphNetwork, BankGCN) or net.pools or _is_changed(net):
        return None
    if type(net.encoder) not in (AtomEncoder, type(None)) or any(map(is_lazy, parameters)):
        return None
    if any(type(block) is not FeedForward for block in net.feed_forwards):
        return None
    of_blocks = [linear for block in net.feed_forwards for linear in (block.hidden, block.output)]
    linears = (net.residual, net.head, net.predict, *of_blocks)
    if any(type(linear) is not nn.Linear for linear in linears if linear is not None):
        return None
    norms = (*net.norms, *net.feed_forward_norms)
    if any(type(norm) not in (nn.LayerNorm, GraphNorm) or norm.eps != EPSILON for norm in norms):
        return None
    if not fused_for(*parameters) or len({parameter.dtype for parameter in parameters}) > 1:
        return None
    names = [class_name(conv) for conv in net.convs]
    if not all(name in LOWERINGS for name in names):
        return None
    rows = [LOWERINGS[name] for name in names]
    operators = {row.operator(conv) for row, conv in zip(rows, net.convs, strict=True)}
    operator = operators.pop()
    if operator is None or operators or (net.sums_edges and net.encoder is not None):
        return None
    return _program(net, rows, operator, loss, by_kinds and rows[0].one_hop)


def _program(
    net: GraphNetwork, rows: list[Lowering], fields: OperatorFields, loss: str | None, by_kinds: bool
) -> Program | None:
    from bankgcn.kernels.network.builder import Builder
    from bankgcn.kernels.network.program import Operator
    from bankgcn.kernels.network.tape import Unsupported

    shapes: dict[Hashable, tuple[int, ...]] = {parameter: tuple(parameter.shape) for parameter in net.parameters()}
    dtype = np.dtype(str(net.predict.weight.dtype).removeprefix("torch."))
    operator = Operator(*fields)
    operator = operator._replace(edges=operator.edges + net.sums_edges * ("input",))
    builder = Builder(shapes, dtype, operator, loss, by_kinds)
    try:
        return builder.finish(_steps(builder, net, rows))
    except Unsupported:
        return None


def _steps(builder: Builder, net: GraphNetwork, rows: list[Lowering]) -> Signal:
    """Add the steps of a network, as its ``forward``; return its outputs."""
    num_layers = len(net.convs)
    x: Signal | InputSignal
    if isinstance(net.encoder, AtomEncoder):
        x = builder.look_up(net.encoder.table.weight, net.encoder.num_values)
    else:
        x = builder.input()
    before: Signal | None = None  # what the residual of the next layer adds
    for layer, (row, conv) in enumerate(zip(rows, net.convs, strict=True)):
        y = builder.dropout(_activate(builder, net, layer, row.steps(builder, conv, x)), net.dropout, layer)
        if net.residual is not None:
            before = builder.linear(x, net.residual.weight, columns=y.columns) if before is None else before
            y = builder.add(y, before)
        if net.feed_forwards:
            y = _feed_forward(builder, net, layer, y)
        before = x = y
        size = 1 if net.typical_size is None else int(net.typical_size)
        builder.read_out(x, net.readout, layer, num_layers, size)
    z = builder.dropout(builder.embedding(), net.dropout, num_layers)
    features = net.graph_dim
    if net.head is not None:
        hidden = builder.relu(builder.linear(z, net.head.weight, net.head.bias, graph_features=features))
        z, features = builder.dropout(hidden, net.dropout, num_layers + 1), 0
    return builder.linear(z, net.predict.weight, net.predict.bias, padding="narrow", graph_features=features)


def _activate(builder: Builder, net: GraphNetwork, layer: int, h: Signal) -> Signal:
    """Normalisation and ReLU, as :data:`bankgcn.nn.activation.ACTIVATIONS` orders them."""
    if net.normalize == "none":
        return builder.relu(h)
    if net.normalize == "after":
        return _normalize(builder, net, net.norms, layer, builder.relu(h))
    if net.norm == "l2":
        return builder.l2_normalize(h, relu=True)
    return builder.relu(_normalize(builder, net, net.norms, layer, h))


def _feed_forward(builder: Builder, net: GraphNetwork, layer: int, h: Signal) -> Signal:
    """The block after a layer, and its normalisation, which stands before it or after it."""
    block, ends_block = cast(FeedForward, net.feed_forwards[layer]), NORMS[net.norm].ends_block
    x = h if ends_block else _normalize(builder, net, net.feed_forward_norms, layer, h)
    hidden = builder.relu(builder.linear(x, block.hidden.weight, block.hidden.bias))
    hidden = builder.dropout(hidden, net.dropout, feed_forward_stream(layer, len(net.convs)))
    h = builder.add(h, builder.linear(hidden, block.output.weight, block.output.bias, columns=h.columns))
    return _normalize(builder, net, net.feed_forward_norms, layer, h) if ends_block else h


def _normalize(builder: Builder, net: GraphNetwork, modules: nn.ModuleList, layer: int, x: Signal) -> Signal:
    """The network's kind of normalisation, by the module of a layer if there is something to learn."""
    if net.norm == "none":
        return x
    if net.norm == "l2":
        return builder.l2_normalize(x)
    norm = modules[layer]
    if isinstance(norm, GraphNorm):
        return builder.graph_norm(x, norm.weight, norm.bias, norm.mean_scale)
    return builder.layer_norm(x, norm.weight, norm.bias)


def run_embedding(program: Program, net: GraphNetwork, graphs: CollatedGraphs) -> Tensor:
    r"""The representation :math:`h_{\mathcal G}` of every graph, computed by the program without autograd."""
    from bankgcn.kernels.network.executor import readouts

    theta = torch.cat([parameter.detach().reshape(-1) for parameter in net.parameters()])
    return torch.from_numpy(readouts(graphs, program, theta.numpy(), threads=torch.get_num_threads()))


def _is_changed(net: nn.Module) -> bool:
    """Whether a user has added a hook to a module, or replaced its ``forward`` method."""
    return any(
        module._forward_hooks
        or any(hook is not lambda_max_hook for hook in module._forward_pre_hooks.values())
        or module._backward_hooks
        or module._backward_pre_hooks
        or "forward" in vars(module)
        for module in net.modules()
    )
