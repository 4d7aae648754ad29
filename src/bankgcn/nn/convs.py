"""The convolutions that a network can be made of, one row each, and how each becomes steps of a program.

The baselines are PyG's own layers, with the settings of the paper's section 5.1. PyTorch and PyG are imported where a
layer is built: the rows alone need neither, and filter banks do not need PyG. The layers are the definition; those of
PyG are recognised by the name of their class when a network is lowered to a program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bankgcn.extras import require
from bankgcn.messages import Message, Option
from bankgcn.nn.names import BASIS_NAMES, INITIAL_ALPHA_NAMES, PROJECTIONS
from bankgcn.settings import Setting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

    from bankgcn.kernels.network.builder import Builder, InputSignal
    from bankgcn.kernels.network.tape import Signal


OperatorFields = tuple[str, float, tuple[str, ...]]
PYG_LINEAR = "torch_geometric.nn.dense.linear.Linear"


def class_name(module: nn.Module) -> str:
    """Module and name of the class."""
    return f"{type(module).__module__}.{type(module).__qualname__}"


@dataclass(frozen=True)
class Lowering:
    """How a layer is lowered.

    Args:
        layer: Module and name of its class.
        operator: What the layer multiplies by, the fields of :class:`bankgcn.kernels.network.program.Operator`: kind,
            loop and, if the layer itself uses features of edges, ``("weights",)``; ``None`` if the layer has settings
            that the executor does not support.
        steps: Adds the layer to a program, and returns its result.
        one_hop: Whether the result depends on no more than the neighbours of a node, each by its weight, so that as a
            first layer it may compute with kinds of nodes (:mod:`bankgcn.kernels.network.kinds`).
    """

    layer: str
    operator: Callable[[Any], OperatorFields | None]
    steps: Callable[[Builder, Any, Signal | InputSignal], Signal]
    one_hop: bool = False


def _bank_steps(builder: Builder, conv: Any, x: Signal | InputSignal) -> Signal:
    from torch import nn

    *hidden, last = [conv.project] if isinstance(conv.project, nn.Linear) else [conv.project[0], conv.project[2]]
    for linear in hidden:
        x = builder.relu(builder.linear(x, linear.weight, linear.bias))
    bank = conv.alpha, conv.chebyshev_coefficients.numpy(), conv.shortcut
    if conv.weigh_edges is None:
        return builder.filter_bank(builder.linear(x, last.weight, last.bias), *bank)
    r = builder.linear(x, last.weight, last.bias, columns=side_by_side(conv.num_subspaces, conv.out_channels))
    return builder.edge_filter_bank(r, *bank, conv.weigh_edges.weight, conv.weigh_edges.bias)


def _gcn_steps(builder: Builder, conv: Any, x: Signal | InputSignal) -> Signal:
    return builder.propagate(builder.linear(x, conv.lin.weight), conv.bias)


def _sage_steps(builder: Builder, conv: Any, x: Signal | InputSignal) -> Signal:
    own = builder.linear(x, conv.lin_r.weight)
    return builder.propagate(builder.linear(x, conv.lin_l.weight), conv.lin_l.bias, plus=own)


def _gin_steps(builder: Builder, conv: Any, x: Signal | InputSignal) -> Signal:
    first, _, second = conv.nn
    u = builder.propagate(builder.linear(x, first.weight), first.bias)  # P (X W) = (P X) W
    return builder.linear(builder.relu(u), second.weight, second.bias)


def side_by_side(groups: int, columns: int) -> NDArray[np.int64]:
    """Places of columns that lie group by group, in an order channel by channel with all groups of a channel together.

    See :mod:`bankgcn.kernels.ops.attention`.
    """
    import numpy as np

    column = np.arange(columns)
    return column % (columns // groups) * groups + column // (columns // groups)


def _gat_steps(builder: Builder, conv: Any, x: Signal | InputSignal) -> Signal:
    r = builder.linear(x, conv.lin.weight, columns=side_by_side(conv.heads, conv.heads * conv.out_channels))
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


def _bank_operator(conv: Any) -> OperatorFields | None:
    from torch import nn

    project = conv.project
    linear = type(project) is nn.Linear or _is_mlp(project)
    if not linear or conv.in_channels == -1 or conv.edges in ("input", "both"):  # a network has its own sums
        return None
    return ("laplacian", 0.0, ()) if conv.weigh_edges is None else ("sum", 0.0, ("weights",))


def _gcn_operator(conv: Any) -> OperatorFields | None:
    return ("renormalized", 0.0, ()) if _are_linear(conv.lin) else None


def _sage_operator(conv: Any) -> OperatorFields | None:
    plain = (conv.aggr, conv.normalize, conv.project, conv.root_weight) == ("mean", False, False, True)
    return ("mean", 0.0, ()) if plain and _are_linear(conv.lin_l, conv.lin_r) else None


def _gin_operator(conv: Any) -> OperatorFields | None:
    from torch import nn

    if conv.aggr != "add" or isinstance(conv.eps, nn.Parameter) or not _is_mlp(conv.nn):
        return None
    return ("sum", 1 + conv.eps.item(), ())


def _gat_operator(conv: Any) -> OperatorFields | None:
    settings = (conv.concat, conv.negative_slope, conv.dropout, conv.add_self_loops, conv.edge_dim)
    power_of_two = conv.heads & (conv.heads - 1) == 0 and conv.heads <= 32
    plain = settings == (True, 0.2, 0.0, True, None) and _are_linear(conv.lin) and conv.res is None
    return ("sum", 1.0, ()) if plain and power_of_two else None


def _cheb_operator(conv: Any) -> OperatorFields | None:
    return ("laplacian", 0.0, ()) if conv.normalization == "sym" and _are_linear(*conv.lins) else None


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
MLP = Lowering("bankgcn.nn.layers.NodewiseLinear", lambda conv: ("sum", 0.0, ()), _mlp_steps, one_hop=True)


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
        takes_features: Whether the layer itself takes features of edges: :attr:`make` then has a parameter
            ``edge_dim``. Other layers get their sums at each node, as a part of the first input.
        needs_features: Whether the layer does nothing without them.
        needs_pyg: Whether the layer needs PyTorch Geometric.
        faster_sparse: Whether the layer takes a sparse adjacency matrix in place of the edges and is faster with it.
        lowering: How the layer becomes part of a program; without it, networks of this layer train by autograd.
    """

    label: str
    make: ConvFactory
    options: Mapping[str, Setting] = field(default_factory=dict)
    divisor: str = ""
    takes_weights: bool = False
    takes_features: bool = False
    needs_features: bool = False
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
    from bankgcn.nn.layers import NodewiseLinear

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


