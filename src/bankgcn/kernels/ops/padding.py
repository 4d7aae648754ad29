"""Padded rows: rows of a matrix are filled with zeros to whole vectors, and a gap follows each.

The gap keeps rows from competing for the same places in the cache, and lets vectors reach beyond the last column.
"""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.vector import REGISTER_BYTES

GAP_BYTES = 192  # an odd number of cache lines, and as much as a vector may reach beyond the last column
TILE_ROWS = 4  # of a matrix product: with two registers for each row, enough to keep the processor busy


def round_up(count: int, multiple: int) -> int:
    """The smallest multiple that is not less than ``count``."""
    return (count + multiple - 1) // multiple * multiple


def padded_width(columns: int, dtype: np.dtype, registers: int = 4) -> int:
    """Number of columns, filled to whole vectors of so many registers."""
    return round_up(columns, registers * REGISTER_BYTES // np.dtype(dtype).itemsize)


def row_stride(columns: int, dtype: np.dtype) -> int:
    """Number of columns with padding and gap: the distance of two rows."""
    return padded_width(columns, dtype) + GAP_BYTES // np.dtype(dtype).itemsize
