"""Decides where the buffers of a program are in the workspace, and writes its instructions as integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.network.collate import MAX_BLOCK_NODES
from bankgcn.kernels.network.program import (
    Buffer,
    Instruction,
    NumColumns,
    Program,
    Slot,
    stride_of,
    width_of,
)
from bankgcn.kernels.ops.blocks import TILE_ROWS, round_up
from bankgcn.kernels.ops.parameters import adam_step, clear_gradient

MAX_OPERANDS = 28
CACHE_LINE = 64  # bytes


class BlockSize(NamedTuple):
    """The largest numbers of nodes, graphs and edges (with a loop for each node) in a block, and of attributes."""

    nodes: int
    graphs: int
    edges: int
    attributes: int


class LinkedProgram(NamedTuple):
    """A program as the executor takes it: each instruction is an address and its operands, one row of integers."""

    prologue: NDArray[np.int64]
    kinds_forward: NDArray[np.int64]
    kinds_backward: NDArray[np.int64]
    forward: NDArray[np.int64]
    backward: NDArray[np.int64]
    epilogue: NDArray[np.int64]
    work_size: int
    readout: tuple[int, int]  # offset and distance of two rows


def link(program: Program, size: BlockSize, update: bool = False) -> LinkedProgram:
    """Lay out the workspace for blocks of this size or a little more, and write the instructions.

    Args:
        program: The program.
        size: Size of the largest block.
        update: Whether the epilogue takes a step of Adam, with the gradient of the batch alone.
    """
    # Rounded, so that calls with similar graphs find the result of an earlier one.
    nodes, graphs, edges = round_up(size.nodes, 64), round_up(size.graphs, 32), round_up(size.edges, 512)
    return _link(program, BlockSize(nodes, graphs, edges, size.attributes), update)


@lru_cache(maxsize=16)
def _link(program: Program, size: BlockSize, update: bool) -> LinkedProgram:
    # Instructions of the epilogue run apart from blocks, but no buffer is so large that it should share memory.
    final = program.epilogue
    if update:
        final = (Instruction(clear_gradient, {}), *final, Instruction(adam_step, {}))
    of_kinds = (program.kinds_forward, program.kinds_backward)
    streams = (program.prologue, *of_kinds, program.forward, program.backward, final)
    everything = [instruction for stream in streams for instruction in stream]
    columns = {
        buffer: size.attributes if buffer.columns is None else buffer.columns
        for instruction in everything
        for buffer in instruction.buffers
    }
    columns[program.readout] = program.readout.columns or 0
    offsets, work_size = _allocate(program, everything, columns, size)

    def operand(value: Any, kind: str) -> tuple[int, ...]:
        if kind == "buffer":
            if value is None:
                return (-1, 0, 0)
            return (
                offsets[value],
                stride_of(columns[value], value.padding, program.dtype),
                width_of(columns[value], value.padding, program.dtype),
            )
        if isinstance(value, Slot):
            return (value.offset, value.stride)
        return (columns[value.buffer],) if isinstance(value, NumColumns) else (int(value),)

    def write(stream: Sequence[Instruction]) -> NDArray[np.int64]:
        code = np.zeros((len(stream), 1 + MAX_OPERANDS), np.int64)
        for row, (operation, operands) in zip(code, stream, strict=True):
            numbers = [n for name, kind in operation.operands.items() for n in operand(operands[name], kind)]
            row[0] = operation.address(program.dtype)
            row[1 : 1 + len(numbers)] = numbers
        return code

    readout = (offsets[program.readout], stride_of(columns[program.readout], "wide", program.dtype))
    prologue, kinds_forward, kinds_backward, forward, backward, epilogue = map(write, streams)
    return LinkedProgram(
        prologue, kinds_forward, kinds_backward, forward, backward, epilogue, work_size, readout
    )  # fmt: skip


def _allocate(
    program: Program, everything: Sequence[Instruction], columns: dict[Buffer, int], size: BlockSize
) -> tuple[dict[Buffer, int], int]:
    """Offset of each buffer, and the size of the workspace. Buffers that are not needed at once share memory."""
    counts = {"node": round_up(size.nodes, TILE_ROWS), "graph": round_up(size.graphs, TILE_ROWS), "edge": size.edges}
    counts["kind"] = round_up(MAX_BLOCK_NODES, TILE_ROWS)
    last = {buffer: number for number, instruction in enumerate(everything) for buffer in instruction.buffers}
    last[program.readout] = len(everything)  # the executor reads it
    free: dict[int, list[int]] = {}  # offsets of free memory by size
    offsets: dict[Buffer, int] = {}
    sizes: dict[Buffer, int] = {}
    end = 0

    def take(buffer: Buffer) -> int:
        nonlocal end
        rows, line = buffer.rows * counts.get(buffer.space, 1), CACHE_LINE // program.dtype.itemsize
        # A few lines more, so that equal rows of two buffers do not compete for the same places in the cache.
        sizes[buffer] = round_up(rows * stride_of(columns[buffer], buffer.padding, program.dtype), line) + 5 * line
        if free.get(sizes[buffer]):
            return free[sizes[buffer]].pop()
        end += sizes[buffer]
        return end - sizes[buffer]

    def release(buffers: Iterable[Buffer]) -> None:
        for buffer in buffers:
            free.setdefault(sizes[buffer], []).append(offsets[buffer])

    for number, (operation, operands) in enumerate(everything):
        used = {name: value for name, value in operands.items() if isinstance(value, Buffer)}
        kept = {buffer for name, buffer in used.items() if name not in operation.in_place}
        ending = [buffer for buffer in dict.fromkeys(used.values()) if last[buffer] == number]
        # The result comes last: it alone may take the memory of an input that ends here.
        for name, buffer in sorted(used.items(), key=lambda item: item[0] == "out"):
            if name == "out":
                release(buffer for buffer in ending if buffer not in kept)
            if buffer not in offsets:
                offsets[buffer] = take(buffer)
        release(buffer for buffer in ending if buffer in kept or "out" not in used)
    # A vector may reach beyond the last row.
    return offsets, end + 64
