r"""Exact contributions: a linear head on readouts is a sum over nodes, and over frequencies.

Each part of the readout is :math:`\sum_v S_{vj} X_{vj}` with shares :math:`S` of the nodes: 1/n for the mean, 1 for the
sum, and 1 at the winning node for the maximum. So every logit is a sum over the nodes. With the Fourier modes
:math:`U`, the same number is :math:`\sum_k (U^\top S)_{kj} (U^\top X)_{kj}`: a sum over the frequencies of the graph.

Nodes that tie for a maximum share it. Rounding must not choose one of them: values within ``TIE`` of the largest one
count as equal to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from bankgcn.nn.network import GraphNetwork, LayerTrace

TIE = 1e-5
"""Values tie with a maximum that lie below it by less than this part of the layer's largest absolute value.

In single precision, the signals of equivalent nodes differ by less than a tenth of it.
"""

Shares = tuple[Tensor, Tensor]
"""The share of each node in a part of a readout, and its signal: the part is the sum of their products."""


def _mean(x: Tensor) -> Shares:
    return torch.full_like(x, 1 / max(len(x), 1)), x  # a graph may have no nodes


def _maximum(x: Tensor) -> Shares:
    """Nodes that tie share the largest value of each channel, and have it: so the shares add up to it exactly."""
    if not len(x):  # there is no largest value of nothing
        return x, x
    largest = x.amax(0)
    tied = x >= largest - TIE * x.abs().max()
    return tied.to(x.dtype) / tied.sum(0), torch.where(tied, largest, x)


def _sum(x: Tensor) -> Shares:
    return torch.ones_like(x), x


SHARES: dict[str, Callable[[Tensor], Shares]] = {"mean": _mean, "max": _maximum, "sum": _sum}
"""The shares of the nodes of one graph in each part of a readout, as a function of their signals."""


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
    parts = []
    for place, part in enumerate(net.readout):
        share, signal = SHARES[part](x)
        parts.append((transform(share) * transform(signal)) @ weight[:, number, place].T)
    return torch.stack(parts).sum(0)
