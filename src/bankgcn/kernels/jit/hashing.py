"""Hashes of 64 bits in compiled code: splitmix64, for colours and for random numbers."""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import jit_inner

MIX1, MIX2, ODD = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15)


@jit_inner
def mix(value):
    """A hash of 64 bits: the last step of splitmix64."""
    value = (value ^ (value >> np.uint64(30))) * MIX1
    value = (value ^ (value >> np.uint64(27))) * MIX2
    return value ^ (value >> np.uint64(31))