def gine(in_channels: int, out_channels: int, edge_dim: int | None = None) -> nn.Module:
    """GINE: GIN, where a linear map of the features of an edge is added to the signal that comes along it."""
    from torch import nn
    from torch_geometric.nn import GINEConv

    if edge_dim is None:
        raise ValueError("GINE needs features of edges, edge_dim=...: without them it is GIN")
    layers = nn.Sequential(nn.Linear(in_channels, out_channels), nn.ReLU(), nn.Linear(out_channels, out_channels))
    return GINEConv(layers, edge_dim=edge_dim)


def gat(in_channels: int, out_channels: int, heads: int = 8, edge_dim: int | None = None) -> nn.Module:
    """GAT; ``out_channels`` is the width of all heads together."""
    from torch_geometric.nn import GATConv

    if heads < 1:
        raise ValueError(Message("{heads}: expected at least 1", heads=Option("heads", heads)))
    if out_channels % heads:
        width = Option("hidden", out_channels, field="out_channels")
        raise ValueError(Message("{width} does not divide into {heads}", width=width, heads=Option("heads", heads)))
    return GATConv(in_channels, out_channels // heads, heads=heads, edge_dim=edge_dim)


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
    "basis": _option("chebyshev", "Basis of the polynomial filters:", choices=BASIS_NAMES, advanced=True),
    "projection": _option("linear", "Projection of the signal into the subspaces:", choices=PROJECTIONS, advanced=True),
    "shortcut": _option(True, "Add the projected signal to the filtered one.", advanced=True),
    "bias": _option(True, "Learn a bias in the projection.", advanced=True),
    "initial_alpha": _option(
        "xavier", "Initial coefficients of the filters:", choices=INITIAL_ALPHA_NAMES, advanced=True
    ),
}

CONVS: dict[str, ConvSpec] = {
    "bank": ConvSpec(
        label="BankGCN",
        make=bank,
        options=MappingProxyType(_BANK_OPTIONS),
        divisor="num_subspaces",
        takes_weights=True,
        takes_features=True,
        needs_pyg=False,
        lowering=BANK,
    ),
    "gcn": ConvSpec(label="GCN", make=gcn, takes_weights=True, lowering=GCN),
    "sage": ConvSpec(label="GraphSAGE", make=sage, faster_sparse=True, lowering=SAGE),
    "gin": ConvSpec(label="GIN", make=gin, lowering=GIN),
    "gine": ConvSpec(label="GINE", make=gine, takes_features=True, needs_features=True),
    "gat": ConvSpec(
        label="GAT",
        make=gat,
        options={"heads": _option(8, "Number of attention heads in a layer.", at_least=1, advanced=True)},
        divisor="heads",
        takes_features=True,
        lowering=GAT,
    ),
    "cheb": ConvSpec(label="ChebNet", make=cheb, options={"order": _ORDER}, takes_weights=True, lowering=CHEB),
    "mlp": ConvSpec(  # ignores the weights, too
        label="MLP", make=mlp, takes_weights=True, needs_pyg=False, lowering=MLP
    ),
}


@dataclass(frozen=True, kw_only=True)
class RivalSpec:
    """A model that is no network: scikit-learn fits it, see :mod:`bankgcn.rivals`. It has what a row of ``CONVS`` has.

    Args:
        label: Name in tables and messages.
        takes_weights: Whether it takes edge weights.
        takes_features: Whether it takes features of edges.
    """

    label: str
    takes_weights: bool = False
    takes_features: bool = True
    needs_features: bool = False
    options: Mapping[str, Setting] = field(default_factory=dict)

    def check_available(self) -> None:
        """Raise an ``ImportError`` that says what to install, if a library is missing."""
        require("sklearn", self.label)

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of each option: there are none."""
        return {}


RIVALS: dict[str, RivalSpec] = {
    "forest": RivalSpec(label="forest", takes_weights=True),
    "wl-svm": RivalSpec(label="WL-SVM"),
}
"""The models that are no networks."""

MODELS: dict[str, ConvSpec | RivalSpec] = {**CONVS, **RIVALS}
"""All models: networks by their convolutions, and the others."""

PLAIN_CONVS = tuple(name for name, row in CONVS.items() if not row.needs_features)
"""The convolutions that graphs without features of edges can go through."""
