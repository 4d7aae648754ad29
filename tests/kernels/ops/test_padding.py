"""Padded rows consist of whole vectors and a gap."""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.ops.padding import padded_width, width
from padded_rows import padded


def test_rows_have_whole_vectors_and_a_gap() -> None:
    assert [padded_width(columns, np.float32) for columns in (1, 32, 33)] == [32, 32, 64]
    assert [padded_width(columns, np.float64) for columns in (1, 16, 17)] == [16, 16, 32]
    assert width(padded(np.ones((2, 33), np.float32))) == 64
