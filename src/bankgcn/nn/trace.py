"""The signals inside a network: what enters and leaves each of its layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bankgcn.kernels import use_kernels
from bankgcn.nn.network import GraphNetwork
from bankgcn.spectral.shift import GraphShift


@dataclass(frozen=True, eq=False)
class LayerTrace:
    """The signals of the nodes in one layer.

    Args:
        input: What enters the convolution, shape ``(num_nodes, in_channels)``.
        convolved: What leaves it, shape ``(num_nodes, hidden_channels)``.
        output: The same after normalisation, ReLU and residual: what the readout reads, and what enters the next layer.
    """

    input: Tensor
    convolved: Tensor
    output: Tensor


@torch.no_grad()
def trace(
    net: GraphNetwork,
    x: Tensor,
    edge_index: Tensor | GraphShift,
    batch: Tensor,
    edge_weight: Tensor | None = None,
    *,
    batch_size: int,
) -> list[LayerTrace]:
    """The signals in each layer, in evaluation mode; the arguments are those of :meth:`GraphNetwork.graph_embedding`.

    Raises:
        ValueError: The network has pooling, which leaves other nodes in each layer.
    """
    if net.pools:
        raise ValueError("the network pools nodes between its layers, so that its layers have different nodes")
    seen: list[tuple[Tensor, Tensor]] = []

    def keep(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        seen.append((args[0], output))

    handles = [conv.register_forward_hook(keep) for conv in net.convs]
    training = net.training
    net.eval()
    try:
        with use_kernels(False):  # compiling them takes longer than the few graphs that one looks at
            net.graph_embedding(x, edge_index, batch, edge_weight, batch_size=batch_size)
            return [
                LayerTrace(given, h, net._activate_and_read(layer, given, h, batch, batch_size, None)[0])
                for layer, (given, h) in enumerate(seen)
            ]
    finally:
        net.train(training)
        for handle in handles:
            handle.remove()
