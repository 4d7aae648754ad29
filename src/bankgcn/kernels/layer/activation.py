r"""ReLU, :math:`\ell_2` normalisation and mean / maximum readout in one pass over the nodes, forward and backward.

Each function does what the plain operations do, ties included: where several nodes share a graph's maximum, its
gradient is divided among them.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bankgcn.kernels.jit.compiler import compiled

BEFORE, AFTER, NONE = 0, 1, 2
MODES = {"before": BEFORE, "after": AFTER, "none": NONE}  # where the normalisation stands
EPSILON = 1e-12  # as torch.nn.functional.normalize
BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


def activate(
    h: Tensor, batch: Tensor, num_graphs: int, normalize: str, with_max: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Activated signals, what each row was multiplied by, and mean and maximum of each graph.

    The maximum is empty if it is not wanted.

    Raises:
        IndexError: A node is in no graph.
    """
    h = h.contiguous()
    x, scale = torch.empty_like(h), h.new_empty(h.size(0))
    mean = h.new_empty(num_graphs, h.size(1))
    highest = h.new_zeros(num_graphs, h.size(1) if with_max else 0)
    bits = BITS[h.dtype]
    arrays = [tensor.numpy() for tensor in (x, scale, mean, x.view(bits), highest.view(bits))]
    lost = _forward(h.numpy(), batch.numpy(), MODES[normalize], with_max, *arrays)
    if lost >= 0:
        raise IndexError(f"node {lost} is in graph {batch[lost].item()}, but there are {num_graphs} graphs")
    return x, scale, mean, highest


def activate_adjoint(
    h: Tensor,
    batch: Tensor,
    normalize: str,
    x: Tensor,
    scale: Tensor,
    highest: Tensor,
    grad_x: Tensor,
    grad_mean: Tensor,
    grad_max: Tensor,
) -> Tensor:
    """Gradient of the node signals from those of the activated signals, the mean and the maximum."""
    grad_h = torch.empty_like(x)
    signals = (tensor.contiguous().numpy() for tensor in (x, scale, highest, grad_x, grad_mean, grad_max, grad_h))
    _backward(h.contiguous().numpy(), batch.numpy(), MODES[normalize], highest.size(1) > 0, *signals)
    return grad_h


@compiled
def _forward(h, batch, mode, with_max, x, scale, out, x_bits, highest):
    """Write the activated signals, their scale and the mean; return a node that is in no graph, or -1.

    The maximum is taken of the bits: floats without a sign are ordered as these are, NaN last, and integers have a
    maximum that compilers vectorise, which makes it five times faster.
    """
    num_nodes, channels = h.shape
    num_graphs = out.shape[0]
    count = np.zeros(num_graphs, np.int64)
    sums = np.zeros((num_graphs, channels))  # of many equal nodes, float32 would lose the last digits
    for i in range(num_nodes):
        squares = h.dtype.type(0)
        if mode == BEFORE:
            for k in range(channels):
                squares += h[i, k] * h[i, k]
        elif mode == AFTER:
            for k in range(channels):
                positive = max(h[i, k], h.dtype.type(0))
                squares += positive * positive
        factor = h.dtype.type(1)
        if mode != NONE:
            factor = h.dtype.type(1 / max(np.sqrt(squares), EPSILON))
        scale[i] = factor
        graph = batch[i]
        if graph < 0 or graph >= num_graphs:
            return i
        count[graph] += 1
        for k in range(channels):
            value = h[i, k] * factor
            x[i, k] = 0 if value <= 0 else abs(value)  # NaN stays NaN, and loses its sign
            sums[graph, k] += x[i, k]
        if with_max:
            for k in range(channels):
                highest[graph, k] = max(highest[graph, k], x_bits[i, k])
    for graph in range(num_graphs):
        inverse = 1 / max(count[graph], 1)
        for k in range(channels):
            out[graph, k] = sums[graph, k] * inverse
    return -1


@compiled
def _backward(h, batch, mode, with_max, x, scale, highest, grad_x, grad_mean, grad_max, grad_h):
    num_nodes, channels = h.shape
    zero, one = h.dtype.type(0), h.dtype.type(1)
    count = np.zeros(grad_mean.shape[0], np.int64)
    ties = np.zeros((grad_mean.shape[0], channels if with_max else 0), h.dtype)
    for i in range(num_nodes):
        graph = batch[i]
        count[graph] += 1
        if with_max:
            for k in range(channels):
                ties[graph, k] += one if x[i, k] == highest[graph, k] else zero
    mean_share = np.empty_like(grad_mean)  # what each node gets of its graph's gradient
    max_share = np.empty_like(grad_max)
    for graph in range(grad_mean.shape[0]):
        inverse = 1 / max(count[graph], 1)
        for k in range(channels):
            mean_share[graph, k] = grad_mean[graph, k] * inverse
        if with_max:
            for k in range(channels):
                max_share[graph, k] = grad_max[graph, k] / ties[graph, k]  # no tie: the maximum is NaN
    limit = h.dtype.type(1 / EPSILON)
    for i in range(num_nodes):
        graph = batch[i]
        along = zero
        for k in range(channels):
            total = grad_x[i, k] + mean_share[graph, k]
            if with_max:
                total += max_share[graph, k] * (one if x[i, k] == highest[graph, k] else zero)
            total = zero if x[i, k] <= 0 else total
            grad_h[i, k] = total
            along += total * x[i, k]
        factor = scale[i]
        if mode == NONE:
            continue
        if factor >= limit:  # too short to normalise: the divisor is a constant
            along = zero
        for k in range(channels):
            unit = h[i, k] * factor if mode == BEFORE else x[i, k]
            total = (grad_h[i, k] - unit * along) * factor
            grad_h[i, k] = zero if mode == AFTER and h[i, k] <= 0 else total
