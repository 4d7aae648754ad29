"""Operations: compiled functions that the executor calls by address.

Each one is compiled by itself, when a program first needs it, and cached on disk. So a model compiles only what it
uses, and nothing is compiled again inside its callers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import event, types
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from bankgcn.kernels.jit.compiler import OPTIONS, cached_on_disk

TYPES = {np.dtype(np.float32): types.float32, np.dtype(np.float64): types.float64}


class Operation:
    """What an instruction of a program does.

    Args:
        function: Python function that numba compiles. Its arguments are pointers: the operands of the instruction, the
            table of the block (:mod:`bankgcn.kernels.ops.blocks`), the workspace, the parameters, and their
            gradients.
        operands: Names of the operands. ``x: buffer`` stands for three numbers: offset in the workspace, distance of
            two rows, padded width; ``w: slot`` for two: offset in the parameters, distance of two rows.
        in_place: Buffers that may share the memory of the result.
    """

    def __init__(self, function: Callable[..., None], operands: str, in_place: tuple[str, ...] = ()):
        self.name = function.__name__
        self.function = function
        parts = [part.strip().partition(":") for part in operands.split(",") if part.strip()]
        self.operands = {name.strip(): kind.strip() or "number" for name, _, kind in parts}
        self.in_place = in_place
        self._compiled: dict[np.dtype, Any] = {}

    def address(self, dtype: np.dtype) -> int:
        """Address of the machine code for floats of this type; compiles it or loads it from disk if necessary."""
        if dtype not in self._compiled:
            self._compiled[dtype] = self._compile(dtype)
        return int(self._compiled[dtype].address)

    def _compile(self, dtype: np.dtype) -> Any:
        integers, floats = types.CPointer(types.int64), types.CPointer(TYPES[dtype])
        signature = types.void(integers, integers, floats, floats, floats)
        options = {name: value for name, value in OPTIONS.items() if name != "nogil"}
        compiled = CFunc(self.function, (signature.args, signature.return_type), {}, options)
        cached_on_disk(compiled, self.function)
        details = {"dispatcher": numba.njit(self.function)}  # numba reports the compilation of dispatchers only
        with event.trigger_event("numba:compile", data=details):
            compiled.compile()
        return compiled


def operation(operands: str, in_place: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Operation]:
    """Make an :class:`Operation` of a function."""
    return lambda function: Operation(function, operands, in_place)


@intrinsic
def unpack(typingctx, instruction, count):
    """The first ``count`` operands of an instruction, as a tuple; ``count`` is a constant."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    numbers = types.UniTuple(types.int64, count.literal_value)

    def generate(context, builder, signature, arguments):
        places = (builder.gep(arguments[0], [ir.Constant(ir.IntType(64), k)]) for k in range(count.literal_value))
        return context.make_tuple(builder, numbers, [builder.load(place) for place in places])

    return numbers(instruction, count), generate


@intrinsic
def call(typingctx, address, instruction, table, work, parameters, gradients):
    """Call the operation at an address."""

    def generate(context, builder, signature, arguments):
        target, *rest = arguments
        kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in rest])
        builder.call(builder.inttoptr(target, kind.as_pointer()), rest)
        return context.get_dummy_value()

    return types.void(types.int64, instruction, table, work, parameters, gradients), generate
