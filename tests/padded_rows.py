"""Padded matrices for the tests of the kernels."""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.ops.padding import allocated_width, round_up


def padded(array: np.ndarray) -> np.ndarray:
    """The array with whole tiles of rows, padding and gap."""
    wide = np.zeros((round_up(len(array), 4), allocated_width(array.shape[1], array.dtype)), array.dtype)
    wide[: len(array), : array.shape[1]] = array
    return wide
