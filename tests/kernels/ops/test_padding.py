"""Padded rows consist of whole vectors and a gap."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.kernels.jit.vector import REGISTER_BYTES
from bankgcn.kernels.ops.blocks import padded_width, round_up, row_stride

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def test_rows_are_filled_to_whole_vectors() -> None:
    assert [padded_width(columns, SINGLE) for columns in (0, 1, 32, 33)] == [0, 32, 32, 64]
    assert [padded_width(columns, DOUBLE) for columns in (0, 1, 16, 17)] == [0, 16, 16, 32]
    assert [padded_width(columns, SINGLE, registers=2) for columns in (1, 16, 17)] == [16, 16, 32]
    assert [round_up(count, 4) for count in (0, 1, 4, 5)] == [0, 4, 4, 8]


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
def test_a_vector_of_eight_registers_ends_before_the_next_row(dtype: np.dtype) -> None:
    wide = 8 * REGISTER_BYTES // dtype.itemsize
    for columns in range(1, 200):
        width, stride = padded_width(columns, dtype), row_stride(columns, dtype)
        assert round_up(width, wide) <= stride
        assert stride * dtype.itemsize // 64 % 2 == 1  # an odd number of cache lines: rows do not compete
