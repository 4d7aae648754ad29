"""The convolutions that can stand in the network's layers, behind one ``(in_channels, out_channels)`` call.

The baselines are PyG's own layers, with the settings of the paper's section 5.1. PyG is imported where one is built, so
that :class:`BankConv` alone does not need it.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from bankgcn.nn.bank_conv import BankConv

ConvFactory = Callable[..., nn.Module]


class NodewiseLinear(nn.Linear):
    """A linear layer with the signature of a convolution, blind to the edges: what structure adds shows beside it."""

    def forward(self, x: Tensor, edge_index: object = None, edge_weight: object = None) -> Tensor:
        """Map every node's signal by itself."""
        return super().forward(x)


def gcn(in_channels: int, out_channels: int, normalize: bool = True) -> nn.Module:
    """GCN: the renormalised first-order filter; without ``normalize`` it takes edges that are :func:`renormalised`."""
    from torch_geometric.nn import GCNConv

    return GCNConv(in_channels, out_channels, normalize=normalize)


def sage(in_channels: int, out_channels: int) -> nn.Module:
    """GraphSAGE with the mean aggregator."""
    from torch_geometric.nn import SAGEConv

    return SAGEConv(in_channels, out_channels, aggr="mean")


def gin(in_channels: int, out_channels: int) -> nn.Module:
    """GIN: the sum of a neighbourhood through an MLP of two layers."""
    from torch_geometric.nn import GINConv

    mlp = nn.Sequential(nn.Linear(in_channels, out_channels), nn.ReLU(), nn.Linear(out_channels, out_channels))
    return GINConv(mlp)


def gat(in_channels: int, out_channels: int, heads: int = 8) -> nn.Module:
    """GAT with eight heads side by side, which together are as wide as the other layers."""
    from torch_geometric.nn import GATConv

    if out_channels % heads:
        raise ValueError(f"out_channels={out_channels} does not divide into heads={heads}")
    return GATConv(in_channels, out_channels // heads, heads=heads)


def cheb(in_channels: int, out_channels: int, order: int = 2) -> nn.Module:
    """ChebNet of the given order. PyG's ``K`` counts terms: the paper's K = 2 is PyG's ``K=3``."""
    from torch_geometric.nn import ChebConv

    conv = ChebConv(in_channels, out_channels, K=order + 1, normalization="sym")
    conv.register_forward_pre_hook(_name_largest_frequency, with_kwargs=True)
    return conv


def _name_largest_frequency(conv: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Pass 2 for the largest frequency. PyG finds the same in the Laplacian, but not in one without nodes."""
    return args, {"lambda_max": 2.0, **kwargs}


CONVS: dict[str, ConvFactory] = {
    "bank": BankConv,
    "gcn": gcn,
    "sage": sage,
    "gin": gin,
    "gat": gat,
    "cheb": cheb,
    "mlp": NodewiseLinear,
}


def renormalised(x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> tuple:
    """Edges with self-loops and GCN's weights, as ``GCNConv(normalize=True)`` makes them anew in every layer."""
    from torch_geometric.nn.conv.gcn_conv import gcn_norm

    edges = gcn_norm(edge_index, edge_weight, x.size(0), dtype=x.dtype)
    return edges if isinstance(edges, tuple) else (edges,)  # a SparseTensor of torch_sparse holds its weights itself


WEIGHTED = {"bank", "gcn", "cheb", "mlp"}
"""The convolutions that take edge weights (the MLP by ignoring edges altogether)."""

FASTER_SPARSE = {"sage"}
"""The convolutions that take a sparse adjacency for the edges and are faster with it, forward and backward."""
