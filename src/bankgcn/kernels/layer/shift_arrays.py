"""A shift as the passes take it: its arrays, and where its nodes can be parted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.kernels.jit.compiler import compiled

NODES_AT_ONCE = 16  # graphs smaller than this are taken together


class ShiftArrays(NamedTuple):
    """A shift in CSR form, and where its nodes can be parted."""

    rowptr: NDArray[np.int64]
    col: NDArray[np.int64]
    weight: NDArray[np.floating]
    blocks: NDArray[np.int64]


def shift_arrays(rowptr: Tensor, col: Tensor, weight: Tensor) -> ShiftArrays:
    """The arrays of a shift, with the ranges of nodes that no edge leaves: the graphs of a batch, found from the edges.

    Raises:
        ValueError: A column is out of range, which the passes below would not notice.
    """
    arrays = (rowptr.contiguous().numpy(), col.contiguous().numpy())
    blocks = _find_blocks(*arrays)
    if not len(blocks):
        raise ValueError(f"the shift has columns outside 0 to {rowptr.numel() - 2}, or pointers that do not ascend")
    return ShiftArrays(*arrays, weight.detach().contiguous().numpy(), blocks)


@compiled
def _find_blocks(rowptr, col):
    num_nodes = rowptr.shape[0] - 1
    if rowptr[0] != 0 or rowptr[num_nodes] != col.shape[0]:
        return np.empty(0, np.int64)
    cuts = np.empty(num_nodes // NODES_AT_ONCE + 2, np.int64)
    cuts[0] = 0
    count, furthest = 1, np.int64(-1)
    for i in range(num_nodes):
        if rowptr[i] > rowptr[i + 1]:
            return np.empty(0, np.int64)
        for e in range(rowptr[i], rowptr[i + 1]):
            if col[e] < 0 or col[e] >= num_nodes:
                return np.empty(0, np.int64)
            furthest = max(furthest, col[e])
        if furthest <= i and i + 1 - cuts[count - 1] >= NODES_AT_ONCE:
            cuts[count] = i + 1
            count += 1
    if cuts[count - 1] != num_nodes:
        cuts[count] = num_nodes
        count += 1
    return cuts[:count].copy()
