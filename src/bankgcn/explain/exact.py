r"""Exact contributions: a linear head on readouts is a sum over nodes, and over frequencies.

Each part of the readout is :math:`\sum_v S_{vj} X_{vj}` with shares :math:`S` of the nodes: 1/n for the mean, 1 for the
sum, and 1 at the winning node for the maximum. So every logit is a sum over the nodes. With the Fourier modes
:math:`U`, the same number is :math:`\sum_k (U^\top S)_{kj} (U^\top X)_{kj}`: a sum over the frequencies of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from bankgcn.nn.network import GraphNetwork
from bankgcn.nn.trace import LayerTrace


def _winners(x: Tensor) -> Tensor:
    """1 at the node with the largest value of each channel; nodes that tie share it."""
    if not len(x):  # there is no largest value of nothing
        return x
    best = (x == x.amax(0)).to(x.dtype)
    return best / best.sum(0)


SHARES: dict[str, Callable[[Tensor], Tensor]] = {
    "mean": lambda x: torch.full_like(x, 1 / max(len(x), 1)),  # a graph may have no nodes
    "max": _winners,
    "sum": torch.ones_like,
}
"""The share of each node in each part of a readout, as a function of the signals of one graph."""


def is_exact(net: GraphNetwork) -> bool:
    """Whether the logits are linear in the readouts, and all layers have the nodes of the graph."""
    return net.head is None and not net.pools


def node_contributions(net: GraphNetwork, layers: Sequence[LayerTrace]) -> Tensor:
    """What each node of one graph adds to each logit: shape ``(num_layers, num_nodes, out_channels)``, float64.

    The sum over layers and nodes, plus the bias of the head, is the logit.
    """
    return torch.stack([sum_over_parts(net, number, layer, lambda x: x) for number, layer in enumerate(layers)])


def frequency_contributions(net: GraphNetwork, layers: Sequence[LayerTrace], modes: Tensor) -> Tensor:
    """What each frequency of one graph adds to each logit: shape ``(num_layers, num_nodes, out_channels)``, float64.

    Args:
        net: The network.
        layers: Its signals on the graph.
        modes: The Fourier modes of the graph, one in each column.
    """
    transform = modes.double().T
    return torch.stack(
        [sum_over_parts(net, number, layer, lambda x: transform @ x) for number, layer in enumerate(layers)]
    )


def sum_over_parts(net: GraphNetwork, number: int, layer: LayerTrace, transform: Callable[[Tensor], Tensor]) -> Tensor:
    """Contributions of one layer, by node or by whatever an orthogonal transform makes of the nodes."""
    x = layer.output.double()
    weight = net.predict.weight.detach().double().view(net.predict.out_features, len(net.convs), len(net.readout), -1)
    parts = [
        (transform(SHARES[part](x)) * transform(x)) @ weight[:, number, place].T
        for place, part in enumerate(net.readout)
    ]
    return torch.stack(parts).sum(0)
