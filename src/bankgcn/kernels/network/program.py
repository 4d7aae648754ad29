"""A network as the executor takes it, without its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class NetworkShape(NamedTuple):
    """Sizes and options of a network."""

    num_layers: int
    order: int
    hidden_channels: int
    in_channels: int
    num_classes: int
    num_readouts: int  # of a layer: 1 is the mean, 2 are mean and maximum
    normalize: int  # a value of NORMALIZE_MODES
    bias: bool
    shortcut: bool


@dataclass(frozen=True)
class Program:
    """A network without its parameters, which all functions take as one vector ``theta``, in torch's order.

    Args:
        shape: Sizes and options.
        banks: Offset of each layer's filter coefficients in ``theta``, and its number of filters: ``(layers, 2)``.
        basis: Chebyshev coefficients of the basis polynomials, one polynomial per row: ``(order + 1, order + 1)``.
    """

    shape: NetworkShape
    banks: NDArray[np.int64]
    basis: NDArray[np.floating]
