"""A program under construction: its instructions, and where its parameters are.

The tape has the instructions forward, and backward in the reverse order of the steps. In padded memory, there is a slot
for each matrix of the parameters, and a place for each value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import Operation
from bankgcn.kernels.network.program import Buffer, Instruction, Padding, Slot, Space, stride_of
from bankgcn.kernels.ops.blocks import TILE_ROWS, round_up
from bankgcn.kernels.ops.linear import add_multiple, scale_by_multiplicity


@dataclass(frozen=True, eq=False)
class Signal:
    """A step's result: a row for each node or graph of a block, or for each kind of nodes.

    Args:
        buffer: Where it is.
        columns: For each of its columns, where it is in the buffer.
    """

    buffer: Buffer
    columns: NDArray[np.int64]

    @property
    def space(self) -> Space:
        """What its rows are."""
        return self.buffer.space

    def like(self) -> Signal:
        """A signal with the same columns, in a buffer of its own."""
        return Signal(Buffer(self.space, self.buffer.columns), self.columns)


class Tape:
    """Instructions, and the gradients that the backward pass has computed so far.

    A step adds its forward instructions with :meth:`emit`, and to ``steps`` a function that adds the backward ones.
    These functions run when the program is complete, the last one first.
    """

    def __init__(self) -> None:
        self.forward: list[Instruction] = []
        self.backward: list[Instruction] = []
        self.kinds_forward: list[Instruction] = []
        self.kinds_backward: list[Instruction] = []
        self.steps: list[Callable[[], None]] = []
        self.gradients: dict[Signal, Buffer] = {}
        self._weighted: dict[Buffer, Buffer] = {}

    def emit(self, operation: Operation, **operands: Any) -> None:
        """Add a forward instruction."""
        instruction = Instruction(operation, operands)
        (self.kinds_forward if _is_of_kinds(instruction) else self.forward).append(instruction)

    def emit_back(self, operation: Operation, **operands: Any) -> None:
        """Add a backward instruction."""
        instruction = Instruction(operation, operands)
        (self.kinds_backward if _is_of_kinds(instruction) else self.backward).append(instruction)

    def run_back(self, outputs: Signal, grad: Buffer) -> None:
        """Add the backward instructions of all steps, given the gradient of the outputs."""
        self.gradients[outputs] = grad
        for step in reversed(self.steps):
            step()

    def give(self, x: Signal, emit: Callable[..., None]) -> None:
        """Add a term to the gradient of ``x``: ``emit`` computes it, added to ``plus``, and writes ``out``."""
        out = Buffer(x.space, x.buffer.columns)
        emit(plus=self.gradients.get(x), out=out)
        self.gradients[x] = out

    def give_result_of(self, signal: Signal, operation: Operation, /, **operands: Any) -> None:
        """Add to the gradient of a signal a term that an operation without ``plus`` computes."""
        term = Buffer(signal.space, signal.buffer.columns)
        self.emit_back(operation, out=term, **operands)
        self.pass_on(signal, term)

    def pass_on(self, x: Signal, grad: Buffer) -> None:
        """Add ``grad`` itself to the gradient of ``x``."""
        if x in self.gradients:
            self.give(x, partial(self.emit_back, add_multiple, x=grad, factor=1))
        else:
            self.gradients[x] = grad

    def weighted_by_nodes(self, grad: Buffer) -> Buffer:
        """The rows times their multiplicity, for sums over nodes; the gradient of a kind is such a sum already."""
        if grad.space == "kind":
            return grad
        if grad not in self._weighted:
            out = Buffer("node", grad.columns)
            self.emit_back(scale_by_multiplicity, x=grad, out=out)
            self._weighted[grad] = out
        return self._weighted[grad]


def _is_of_kinds(instruction: Instruction) -> bool:
    return any(buffer.space == "kind" for buffer in instruction.buffers)


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
        self._places: list[tuple[NDArray[np.int64], Slot, NDArray[np.int64]]] = []
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

    def place(self, key: Hashable, slot: Slot, where: NDArray[np.int64], columns: slice = slice(None)) -> None:
        """Give each value of a parameter a place in a slot; a slot without gradient holds a copy.

        Args:
            key: The parameter.
            slot: The slot.
            where: Where the values are in the slot, in the order of the parameter.
            columns: The columns of the parameter that the slot takes.
        """
        weights = self.weights(key)
        numbers = np.arange(math.prod(weights.shape)).reshape(weights.shape)[..., columns].reshape(-1)
        if len(numbers) != where.size:
            raise Unsupported(f"a parameter of shape {weights.shape} for {where.size} places")
        if slot.learned:
            self._uses[weights.start + numbers] += 1
        self._places.append((weights.start + numbers, slot, where.reshape(-1)))

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
        for numbers, slot, where in self._places:
            (places if slot.learned else copies)[numbers] = slot.offset + where
        return places, copies
