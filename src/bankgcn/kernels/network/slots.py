"""Where the parameters of a network are in padded memory: a slot for each matrix, and a place for each value."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.network.program import Padding, Slot, stride_of
from bankgcn.kernels.ops.padding import TILE_ROWS, round_up


class Unsupported(Exception):
    """The executor cannot run such a network."""


class Weights(NamedTuple):
    """A parameter of the network: where it starts in ``theta``, and its shape."""

    start: int
    shape: tuple[int, ...]


class Slots:
    """The slots of a program under construction.

    Args:
        shapes: Shape of each parameter, in the order of the vector of all parameters, by its key.
        dtype: Type of all floats.
    """

    def __init__(self, shapes: Mapping[Hashable, tuple[int, ...]], dtype: np.dtype):
        self.dtype, self.num_parameters = dtype, 0
        self._weights: dict[Hashable, Weights] = {}
        for key, shape in shapes.items():
            self._weights[key] = Weights(self.num_parameters, shape)
            self.num_parameters += math.prod(shape)
        self._slots: list[Slot] = []
        self._places: list[tuple[Weights, Slot, NDArray[np.int64]]] = []
        self._uses = np.zeros(self.num_parameters, np.int64)
        self.zero = self.new(1, 1, learned=False)  # a row of zeros, for what has no bias

    def weights(self, key: Hashable) -> Weights:
        """Start and shape of a parameter."""
        if key not in self._weights:  # it is computed from others, as a parametrisation does
            raise Unsupported("a weight that is no parameter of the network")
        return self._weights[key]

    def new(self, rows: int, columns: int, learned: bool = True, padding: Padding = "wide") -> Slot:
        """A slot for a matrix."""
        slot = Slot(round_up(rows, TILE_ROWS), columns, stride_of(columns, padding, self.dtype), learned)
        self._slots.append(slot)
        return slot

    def row(self, key: Hashable, columns: NDArray[np.int64]) -> Slot:
        """A slot for a vector: one row, whose values are in these columns."""
        slot = self.new(1, int(columns.max()) + 1)
        self.place(key, slot, columns)
        return slot

    def place(self, key: Hashable, slot: Slot, where: NDArray[np.int64]) -> None:
        """Give each value of a parameter a place in a slot; a slot without gradient holds a copy."""
        weights = self.weights(key)
        if math.prod(weights.shape) != where.size:
            raise Unsupported(f"a parameter of shape {weights.shape} for {where.size} places")
        if slot.learned:
            self.use(key)
        self._places.append((weights, slot, where.reshape(-1)))

    def use(self, key: Hashable) -> None:
        """Count a use of a parameter."""
        weights = self.weights(key)
        self._uses[weights.start : weights.start + math.prod(weights.shape)] += 1

    def lay_out(self, widest: int) -> tuple[int, int]:
        """Give each slot its offset, those with gradients first; return the numbers of all and of the latter values.

        Args:
            widest: Values of the longest row that is added to a row of zeros.
        """
        if not (self._uses == 1).all():
            raise Unsupported("a parameter that is not used exactly once")
        self.zero.stride = widest
        end = learned_end = 0
        for slot in sorted(self._slots, key=lambda slot: not slot.learned):
            slot.offset = end
            end += slot.rows * slot.stride
            learned_end = end if slot.learned else learned_end
        return end, learned_end

    def places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Place of each parameter, and of its transposed copy, after :meth:`lay_out`; -1: none."""
        places, copies = np.full((2, self.num_parameters), -1)
        for weights, slot, where in self._places:
            (places if slot.learned else copies)[weights.start : weights.start + len(where)] = slot.offset + where
        return places, copies
