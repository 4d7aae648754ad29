"""Vectors for compiled kernels: a fixed number of values that the processor computes with in one instruction.

LLVM vectorises most loops by itself, but not the two that matter here: a matrix product that keeps a tile of its result
in registers, and a sum over neighbours that is used in further terms. With these intrinsics a kernel names its vectors.
Their widths are multiples of a register of 32 bytes; LLVM splits them where a processor has smaller ones.

Where an operation takes a vector, a scalar is broadcast.
"""

from __future__ import annotations

import math
from functools import partial
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
        lanes: Number of values.
    """

    def __init__(self, element: Any, lanes: int):
        self.element = element
        self.lanes = lanes
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
def pointer_to(typingctx, array):
    """Pointer to the first value of an array; the caller keeps the array alive."""

    def generate(context, builder, signature, arguments):
        return context.make_array(array)(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), generate


@intrinsic
def advance(typingctx, pointer, offset):
    """The pointer to the value that is so many values further."""

    def generate(context, builder, signature, arguments):
        return builder.gep(arguments[0], [arguments[1]])

    return pointer(pointer, types.int64), generate


@intrinsic
def floats_at(typingctx, like, address):
    """Pointer to the floats at an address, of the type of the pointer ``like``."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[1], arguments[0].type)

    return like(like, types.int64), generate


@intrinsic
def integers_at(typingctx, address):
    """Pointer to the 64-bit integers at an address."""
    return _pointer_at(types.int64)


@intrinsic
def doubles_at(typingctx, address):
    """Pointer to the 64-bit floats at an address."""
    return _pointer_at(types.float64)


def _pointer_at(element: Any) -> Any:
    pointer = types.CPointer(element)

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(types.int64), generate


