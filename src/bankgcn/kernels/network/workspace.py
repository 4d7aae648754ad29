"""The workspace of a block of graphs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import jit_inner
from bankgcn.kernels.jit.vector import REGISTER_BYTES
from bankgcn.kernels.ops.filter_rows import allocate_hops
from bankgcn.kernels.ops.padding import TILE_ROWS, allocated_width, round_up


class Workspace(NamedTuple):
    """Intermediate results of one block of n nodes and G graphs, reused by the next.

    S layers are stored: all of them for the backward pass, two for the forward pass alone; R is the number of readouts
    of a graph in all layers. Arrays of ``hidden`` columns have padding and gap, see
    :mod:`bankgcn.kernels.ops.padding`.
    """

    attributes: NDArray[np.floating]  # (n, attributes): padded to whole tiles
    r: NDArray[np.floating]  # (S, n, hidden): projected signals
    h: NDArray[np.floating]  # (S, n, hidden): filtered signals
    x: NDArray[np.floating]  # (S, n, hidden): activated signals
    scale: NDArray[np.floating]  # (S, n): what the normalisation multiplies each row by
    hops: NDArray[np.floating]  # (up to 3 * n, lanes): see allocate_hops
    readout: NDArray[np.floating]  # (G * R, hidden)
    logits: NDArray[np.float64]  # (classes,): of one graph, or their gradient
    grad: NDArray[np.floating]  # (n, hidden): of the activated, then of the filtered signals
    grad_r: NDArray[np.floating]  # (n, hidden): of the projected signals
    grad_readout: NDArray[np.floating]  # (G * R, hidden)


@jit_inner
def allocate_workspace(shape, attributes, nodes, graphs, backward, dtype):
    """Workspace of blocks of up to so many nodes and graphs."""
    columns = allocated_width(shape.hidden_channels, dtype)
    nodes = round_up(nodes, TILE_ROWS)
    stored, grad_rows = (shape.num_layers, nodes) if backward else (2, 0)
    readouts = graphs * shape.num_layers * shape.num_readouts
    lanes = 8 * REGISTER_BYTES // np.empty(0, dtype).itemsize
    return Workspace(
        attributes=np.zeros((nodes, round_up(attributes, TILE_ROWS)), dtype),
        r=np.zeros((stored, nodes, columns), dtype),
        h=np.zeros((stored, nodes, columns), dtype),
        x=np.zeros((stored, nodes, columns), dtype),
        scale=np.zeros((stored, nodes), dtype),
        hops=allocate_hops(shape.order, nodes, lanes, dtype),
        readout=np.zeros((readouts, columns), dtype),
        logits=np.zeros(shape.num_classes),
        grad=np.zeros((grad_rows, columns), dtype),
        grad_r=np.zeros((grad_rows, columns), dtype),
        grad_readout=np.zeros((readouts, columns), dtype),
    )
