"""How each convolution becomes steps of a program. The layers themselves are the definition.

PyG's layers are recognised by the name of their class, so that nothing here imports PyG.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # numba and PyTorch are loaded when they are first used
    from torch import nn

    from bankgcn.kernels.network.builder import Builder, InputSignal
    from bankgcn.kernels.network.tape import Signal


PYG_LINEAR = "torch_geometric.nn.dense.linear.Linear"


def class_name(module: nn.Module) -> str:
    """Module and name of the class."""
    return f"{type(module).__module__}.{type(module).__qualname__}"


@dataclass(frozen=True)
class Lowering:
    """How a layer is lowered.

    Args:
        layer: Module and name of its class.
        operator: Kind and loop of the operator that the layer multiplies by (see
            :class:`bankgcn.kernels.network.program.Operator`); ``None`` if the layer has settings that the executor
            does not support.
        steps: Adds the layer to a program, and returns its result.
        one_hop: Whether the result depends on no more than the neighbours of a node, each by its weight, so that as a
            first layer it may compute with kinds of nodes (:mod:`bankgcn.kernels.network.kinds`).
    """

    layer: str
    operator: Callable[[Any], tuple[str, float] | None]
    steps: Callable[[Builder, Any, Signal | InputSignal], Signal]
    one_hop: bool = False


def _bank_steps(builder: Builder, conv: Any, x: Signal | InputSignal) -> Signal:
    from torch import nn

    first, *rest = [conv.project] if isinstance(conv.project, nn.Linear) else [conv.project[0], conv.project[2]]
    r = builder.linear(x, first.weight, first.bias)
    for linear in rest:
        r = builder.linear(builder.relu(r), linear.weight, linear.bias)
    return builder.filter_bank(r, conv.alpha, conv.chebyshev_coefficients.numpy(), conv.shortcut)


def _gcn_steps(builder: Builder, conv: Any, x: Signal | InputSignal) -> Signal:
    return builder.propagate(builder.linear(x, conv.lin.weight), conv.bias)


def _sage_steps(builder: Builder, conv: Any, x: Signal | InputSignal) -> Signal:
    own = builder.linear(x, conv.lin_r.weight)
    return builder.propagate(builder.linear(x, conv.lin_l.weight), conv.lin_l.bias, plus=own)


def _gin_steps(builder: Builder, conv: Any, x: Signal | InputSignal) -> Signal:
    first, _, second = conv.nn
    u = builder.propagate(builder.linear(x, first.weight), first.bias)  # P (X W) = (P X) W
    return builder.linear(builder.relu(u), second.weight, second.bias)


def _gat_steps(builder: Builder, conv: Any, x: Signal | InputSignal) -> Signal:
    import numpy as np

    column = np.arange(conv.heads * conv.out_channels)
    # Channel by channel, all heads of a channel side by side: see bankgcn.kernels.ops.attention.
    places = column % conv.out_channels * conv.heads + column // conv.out_channels
    r = builder.linear(x, conv.lin.weight, columns=places)
    return builder.attend(r, conv.att_src, conv.att_dst, conv.bias, conv.heads)


def _cheb_steps(builder: Builder, conv: Any, x: Signal | InputSignal) -> Signal:
    if len(conv.lins) == 1:
        return builder.linear(x, conv.lins[0].weight, conv.bias)
    r = [builder.linear(x, linear.weight) for linear in conv.lins]
    following, after = r[-1], None  # Clenshaw's recurrence: b_k = r_k + 2 P b_{k+1} - b_{k+2}
    for term in reversed(r[1:-1]):
        following, after = builder.propagate(following, factor=2, plus=term, minus=after), following
    return builder.propagate(following, conv.bias, plus=r[0], minus=after)


def _mlp_steps(builder: Builder, conv: Any, x: Signal | InputSignal) -> Signal:
    return builder.linear(x, conv.weight, conv.bias)


def _bank_operator(conv: Any) -> tuple[str, float] | None:
    from torch import nn

    project = conv.project
    linear = type(project) is nn.Linear or _is_mlp(project)
    return ("laplacian", 0.0) if linear and conv.in_channels != -1 else None


def _gcn_operator(conv: Any) -> tuple[str, float] | None:
    return ("renormalized", 0.0) if _are_linear(conv.lin) else None


def _sage_operator(conv: Any) -> tuple[str, float] | None:
    plain = (conv.aggr, conv.normalize, conv.project, conv.root_weight) == ("mean", False, False, True)
    return ("mean", 0.0) if plain and _are_linear(conv.lin_l, conv.lin_r) else None


def _gin_operator(conv: Any) -> tuple[str, float] | None:
    from torch import nn

    if conv.aggr != "add" or isinstance(conv.eps, nn.Parameter) or not _is_mlp(conv.nn):
        return None
    return ("sum", 1 + conv.eps.item())


def _gat_operator(conv: Any) -> tuple[str, float] | None:
    settings = (conv.concat, conv.negative_slope, conv.dropout, conv.add_self_loops, conv.edge_dim)
    power_of_two = conv.heads & (conv.heads - 1) == 0 and conv.heads <= 32
    plain = settings == (True, 0.2, 0.0, True, None) and _are_linear(conv.lin) and conv.res is None
    return ("sum", 1.0) if plain and power_of_two else None


def _cheb_operator(conv: Any) -> tuple[str, float] | None:
    return ("laplacian", 0.0) if conv.normalization == "sym" and _are_linear(*conv.lins) else None


def _are_linear(*modules: nn.Module | None) -> bool:
    """Whether all are PyG's linear layers; a subclass may compute something else."""
    return all(module is not None and class_name(module) == PYG_LINEAR for module in modules)


def _is_mlp(module: nn.Module) -> bool:
    """Whether a module is two linear layers with a ReLU between."""
    from torch import nn

    return type(module) is nn.Sequential and [type(part) for part in module] == [nn.Linear, nn.ReLU, nn.Linear]


BANK = Lowering("bankgcn.nn.bank_conv.BankConv", _bank_operator, _bank_steps)
GCN = Lowering("bankgcn.nn.gcn_conv.GCNConv", _gcn_operator, _gcn_steps, one_hop=True)
SAGE = Lowering("torch_geometric.nn.conv.sage_conv.SAGEConv", _sage_operator, _sage_steps, one_hop=True)
GIN = Lowering("torch_geometric.nn.conv.gin_conv.GINConv", _gin_operator, _gin_steps, one_hop=True)
GAT = Lowering("torch_geometric.nn.conv.gat_conv.GATConv", _gat_operator, _gat_steps)
CHEB = Lowering("torch_geometric.nn.conv.cheb_conv.ChebConv", _cheb_operator, _cheb_steps)
MLP = Lowering("bankgcn.nn.nodewise.NodewiseLinear", lambda conv: ("sum", 0.0), _mlp_steps, one_hop=True)
