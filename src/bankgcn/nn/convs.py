"""The convolutions that a network can be made of, one row each.

The baselines are PyG's own layers, with the settings of the paper's section 5.1. PyTorch and PyG are imported where a
layer is built: the rows alone need neither, and filter banks do not need PyG.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bankgcn.extras import require
from bankgcn.messages import Message, Option
from bankgcn.nn import conv_lowering
from bankgcn.nn.conv_lowering import Lowering
from bankgcn.nn.names import BASIS_NAMES, INITIAL_ALPHA_NAMES, PROJECTIONS
from bankgcn.settings import Setting

if TYPE_CHECKING:  # layers are loaded when one is made
    from torch import nn

ConvFactory = Callable[..., "nn.Module"]


@dataclass(frozen=True, kw_only=True)
class ConvSpec:
    """A convolution. Called like its factory, it makes a layer.

    A layer whose edges can be prepared once for all layers of a network has a method ``prepare_edges``; see
    :meth:`bankgcn.nn.BankConv.prepare_edges`.

    Args:
        label: Name in tables and messages.
        make: Makes a layer from ``(in_channels, out_channels, **options)``.
        options: The keyword arguments of ``make`` that users can set. The defaults are the paper's values.
        divisor: The option whose value must divide the width; empty if any width is possible.
        takes_weights: Whether the layer takes edge weights.
        needs_pyg: Whether the layer needs PyTorch Geometric.
        faster_sparse: Whether the layer takes a sparse adjacency matrix in place of the edges and is faster with it.
        lowering: How the layer becomes part of a program; without it, networks of this layer train by autograd.
    """

    label: str
    make: ConvFactory
    options: Mapping[str, Setting] = field(default_factory=dict)
    divisor: str = ""
    takes_weights: bool = False
    needs_pyg: bool = True
    faster_sparse: bool = False
    lowering: Lowering | None = None

    def __call__(self, in_channels: int, out_channels: int, **options: Any) -> nn.Module:
        """Make a layer."""
        self.check_available()
        return self.make(in_channels, out_channels, **options)

    def check_available(self) -> None:
        """Raise an ``ImportError`` that says what to install, if a library is missing."""
        if self.needs_pyg:
            require("torch_geometric", self.label)

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of each option."""
        return {name: option.default for name, option in self.options.items()}


def bank(in_channels: int, out_channels: int, **options: Any) -> nn.Module:
    """The layer of this package."""
    from bankgcn.nn.bank_conv import BankConv

    return BankConv(in_channels, out_channels, **options)


def mlp(in_channels: int, out_channels: int) -> nn.Module:
    """A linear layer for each node by itself: a baseline without graph structure."""
    from bankgcn.nn.nodewise import NodewiseLinear

    return NodewiseLinear(in_channels, out_channels)


def gcn(in_channels: int, out_channels: int) -> nn.Module:
    """GCN: the renormalised first-order filter."""
    from bankgcn.nn.gcn_conv import GCNConv

    return GCNConv(in_channels, out_channels)


def sage(in_channels: int, out_channels: int) -> nn.Module:
    """GraphSAGE with the mean aggregator."""
    from torch_geometric.nn import SAGEConv

    return SAGEConv(in_channels, out_channels, aggr="mean")


def gin(in_channels: int, out_channels: int) -> nn.Module:
    """GIN: an MLP of two layers, applied to the sum over each neighbourhood."""
    from torch import nn
    from torch_geometric.nn import GINConv

    layers = nn.Sequential(nn.Linear(in_channels, out_channels), nn.ReLU(), nn.Linear(out_channels, out_channels))
    return GINConv(layers)


def gat(in_channels: int, out_channels: int, heads: int = 8) -> nn.Module:
    """GAT; ``out_channels`` is the width of all heads together."""
    from torch_geometric.nn import GATConv

    if heads < 1:
        raise ValueError(Message("{heads}: expected at least 1", heads=Option("heads", heads)))
    if out_channels % heads:
        width = Option("hidden", out_channels, field="out_channels")
        raise ValueError(Message("{width} does not divide into {heads}", width=width, heads=Option("heads", heads)))
    return GATConv(in_channels, out_channels // heads, heads=heads)


def cheb(in_channels: int, out_channels: int, order: int = 2) -> nn.Module:
    """ChebNet of the given order. PyG's ``K`` counts terms: the paper's K = 2 is PyG's ``K=3``."""
    from torch_geometric.nn import ChebConv

    conv = ChebConv(in_channels, out_channels, K=order + 1, normalization="sym")
    conv.register_forward_pre_hook(lambda_max_hook, with_kwargs=True)
    return conv


def lambda_max_hook(conv: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Pass the largest frequency, 2. PyG takes the same value from the Laplacian, but fails if there are no nodes."""
    return args, {"lambda_max": 2.0, **kwargs}


def _option(default: Any, help: str, **metadata: Any) -> Setting:
    return Setting(default=default, help=help, panel="Model", kind=type(default), **metadata)


_ORDER = _option(2, "Order K of the filters: they reach K hops.", at_least=0)
_BANK_OPTIONS = {
    "order": _ORDER,
    "num_subspaces": _option(8, "Number s of filters in a layer.", name="subspaces", at_least=1),
    "basis": _option("chebyshev", "Basis of the polynomial filters:", choices=BASIS_NAMES),
    "projection": _option("linear", "Projection of the signal into the subspaces:", choices=PROJECTIONS),
    "shortcut": _option(True, "Add the projected signal to the filtered one."),
    "bias": _option(True, "Learn a bias in the projection."),
    "initial_alpha": _option("xavier", "Initial coefficients of the filters:", choices=INITIAL_ALPHA_NAMES),
}

CONVS: dict[str, ConvSpec] = {
    "bank": ConvSpec(
        label="BankGCN",
        make=bank,
        options=MappingProxyType(_BANK_OPTIONS),
        divisor="num_subspaces",
        takes_weights=True,
        needs_pyg=False,
        lowering=conv_lowering.BANK,
    ),
    "gcn": ConvSpec(label="GCN", make=gcn, takes_weights=True, lowering=conv_lowering.GCN),
    "sage": ConvSpec(label="GraphSAGE", make=sage, faster_sparse=True, lowering=conv_lowering.SAGE),
    "gin": ConvSpec(label="GIN", make=gin, lowering=conv_lowering.GIN),
    "gat": ConvSpec(
        label="GAT",
        make=gat,
        options={"heads": _option(8, "Number of attention heads in a layer.", at_least=1)},
        divisor="heads",
        lowering=conv_lowering.GAT,
    ),
    "cheb": ConvSpec(
        label="ChebNet", make=cheb, options={"order": _ORDER}, takes_weights=True, lowering=conv_lowering.CHEB
    ),
    "mlp": ConvSpec(  # ignores the weights, too
        label="MLP", make=mlp, takes_weights=True, needs_pyg=False, lowering=conv_lowering.MLP
    ),
}
