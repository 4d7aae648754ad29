"""Padded rows: rows of a matrix are filled with zeros to whole vectors, and a gap of zeros follows each.

The gap keeps rows from competing for the same places in the cache, and lets vectors reach beyond the last column.
"""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import jit_inner
from bankgcn.kernels.jit.vector import REGISTER_BYTES

GAP_BYTES = 192  # an odd number of cache lines, and as much as a vector may reach beyond the last column
TILE_ROWS = 4  # of a matrix product: with two registers for each row, enough to keep the processor busy


@jit_inner
def round_up(count, multiple):
    """The smallest multiple that is not less than ``count``."""
    return (count + multiple - 1) // multiple * multiple


@jit_inner
def padded_width(columns, dtype):
    """Number of columns, filled to whole vectors of four registers."""
    return round_up(columns, 4 * REGISTER_BYTES // np.empty(0, dtype).itemsize)


@jit_inner
def allocated_width(columns, dtype):
    """Number of columns with padding and gap."""
    return padded_width(columns, dtype) + GAP_BYTES // np.empty(0, dtype).itemsize


@jit_inner
def width(array):
    """Number of columns of a padded array that are computed with: all but the gap."""
    return array.shape[1] - GAP_BYTES // array.itemsize
