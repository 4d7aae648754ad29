r"""ReLU, :math:`\ell_2` normalisation and mean / maximum readout in one loop over the nodes, forward and backward.

The results are those of the plain operations, ties included: nodes that share a graph's maximum share its gradient.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bankgcn.kernels.jit.compiler import jit_cached
from bankgcn.kernels.ops.normalize import EPSILON

BEFORE, AFTER, NONE = 0, 1, 2
NORMALIZE_MODES = {"before": BEFORE, "after": AFTER, "none": NONE}  # normalise before or after the ReLU
BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


def activate(
    h: Tensor, batch: Tensor, num_graphs: int, normalize: str, with_max: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Activated signals, scale of each row, and mean and maximum of each graph.

    Without ``with_max`` the maximum has no columns.

    Raises:
        IndexError: A node belongs to no graph.
    """
    h = h.contiguous()
    x, scale = torch.empty_like(h), h.new_empty(h.size(0))
    mean = h.new_empty(num_graphs, h.size(1))
    largest = h.new_zeros(num_graphs, h.size(1) if with_max else 0)
    bits = BITS[h.dtype]
    results = [tensor.numpy() for tensor in (x, scale, mean, x.view(bits), largest.view(bits))]
    node = _forward(h.numpy(), batch.numpy(), NORMALIZE_MODES[normalize], with_max, *results)
    if node >= 0:
        raise IndexError(f"node {node} is in graph {batch[node].item()}, but there are {num_graphs} graphs")
    return x, scale, mean, largest


def activate_adjoint(
    h: Tensor,
    batch: Tensor,
    normalize: str,
    x: Tensor,
    scale: Tensor,
    largest: Tensor,
    grad_x: Tensor,
    grad_mean: Tensor,
    grad_max: Tensor,
) -> Tensor:
    """Gradient of the signals, given those of the activated signals, the mean and the maximum."""
    grad_h = torch.empty_like(x)
    signals = (tensor.contiguous().numpy() for tensor in (x, scale, largest, grad_x, grad_mean, grad_max, grad_h))
    _backward(h.contiguous().numpy(), batch.numpy(), NORMALIZE_MODES[normalize], largest.size(1) > 0, *signals)
    return grad_h


@jit_cached
def _forward(h, batch, mode, with_max, x, scale, mean, x_bits, largest):
    """Write the activated signals, their scale, mean and maximum; return a node that is in no graph, or -1.

    Takes the maximum of the bits: floats without a sign bit have the order of their bits, NaN last, and compilers
    vectorise the maximum of integers, which makes it five times faster.
    """
    num_nodes, channels = h.shape
    num_graphs = mean.shape[0]
    count = np.zeros(num_graphs, np.int64)
    sums = np.zeros((num_graphs, channels))  # float32 would lose digits in a sum over many nodes
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
            if factor == 0:
                factor = h.dtype.type(np.nan)  # the norm overflows: zeros would pass for a node without a signal
        scale[i] = factor
        graph = batch[i]
        if graph < 0 or graph >= num_graphs:
            return i
        count[graph] += 1
        for k in range(channels):
            value = h[i, k] * factor
            x[i, k] = 0 if value <= 0 else abs(value)  # NaN stays NaN, with its sign bit cleared
            sums[graph, k] += x[i, k]
        if with_max:
            for k in range(channels):
                largest[graph, k] = max(largest[graph, k], x_bits[i, k])
    for graph in range(num_graphs):
        inverse = 1 / max(count[graph], 1)
        for k in range(channels):
            mean[graph, k] = sums[graph, k] * inverse
    return -1


@jit_cached
def _backward(h, batch, mode, with_max, x, scale, largest, grad_x, grad_mean, grad_max, grad_h):
    num_nodes, channels = h.shape
    zero, one = h.dtype.type(0), h.dtype.type(1)
    count = np.zeros(grad_mean.shape[0], np.int64)
    ties = np.zeros((grad_mean.shape[0], channels if with_max else 0), h.dtype)
    for i in range(num_nodes):
        graph = batch[i]
        count[graph] += 1
        if with_max:
            for k in range(channels):
                ties[graph, k] += one if x[i, k] == largest[graph, k] else zero
    mean_share = np.empty_like(grad_mean)  # gradient of one node
    max_share = np.empty_like(grad_max)
    for graph in range(grad_mean.shape[0]):
        inverse = 1 / max(count[graph], 1)
        for k in range(channels):
            mean_share[graph, k] = grad_mean[graph, k] * inverse
        if with_max:
            for k in range(channels):
                max_share[graph, k] = grad_max[graph, k] / ties[graph, k]  # 0 ties: the maximum is NaN
    limit = h.dtype.type(1 / EPSILON)
    for i in range(num_nodes):
        graph = batch[i]
        along = zero
        for k in range(channels):
            total = grad_x[i, k] + mean_share[graph, k]
            if with_max:
                total += max_share[graph, k] * (one if x[i, k] == largest[graph, k] else zero)
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