@intrinsic
def as_double(typingctx, bits):
    """The 64-bit float that has these bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def load(typingctx, like, pointer, offset):
    """The vector that starts at ``pointer[offset]``, of the type of ``like``."""

    def generate(context, builder, signature, arguments):
        vector, start, offset = arguments
        place = builder.bitcast(builder.gep(start, [offset]), vector.type.as_pointer())
        return builder.load(place, align=pointer.dtype.bitwidth // 8)

    return like(like, pointer, types.int64), generate


@intrinsic
def store(typingctx, pointer, offset, value):
    """Write a vector, from ``pointer[offset]`` on."""

    def generate(context, builder, signature, arguments):
        start, offset, vector = arguments
        place = builder.bitcast(builder.gep(start, [offset]), vector.type.as_pointer())
        builder.store(vector, place, align=pointer.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(pointer, types.int64, value), generate


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
        return _zero(arguments[0].type)

    return like(like), generate


@intrinsic
def zeros2(typingctx, pointer):
    """A vector of two registers, filled with 0, of the type of the values at the pointer."""
    return _zeros(pointer, 2)


@intrinsic
def zeros4(typingctx, pointer):
    """A vector of four registers, filled with 0."""
    return _zeros(pointer, 4)


@intrinsic
def zeros8(typingctx, pointer):
    """A vector of eight registers, filled with 0."""
    return _zeros(pointer, 8)


def _zeros(pointer: types.CPointer, registers: int) -> Any:
    vector = Vector(pointer.dtype, registers * REGISTER_BYTES // (pointer.dtype.bitwidth // 8))

    def generate(context, builder, signature, arguments):
        return _zero(context.get_value_type(vector))

    return vector(pointer), generate


@intrinsic
def zeros_of_lanes(typingctx, pointer, lanes):
    """A vector of so many values, a constant, filled with 0."""
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    vector = Vector(pointer.dtype, lanes.literal_value)

    def generate(context, builder, signature, arguments):
        return _zero(context.get_value_type(vector))

    return vector(pointer, lanes), generate


@intrinsic
def number(typingctx, pointer, value):
    """The value as a number of the type of those at the pointer."""
    kind = pointer.dtype

    def generate(context, builder, signature, arguments):
        return context.cast(builder, arguments[1], value, kind)

    return kind(pointer, value), generate


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
        chosen = builder.select(_positive(builder, value), value, _zero(value.type))
        kind = ir.FunctionType(value.type, [value.type])
        absolute = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.{vector.suffix}")
        return builder.call(absolute, [chosen])

    return _elementwise(build, a)


@intrinsic
def maximum(typingctx, a, b):
    """The larger value of each pair; NaN counts as largest."""

    def build(builder, vector, arguments):
        first, second = arguments
        larger = builder.fcmp_ordered(">", first, second)
        undefined = builder.fcmp_unordered("uno", first, first)
        return builder.select(builder.or_(larger, undefined), first, second)

    return _elementwise(build, a, b)


@intrinsic
def exp(typingctx, a):
    """The exponential function of values that are at most 0; those below -87 (-708 in double precision) count as that.

    ``exp(x) = 2^n exp(r)`` with an integer n and ``|r| <= log(2) / 2``, where the Taylor series converges fast.
    """

    def build(builder, vector, arguments):
        (value,) = arguments
        kind, width = value.type, vector.element.bitwidth
        lowest, terms, mantissa, bias = (-87.0, 8, 23, 127) if width == 32 else (-708.0, 14, 52, 1023)
        fill = partial(_constant, kind)
        low = builder.fcmp_ordered("<", value, fill(lowest))
        value = builder.select(low, fill(lowest), value)
        function = ir.FunctionType(kind, [kind])
        rounding = cgutils.get_or_insert_function(builder.module, function, f"llvm.rint.{vector.suffix}")
        n = builder.call(rounding, [builder.fmul(value, fill(1 / math.log(2)))])
        # log(2) in two parts, of which the first times n is exact. The second has digits that a double log(2) lacks.
        high, low = 0.693359375, -2.121944400546905827679e-4
        r = builder.fsub(value, builder.fmul(n, fill(high)))
        r = builder.fsub(r, builder.fmul(n, fill(low)))
        result = fill(1 / math.factorial(terms - 1))
        for power in reversed(range(terms - 1)):
            result = builder.fadd(builder.fmul(result, r, flags=FLAGS), fill(1 / math.factorial(power)), flags=FLAGS)
        whole = ir.VectorType(ir.IntType(width), vector.lanes)
        exponent = builder.add(builder.fptosi(n, whole), ir.Constant(whole, [bias] * vector.lanes))
        scale = builder.shl(exponent, ir.Constant(whole, [mantissa] * vector.lanes))
        return builder.fmul(result, builder.bitcast(scale, kind))

    return _elementwise(build, a)


@intrinsic
def where_equal(typingctx, a, b, value):
    """``value`` where ``a`` equals ``b``, else 0."""

    def build(builder, vector, arguments):
        first, second, chosen = arguments
        return builder.select(builder.fcmp_ordered("==", first, second), chosen, _zero(chosen.type))

    return _elementwise(build, a, b, value)


@intrinsic
def where_positive(typingctx, a, value):
    """``value`` where ``a`` is positive or NaN, else 0."""

    def build(builder, vector, arguments):
        tested, chosen = arguments
        return builder.select(_positive(builder, tested), chosen, _zero(chosen.type))

    return _elementwise(build, a, value)


@intrinsic
def square_root(typingctx, a):
    """The square roots."""

    def build(builder, vector, arguments):
        kind = arguments[0].type
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind]), f"llvm.sqrt.{vector.suffix}"
        )
        return builder.call(function, arguments)

    return _elementwise(build, a)


@intrinsic
def tile(typingctx, narrow, like):
    """The values of a vector again and again, as many as ``like`` has."""

    def generate(context, builder, signature, arguments):
        (value, _) = arguments
        return _shuffle(builder, value, [k % narrow.lanes for k in range(like.lanes)])

    return like(narrow, like), generate


@intrinsic
def fold(typingctx, wide, like):
    """The sum of the parts of a vector, each of which has as many values as ``like``: the adjoint of :func:`tile`."""

    def generate(context, builder, signature, arguments):
        (value, _) = arguments
        count = wide.lanes
        while count > like.lanes:  # adds the second half to the first
            count //= 2
            first = _shuffle(builder, value, list(range(count)))
            value = builder.fadd(first, _shuffle(builder, value, list(range(count, 2 * count))), flags=FLAGS)
        return value

    return like(wide, like), generate


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
    return builder.fcmp_unordered(">", value, _zero(value.type))


def _zero(kind: ir.VectorType) -> ir.Constant:
    return ir.Constant(kind, [0.0] * kind.count)


def _constant(kind: ir.VectorType, number: float) -> ir.Constant:
    return ir.Constant(kind, [number] * kind.count)


def _fill(builder: Any, kind: ir.VectorType, number: Any) -> Any:
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), everywhere)


def _shuffle(builder: Any, value: Any, places: list[int]) -> Any:
    chosen = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), chosen)
