"""Vectors for compiled passes: numbers that lie side by side in registers and are computed with at once.

numba leaves it to LLVM to find vectors in a loop, and LLVM does not find them where it matters here: in a product of
matrices that keeps a tile of its result in registers, in a sum over neighbours that ends in further terms. With these a
pass says what it means. Their widths suit registers of 32 bytes; LLVM splits them where a processor has smaller ones.

A number may stand where a vector is expected, and counts as a vector that has it everywhere.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

ROW = 256  # bytes of eight registers
STRIP = 128  # bytes of four
PAIR = 64  # bytes of two
FLAGS = ("reassoc", "contract", "nsz", "arcp")  # as those of ``compiled``


class Vector(types.Type):
    """The type of a vector.

    Args:
        element: The type of its numbers.
        size: Its bytes.
    """

    def __init__(self, element: Any, size: int):
        self.element = element
        self.lanes = size // (element.bitwidth // 8)
        super().__init__(name=f"Vector({element} x {self.lanes})")

    @property
    def suffix(self) -> str:
        """What LLVM calls functions of such vectors."""
        return f"v{self.lanes}f{self.element.bitwidth}"


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector):
        element = manager.lookup(vector.element).get_value_type()
        super().__init__(manager, vector, ir.VectorType(element, vector.lanes))


@intrinsic
def load(typingctx, like, array, i, j):
    """The vector that starts at ``array[i, j]``, as wide as the one it shall be like."""

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[1], arguments[1:], arguments[0].type)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return like(like, array, types.intp, types.intp), generate


@intrinsic
def store(typingctx, array, i, j, value):
    """Write a vector to where ``array[i, j]`` starts."""

    def generate(context, builder, signature, arguments):
        *place, vector = arguments
        pointer = _pointer(context, builder, signature.args[0], place, vector.type)
        builder.store(vector, pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, value), generate


@intrinsic
def lanes(typingctx, vector):
    """How many numbers a vector has."""

    def generate(context, builder, signature, arguments):
        return context.get_constant(types.intp, vector.lanes)

    return types.intp(vector), generate


@intrinsic
def none_of(typingctx, like):
    """A vector of that width that is zero everywhere."""

    def generate(context, builder, signature, arguments):
        return _zero(arguments[0])

    return like(like), generate


@intrinsic
def strip_of(typingctx, number):
    """Four registers that have this number everywhere."""
    return _filled(number, STRIP)


@intrinsic
def row_of(typingctx, number):
    """Eight registers that have this number everywhere."""
    return _filled(number, ROW)


@intrinsic
def pair_of(typingctx, number):
    """Two registers that have this number everywhere."""
    return _filled(number, PAIR)


def _filled(number: Any, size: int) -> Any:
    vector = Vector(number, size)

    def generate(context, builder, signature, arguments):
        return _spread(builder, context.get_value_type(vector), arguments[0])

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
def times(typingctx, a, b):
    """``a * b``."""
    return _elementwise(lambda builder, vector, arguments: builder.fmul(*arguments, flags=FLAGS), a, b)


@intrinsic
def plus(typingctx, a, b):
    """``a + b``."""
    return _elementwise(lambda builder, vector, arguments: builder.fadd(*arguments, flags=FLAGS), a, b)


@intrinsic
def minus(typingctx, a, b):
    """``a - b``."""
    return _elementwise(lambda builder, vector, arguments: builder.fsub(*arguments, flags=FLAGS), a, b)


@intrinsic
def over(typingctx, a, b):
    """``a / b``."""
    return _elementwise(lambda builder, vector, arguments: builder.fdiv(*arguments, flags=FLAGS), a, b)


@intrinsic
def rectified(typingctx, a):
    """``a`` where it is positive, else 0; NaN stays NaN, without its sign."""

    def build(builder, vector, arguments):
        (value,) = arguments
        chosen = builder.select(_positive(builder, value), value, _zero(value))
        kind = ir.FunctionType(value.type, [value.type])
        absolute = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.{vector.suffix}")
        return builder.call(absolute, [chosen])

    return _elementwise(build, a)


@intrinsic
def higher(typingctx, a, b):
    """The larger one of each two numbers without a sign; NaN is larger than all others.

    Their bits are compared: such floats are ordered as the integers of the same bits are.
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
def total(typingctx, a):
    """The sum of the numbers of a vector."""

    def generate(context, builder, signature, arguments):
        (value,) = arguments
        element = value.type.element
        name = f"llvm.vector.reduce.fadd.{a.suffix}"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(element, [element, value.type]), name)
        return builder.call(function, [ir.Constant(element, 0.0), value], fastmath=("reassoc",))

    return a.element(a), generate


def _elementwise(build: Any, *operands: types.Type) -> Any:
    """Signature and generator of an operation of vectors, some of which may be numbers."""
    vector = next(operand for operand in operands if isinstance(operand, Vector))
    taken = [operand if isinstance(operand, Vector) else vector.element for operand in operands]

    def generate(context, builder, signature, arguments):
        kind = context.get_value_type(vector)
        wide = [
            value if isinstance(operand, Vector) else _spread(builder, kind, value)
            for operand, value in zip(taken, arguments, strict=True)
        ]
        return build(builder, vector, wide)

    return vector(*taken), generate


def _positive(builder: Any, value: Any) -> Any:
    """Where a vector is positive or NaN."""
    return builder.fcmp_unordered(">", value, _zero(value))


def _zero(value: Any) -> ir.Constant:
    return ir.Constant(value.type, [0.0] * value.type.count)


def _spread(builder: Any, kind: ir.VectorType, number: Any) -> Any:
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), everywhere)


def _pointer(context: Any, builder: Any, kind: types.Array, place: Any, vector: ir.VectorType) -> Any:
    """Where the vector lies that starts at ``array[i, j]``."""
    array, i, j = place
    struct = context.make_array(kind)(context, builder, array)
    pointer = cgutils.get_item_pointer(context, builder, kind, struct, [i, j], wraparound=False, boundscheck=False)
    return builder.bitcast(pointer, vector.as_pointer())
