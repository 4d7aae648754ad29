"""Contributions by occlusion, for any network: how much a logit falls if a part of the signal is taken away."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from bankgcn.data.graphs import GraphSet
from bankgcn.kernels import use_kernels
from bankgcn.nn.network import GraphNetwork
from bankgcn.spectral.fourier import Spectrum
from bankgcn.training.stepper import network_inputs

COPIES = 256  # of a graph in one batch


def occlude_nodes(net: GraphNetwork, graph: GraphSet) -> Tensor:
    """Logits minus the logits with the signal of one node set to 0: shape ``(num_nodes, out_channels)``, float64."""

    def without_node(x: Tensor, node: int) -> Tensor:
        return torch.where(torch.arange(len(x))[:, None] == node, 0, x)

    return _differences(net, graph, int(graph.num_nodes[0]), without_node)


def occlude_bands(net: GraphNetwork, graph: GraphSet, spectrum: Spectrum, num_bands: int) -> Tensor:
    """Logits minus those without one band of the node signals: shape ``(num_bands, out_channels)``, float64."""
    band = spectrum.bands(num_bands)

    def without_band(x: Tensor, number: int) -> Tensor:
        modes = spectrum.modes[:, band == number].to(x.dtype)
        return x - modes @ (modes.T @ x)

    return _differences(net, graph, num_bands, without_band)


def logits_of_graph(net: GraphNetwork, graph: GraphSet) -> Tensor:
    """Logits of one graph, shape ``(out_channels,)``, float64."""
    return _logits(net, graph, lambda x: [x], 1)[0]


def _differences(net: GraphNetwork, graph: GraphSet, number: int, change: Callable[[Tensor, int], Tensor]) -> Tensor:
    whole = logits_of_graph(net, graph)
    changed = [
        _logits(net, graph, lambda x, part=part: [change(x, one) for one in part], len(part))  # type: ignore[misc]
        for part in (range(start, min(start + COPIES, number)) for start in range(0, number, COPIES))
    ]
    return whole - torch.cat(changed) if changed else whole.new_empty(0, len(whole))


def _logits(net: GraphNetwork, graph: GraphSet, change: Callable[[Tensor], list[Tensor]], copies: int) -> Tensor:
    """Logits of copies of a graph, given what each copy has in place of the signals that enter the first layer."""
    batch = graph.batch(np.zeros(copies, np.int64))
    nodes = int(graph.num_nodes[0])
    x, edges, weight = network_inputs(net, batch)

    def changed(signals: Tensor) -> Tensor:
        return torch.cat(change(signals[:nodes]))

    handle = None
    if net.encoder is None:
        x = changed(x)
    else:  # its vectors can be taken away, the integers that it looks up cannot

        def replace(module: nn.Module, args: object, output: Tensor) -> Tensor:
            return changed(output)

        handle = net.encoder.register_forward_hook(replace)
    training = net.training
    net.eval()
    try:
        with torch.no_grad(), use_kernels(False):
            return net(x, edges, batch.batch, weight, batch_size=copies).double()
    finally:
        net.train(training)
        if handle is not None:
            handle.remove()
