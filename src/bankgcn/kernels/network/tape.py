"""The instructions of a program under construction: forward, and backward in the reverse order of the steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.operation import Operation
from bankgcn.kernels.network.program import Buffer, Instruction, Space
from bankgcn.kernels.ops.rowwise import add_multiple, scale_by_multiplicity


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
