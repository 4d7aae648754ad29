"""Vectors for compiled kernels: a fixed number of values that the processor computes with in one instruction.

LLVM vectorises most loops by itself, but not the two that matter here: a matrix product that keeps a tile of its result
in registers, and a sum over neighbours that is used in further terms. With these intrinsics a kernel names its vectors.
Their widths are multiples of a register of 32 bytes; LLVM splits them where a processor has smaller ones.

Where an operation takes a vector, a scalar is broadcast.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

from bankgcn.kernels.jit.compiler import FASTMATH

REGISTER_BYTES = 32
FLAGS = tuple(sorted(FASTMATH))


class Vector(types.Type):
    """The numba type of a vector.

    Args:
        element: Type of its values.
        registers: Number of registers that it fills.
    """

    def __init__(self, element: Any, registers: int):
        self.element = element
        self.lanes = registers * REGISTER_BYTES // (element.bitwidth // 8)
        super().__init__(name=f"Vector({element} x {self.lanes})")

    @property
    def suffix(self) -> str:
        """Suffix of LLVM's intrinsics for this type."""
        return f"v{self.lanes}f{self.element.bitwidth}"


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector):
        element = manager.lookup(vector.element).get_value_type()
        super().__init__(manager, vector, ir.VectorType(element, vector.lanes))


@intrinsic
def load(typingctx, like, array, i, j):
    """The vector that starts at ``array[i, j]``, of the type of ``like``."""

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[1], arguments[1:], arguments[0].type)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return like(like, array, types.intp, types.intp), generate


@intrinsic
def store(typingctx, array, i, j, value):
    """Write a vector to the array, from ``array[i, j]`` on."""

    def generate(context, builder, signature, arguments):
        *place, vector = arguments
        pointer = _pointer(context, builder, signature.args[0], place, vector.type)
        builder.store(vector, pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, value), generate


@intrinsic
def lanes(typingctx, vector):
    """Number of values in a vector."""

    def generate(context, builder, signature, arguments):
        return context.get_constant(types.intp, vector.lanes)

    return types.intp(vector), generate


@intrinsic
def zeros_like(typingctx, like):
    """A vector of the type of ``like``, filled with 0."""

    def generate(context, builder, signature, arguments):
        return _zero(arguments[0])

    return like(like), generate


@intrinsic
def broadcast2(typingctx, number):
    """A vector of two registers, filled with this number."""
    return _broadcast(number, 2)


@intrinsic
def broadcast4(typingctx, number):
    """A vector of four registers, filled with this number."""
    return _broadcast(number, 4)


@intrinsic
def broadcast8(typingctx, number):
    """A vector of eight registers, filled with this number."""
    return _broadcast(number, 8)


def _broadcast(number: Any, registers: int) -> Any:
    vector = Vector(number, registers)

    def generate(context, builder, signature, arguments):
        return _fill(builder, context.get_value_type(vector), arguments[0])

    return vector(number), generate


@intrinsic
def fma(typingctx, a, b, c):
    """``a * b + c``."""

    def build(builder, vector, arguments):
        kind = arguments[0].type
        name = f"llvm.fmuladd.{vector.suffix}"
        return builder.call(
            cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name), arguments
        )

    return _elementwise(build, a, b, c)


@intrinsic
def multiply(typingctx, a, b):
    """``a * b``."""
    return _elementwise(lambda builder, vector, arguments: builder.fmul(*arguments, flags=FLAGS), a, b)


@intrinsic
def add(typingctx, a, b):
    """``a + b``."""
    return _elementwise(lambda builder, vector, arguments: builder.fadd(*arguments, flags=FLAGS), a, b)


@intrinsic
def subtract(typingctx, a, b):
    """``a - b``."""
    return _elementwise(lambda builder, vector, arguments: builder.fsub(*arguments, flags=FLAGS), a, b)


@intrinsic
def divide(typingctx, a, b):
    """``a / b``."""
    return _elementwise(lambda builder, vector, arguments: builder.fdiv(*arguments, flags=FLAGS), a, b)


@intrinsic
def relu(typingctx, a):
    """``max(a, 0)``; NaN stays NaN, with its sign bit cleared."""

    def build(builder, vector, arguments):
        (value,) = arguments
        chosen = builder.select(_positive(builder, value), value, _zero(value))
        kind = ir.FunctionType(value.type, [value.type])
        absolute = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.{vector.suffix}")
        return builder.call(absolute, [chosen])

    return _elementwise(build, a)


@intrinsic
def maximum(typingctx, a, b):
    """The larger value of each pair, for values whose sign bit is 0; NaN counts as largest.

    Compares the bits: floats without a sign bit have the same order as the integers with the same bits.
    """

    def build(builder, vector, arguments):
        bits = ir.VectorType(ir.IntType(vector.element.bitwidth), vector.lanes)
        larger = builder.icmp_signed(">", *(builder.bitcast(value, bits) for value in arguments))
        return builder.select(larger, *arguments)

    return _elementwise(build, a, b)


@intrinsic
def where_equal(typingctx, a, b, value):
    """``value`` where ``a`` equals ``b``, else 0."""

    def build(builder, vector, arguments):
        first, second, chosen = arguments
        return builder.select(builder.fcmp_ordered("==", first, second), chosen, _zero(chosen))

    return _elementwise(build, a, b, value)


@intrinsic
def where_positive(typingctx, a, value):
    """``value`` where ``a`` is positive or NaN, else 0."""

    def build(builder, vector, arguments):
        tested, chosen = arguments
        return builder.select(_positive(builder, tested), chosen, _zero(chosen))

    return _elementwise(build, a, value)


@intrinsic
def reduce_sum(typingctx, a):
    """The sum of the values of a vector."""

    def generate(context, builder, signature, arguments):
        (value,) = arguments
        element = value.type.element
        name = f"llvm.vector.reduce.fadd.{a.suffix}"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(element, [element, value.type]), name)
        return builder.call(function, [ir.Constant(element, 0.0), value], fastmath=("reassoc",))

    return a.element(a), generate


def _elementwise(build: Any, *operands: types.Type) -> Any:
    """Signature and code generator of an operation on vectors, some of which may be scalars."""
    vector = next(operand for operand in operands if isinstance(operand, Vector))
    taken = [operand if isinstance(operand, Vector) else vector.element for operand in operands]

    def generate(context, builder, signature, arguments):
        kind = context.get_value_type(vector)
        wide = [
            value if isinstance(operand, Vector) else _fill(builder, kind, value)
            for operand, value in zip(taken, arguments, strict=True)
        ]
        return build(builder, vector, wide)

    return vector(*taken), generate


def _positive(builder: Any, value: Any) -> Any:
    """Mask of the values that are positive or NaN."""
    return builder.fcmp_unordered(">", value, _zero(value))


def _zero(value: Any) -> ir.Constant:
    return ir.Constant(value.type, [0.0] * value.type.count)


def _fill(builder: Any, kind: ir.VectorType, number: Any) -> Any:
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), everywhere)


def _pointer(context: Any, builder: Any, kind: types.Array, place: Any, vector: ir.VectorType) -> Any:
    """Pointer to the vector that starts at ``array[i, j]``."""
    array, i, j = place
    struct = context.make_array(kind)(context, builder, array)
    pointer = cgutils.get_item_pointer(context, builder, kind, struct, [i, j], wraparound=False, boundscheck=False)
    return builder.bitcast(pointer, vector.as_pointer())
