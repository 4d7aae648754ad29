"""Pooling layers that can stand between convolutions, as the paper promises: PyG's, which make smaller graphs.

Called with ``(x, edge_index, edge_weight, batch)``, each returns the same four of the smaller graphs first.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import nn


def topk(channels: int) -> nn.Module:
    """Keep the half of the nodes that a learned direction scores highest."""
    from torch_geometric.nn import TopKPooling

    return TopKPooling(channels)


def sag(channels: int) -> nn.Module:
    """Keep the half of the nodes that a graph convolution scores highest."""
    from torch_geometric.nn import SAGPooling

    return SAGPooling(channels)


def asap(channels: int) -> nn.Module:
    """Merge neighbourhoods into clusters, and keep the best half; the edges between them carry learned weights."""
    from torch_geometric.nn import ASAPooling

    return ASAPooling(channels)


POOLINGS: dict[str, Callable[[int], nn.Module]] = {"topk": topk, "sag": sag, "asap": asap}
