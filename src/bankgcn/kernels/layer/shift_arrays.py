"""The arrays of a shift for compiled code, divided into blocks of nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.kernels.jit.compiler import jit_cached

MIN_BLOCK_NODES = 16  # smaller graphs share a block


class ShiftArrays(NamedTuple):
    """A shift of N nodes and E entries in CSR form, with B blocks of nodes that no edge leaves."""

    rowptr: NDArray[np.int64]  # (N + 1,)
    col: NDArray[np.int64]  # (E,)
    weight: NDArray[np.floating]  # (E,)
    block_ptr: NDArray[np.int64]  # (B + 1,): start of each block's nodes


def shift_arrays(rowptr: Tensor, col: Tensor, weight: Tensor) -> ShiftArrays:
    """The arrays of a shift. The edges tell where its blocks are: these are the graphs of a batch.

    Raises:
        ValueError: A column is out of range; compiled code does not check its indices.
    """
    pattern = (rowptr.contiguous().numpy(), col.contiguous().numpy())
    block_ptr = _find_blocks(*pattern)
    if not len(block_ptr):
        raise ValueError(f"the shift has columns outside 0 to {rowptr.numel() - 2}, or pointers that do not ascend")
    return ShiftArrays(*pattern, weight.detach().contiguous().numpy(), block_ptr)


@jit_cached
def _find_blocks(rowptr, col):
    """Start of each block, then the number of nodes; empty if the arrays are no CSR matrix."""
    num_nodes = rowptr.shape[0] - 1
    if rowptr[0] != 0 or rowptr[num_nodes] != col.shape[0]:
        return np.empty(0, np.int64)
    block_ptr = np.empty(num_nodes // MIN_BLOCK_NODES + 2, np.int64)
    block_ptr[0] = 0
    count, furthest = 1, np.int64(-1)
    for i in range(num_nodes):
        if rowptr[i] > rowptr[i + 1]:
            return np.empty(0, np.int64)
        for e in range(rowptr[i], rowptr[i + 1]):
            if col[e] < 0 or col[e] >= num_nodes:
                return np.empty(0, np.int64)
            furthest = max(furthest, col[e])
        if furthest <= i and i + 1 - block_ptr[count - 1] >= MIN_BLOCK_NODES:
            block_ptr[count] = i + 1
            count += 1
    if block_ptr[count - 1] != num_nodes:
        block_ptr[count] = num_nodes
        count += 1
    return block_ptr[:count].copy()
