"""Runs one operation of a program on dense matrices.

Matrices are laid out as in a program: rows are padded with zeros to whole vectors. The gap after each row, the rows
that fill the last tile and the memory between two matrices hold NaN: an operation that uses them has a wrong result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bankgcn.kernels.jit.compiler import Operation
from bankgcn.kernels.network.executor import _run
from bankgcn.kernels.network.program import MAX_OPERANDS, Padding, stride_of, width_of
from bankgcn.kernels.ops import blocks as entry
from bankgcn.kernels.ops.blocks import TILE_ROWS, round_up

DTYPES = [np.dtype(np.float64), np.dtype(np.float32)]
TOLERANCE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}
BETWEEN = 64  # values between two matrices


@dataclass(frozen=True)
class Matrix:
    """An operand that is a buffer or a slot.

    Args:
        values: Its values; NaN where the operation writes a result.
        padding: See :class:`bankgcn.kernels.network.program.Buffer`.
    """

    values: np.ndarray
    padding: Padding = "wide"


def result(rows: int, columns: int, padding: Padding = "wide") -> Matrix:
    """A buffer that the operation writes."""
    return Matrix(np.full((rows, columns), np.nan), padding)


@dataclass
class Outcome:
    """Dense matrices after an operation: buffers, and what it added to the gradients of slots, by operand."""

    buffers: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray]


@dataclass
class _Memory:
    """A vector with matrices at known places."""

    dtype: np.dtype
    matrices: dict[str, Matrix] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    end: int = BETWEEN

    def place(self, name: str, matrix: Matrix) -> None:
        self.matrices[name], self.starts[name] = matrix, self.end
        rows = round_up(len(matrix.values), TILE_ROWS)
        self.end += rows * self.stride(name) + BETWEEN

    def stride(self, name: str) -> int:
        matrix = self.matrices[name]
        return stride_of(matrix.values.shape[1], matrix.padding, self.dtype)

    def width(self, name: str) -> int:
        matrix = self.matrices[name]
        return width_of(matrix.values.shape[1], matrix.padding, self.dtype)

    def rows(self, vector: np.ndarray, name: str) -> np.ndarray:
        """View of the rows of a matrix, with padding."""
        count, stride = len(self.matrices[name].values), self.stride(name)
        whole = vector[self.starts[name] : self.starts[name] + count * stride]
        return whole.reshape(count, stride)[:, : self.width(name)]

    def vector(self) -> np.ndarray:
        vector = np.full(self.end, np.nan, self.dtype)
        for name, matrix in self.matrices.items():
            rows = self.rows(vector, name)
            rows[:] = 0
            rows[:, : matrix.values.shape[1]] = matrix.values
        return vector

    def read(self, vector: np.ndarray, name: str) -> np.ndarray:
        return self.rows(vector, name)[:, : self.matrices[name].values.shape[1]].astype(np.float64)

    def check_between(self, vector: np.ndarray) -> None:
        """Nothing was written between two matrices."""
        for name, start in self.starts.items():
            end = start + round_up(len(self.matrices[name].values), TILE_ROWS) * self.stride(name)
            assert np.isnan(vector[start - BETWEEN : start]).all(), f"written before {name}"
            assert np.isnan(vector[end : end + BETWEEN]).all(), f"written after {name}"


def run(
    operation: Operation, dtype: np.dtype, operands: dict[str, Any], table: dict[int, Any] | None = None
) -> Outcome:
    """Run an operation.

    Args:
        operation: The operation.
        dtype: Type of all floats.
        operands: Its operands by name: a number, a :class:`Matrix` or a dense array for a buffer or slot, ``None`` for
            a buffer that is left out or a slot of zeros; a string names the operand whose memory a result shares.
        table: Entries of the block's table: numbers, or arrays, of which the table has the addresses.

    Returns:
        Buffers after the operation, and the differences that it made to gradients. Checks that inputs are unchanged and
        that the padding of ``out`` is 0, apart from rows that hold NaN or infinity.
    """
    assert set(operands) == set(operation.operands)
    work, slots = _Memory(dtype), _Memory(dtype)
    widest = max([1, *(value.shape[1] for value in map(_values, operands.values()) if value is not None)])
    for name, kind in operation.operands.items():
        value = operands[name]
        if isinstance(value, np.ndarray):
            value = Matrix(np.atleast_2d(value))
        if isinstance(value, Matrix):
            (work if kind == "buffer" else slots).place(name, value)
        elif value is None and kind == "slot":
            slots.place(name, Matrix(np.zeros((1, 2 * widest + 64))))
    owner = {name: operands[name] if isinstance(operands[name], str) else name for name in operands}
    row: list[int] = []
    for name, kind in operation.operands.items():
        source = owner[name]
        if kind == "buffer":
            missing = source not in work.starts
            row += [-1, 0, 0] if missing else [work.starts[source], work.stride(source), work.width(source)]
        elif kind == "slot":
            row += [slots.starts[name], slots.stride(name)]
        else:
            row.append(int(operands[name]))
    code = np.zeros((1, 1 + MAX_OPERANDS), np.int64)
    code[0, 0], code[0, 1 : 1 + len(row)] = operation.address(dtype), row

    numbers, kept = np.zeros(entry.SIZE, np.int64), []
    for place, value in (table or {}).items():
        if isinstance(value, np.ndarray):
            kept.append(value)  # the table has its address only
            assert value.flags.c_contiguous
        numbers[place] = value.ctypes.data if isinstance(value, np.ndarray) else value
    workspace, parameters = work.vector(), slots.vector()
    before = np.random.default_rng(9).normal(size=len(parameters)).astype(dtype)
    before[np.isnan(parameters)] = np.nan
    gradients = before.copy()
    _run(code, numbers, workspace, parameters, gradients)

    for memory, vector in ((work, workspace), (slots, parameters), (slots, gradients)):
        memory.check_between(vector)
    np.testing.assert_array_equal(parameters, slots.vector())
    shared = {name for name in owner.values() if list(owner.values()).count(name) > 1}
    for name, matrix in work.matrices.items():
        found = work.rows(workspace, name)
        if name in shared or name == "out":
            normal = np.isfinite(found[:, : matrix.values.shape[1]]).all(1)
            assert not found[normal, matrix.values.shape[1] :].any(), f"the padding of {name} is not 0"
        elif not np.isnan(matrix.values).all():
            given = matrix.values.astype(dtype)
            np.testing.assert_array_equal(work.read(workspace, name), given, err_msg=f"{name} was changed")
    buffers = {name: work.read(workspace, source) for name, source in owner.items() if source in work.starts}
    with np.errstate(invalid="ignore"):
        change = {name: slots.read(gradients, name) - slots.read(before, name) for name in slots.matrices}
    return Outcome(buffers, change)


def _values(value: Any) -> np.ndarray | None:
    value = value.values if isinstance(value, Matrix) else value
    return np.atleast_2d(value) if isinstance(value, np.ndarray) else None


def assert_close(actual: np.ndarray, expected: Any, dtype: np.dtype) -> None:
    """Equal up to the rounding of this type."""
    expected = np.asarray(expected, np.float64)
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=1)
    np.testing.assert_allclose(actual, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale)
