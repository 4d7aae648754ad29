"""Dropout whose masks are functions of a key and of the place of each element: nothing is drawn or stored.

A generator with a state gives other masks on another device, or when graphs are computed in another order. Here the
mask of an element depends on its key, stream, row and column alone. So every implementation of these few lines gives
the same bits, a backward pass can compute the mask again, and a resumed training only needs the number of its step.

The hashes are the finaliser of SplitMix64 for the rows, and a mixer with 32 bits for the columns of a row.
"""

from __future__ import annotations

import torch
from torch import Tensor

ODD = 0x9E3779B97F4A7C15 - 2**64  # 2**64 divided by the golden ratio; int64 holds it as a negative number
STREAM = 2**40  # more rows than a batch has


def drop(x: Tensor, p: float, key: int | Tensor, stream: int) -> Tensor:
    """Set elements to 0 with probability ``p``, and divide the others by ``1 - p``: the mean stays the same.

    Args:
        x: Signals, shape ``(rows, columns)``.
        p: Probability to drop an element, at least 0 and less than 1.
        key: An integer of at most 63 bits, or a tensor that holds one; see :func:`dropout_key`.
        stream: Number of the place in the network; places with one key have different masks.
    """
    rows = torch.arange(x.size(0), device=x.device).unsqueeze(1)
    columns = torch.arange(x.size(1), device=x.device)
    row_key = _mix64(ODD * (rows + (stream * STREAM + 1)) + key)
    h = _mix32(_low32(_low32(row_key) + columns * 0x9E3779B9) ^ _shift_right(row_key, 32))
    kept = (h >> 8) >= round(p * 2**24)
    return torch.where(kept, x * (1 / (1 - p)), 0.0)  # a product with the mask would keep NaN


def dropout_key(seed: int, step: int) -> int:
    """The key of a step of a training: less than 2**63. Keys of neighbouring seeds and steps are unrelated."""
    return int(_shift_right(_mix64(ODD * torch.tensor(step + 1) + seed), 1))


def _mix64(z: Tensor) -> Tensor:
    """SplitMix64's finaliser. Products of int64 keep the low 64 bits, as products of unsigned numbers do."""
    z = (z ^ _shift_right(z, 30)) * (0xBF58476D1CE4E5B9 - 2**64)
    z = (z ^ _shift_right(z, 27)) * (0x94D049BB133111EB - 2**64)
    return z ^ _shift_right(z, 31)


def _mix32(h: Tensor) -> Tensor:
    """A mixer of 32 bits, in int64."""
    h = _low32((h ^ (h >> 16)) * 0x7FEB352D)
    h = _low32((h ^ (h >> 15)) * 0x846CA68B)
    return h ^ (h >> 16)


def _low32(z: Tensor) -> Tensor:
    return z & 0xFFFFFFFF


def _shift_right(z: Tensor, bits: int) -> Tensor:
    """Shift as an unsigned number: int64 itself would fill in the sign."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)
