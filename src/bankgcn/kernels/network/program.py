"""A network as a list of instructions, which the executor runs on one block of graphs after another.

An instruction names an operation of :mod:`bankgcn.kernels.ops` and its operands: buffers of the workspace, slots of the
padded parameters, and numbers. A buffer is written once and never changed, apart from the readouts, whose columns are
written one part after another; :func:`~bankgcn.kernels.network.program.link` decides which buffers share memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import Operation
from bankgcn.kernels.ops.blocks import TILE_ROWS, padded_width, round_up, row_stride
from bankgcn.kernels.ops.parameters import clear_gradient

MAX_BLOCK_NODES = 96  # a graph with more nodes is a block by itself
Space = Literal["label", "kind", "node", "graph", "edge", "block"]
Padding = Literal["wide", "narrow", "none"]


@dataclass(frozen=True, eq=False)
class Buffer:
    """Intermediate results of a block.

    Args:
        space: What its rows are: the nodes of the block, its graphs, its edges (each node's loop to itself included),
            kinds of nodes (:mod:`~bankgcn.kernels.network.kinds`), or of a number that does not depend on the block. A
            buffer of labels has no memory: it stands for rows of weights that labels select.
        columns: Number of columns; ``None`` stands for the number of attributes.
        rows: Rows for each node, graph or edge, or for the block.
        padding: Whether rows have padding and gap (see :mod:`bankgcn.kernels.ops.blocks`), padding to vectors of two
            registers, or none.
    """

    space: Space
    columns: int | None
    rows: int = 1
    padding: Padding = "wide"


@dataclass(eq=False)
class Slot:
    """A padded matrix of parameters.

    Args:
        rows: Number of rows.
        columns: Number of columns.
        stride: Distance of two rows.
        learned: Whether it has a gradient.
        offset: Where it starts in the padded parameters; known when the program is complete.
    """

    rows: int
    columns: int
    stride: int
    learned: bool
    offset: int = -1


@dataclass(frozen=True)
class NumColumns:
    """An operand: the number of columns of a buffer."""

    buffer: Buffer


class Instruction(NamedTuple):
    """An operation and its operands by name; ``None`` is a buffer that is left out."""

    operation: Operation
    operands: dict[str, Any]

    @property
    def buffers(self) -> list[Buffer]:
        """The buffers among the operands."""
        return [value for value in self.operands.values() if isinstance(value, Buffer)]


class Operator(NamedTuple):
    r"""The matrix that a convolution multiplies signals by: ``left (A + loop I) right`` with diagonal factors.

    Args:
        kind: A name in ``bankgcn.kernels.network.collate.OPERATORS``.
        loop: Weight of the node itself, if the kind leaves it open.
        edges: What becomes of the features of edges, names of :data:`bankgcn.nn.names.EDGE_USES`: ``"weights"`` keeps
            them for the convolutions, ``"input"`` adds those of a node's edges to the attributes of the node.
    """

    kind: str
    loop: float = 0.0
    edges: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Program:
    """A network without its parameters, which all functions take as one vector ``theta``, in torch's order.

    Args:
        dtype: Type of all floats.
        in_channels: Width of the node signals.
        embedding: If the first layer looks integer attributes up: the number of values of each column; else empty.
        operator: What the convolutions multiply by.
        num_parameters: Length of ``theta``.
        prologue: Instructions before the blocks of a batch: from ``theta`` to the padded parameters.
        kinds_forward: Instructions for a block of kinds of nodes, before the blocks of graphs; empty without kinds.
        kinds_backward: Their gradients, after the blocks of graphs; the forward instructions run once more before.
        forward: Instructions for a block, up to the readouts and, with a loss, the outputs.
        backward: The loss and all gradients; empty without a loss.
        epilogue: Instructions after the blocks of a batch: from padded gradients to those of ``theta``.
        places: Place of each parameter in the padded ones, shape ``(num_parameters,)``; -1: the prologue expands it.
        copies: Place of its transposed copy; -1: none.
        bases: Chebyshev coefficients of the basis polynomials of each filter bank, one polynomial after another.
        readout: The buffer of the readouts, one row per graph.
        readout_columns: Column of the buffer for each column of the network's representation of a graph.
        column_numbers: See ``COLUMNS`` in :mod:`bankgcn.kernels.ops.blocks`.
        num_outputs: Width of the network's output.
        gradient_size: Number of padded values that have a gradient; they come first.
        parameter_size: Number of padded values.
        kind_columns: Number of values that nodes read of their kind.
        drops_nodes: Whether values of single nodes are dropped at random, so that equal nodes differ.
        graph_features: Number of features of each graph that the head takes. Readouts do not depend on them.
    """

    dtype: np.dtype
    in_channels: int
    embedding: tuple[int, ...]
    operator: Operator
    num_parameters: int
    prologue: tuple[Instruction, ...]
    kinds_forward: tuple[Instruction, ...]
    kinds_backward: tuple[Instruction, ...]
    forward: tuple[Instruction, ...]
    backward: tuple[Instruction, ...]
    epilogue: tuple[Instruction, ...]
    places: NDArray[np.int64]
    copies: NDArray[np.int64]
    bases: NDArray[np.floating]
    readout: Buffer
    readout_columns: NDArray[np.int64]
    column_numbers: NDArray[np.int64]
    num_outputs: int
    gradient_size: int
    parameter_size: int
    kind_columns: int
    drops_nodes: bool = False
    graph_features: int = 0


def stride_of(columns: int, padding: Padding, dtype: np.dtype) -> int:
    """Distance of two rows."""
    return row_stride(columns, dtype) if padding == "wide" else width_of(columns, padding, dtype)


def width_of(columns: int, padding: Padding, dtype: np.dtype) -> int:
    """Number of columns with padding."""
    if padding == "none":
        return columns
    return padded_width(columns, dtype, registers=4 if padding == "wide" else 2)


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


def link(program: Program, size: BlockSize, update: tuple[Operation, ...] = ()) -> LinkedProgram:
    """Lay out the workspace for blocks of this size or a little more, and write the instructions.

    Args:
        program: The program.
        size: Size of the largest block.
        update: Operations at the end of the epilogue that take a step, with the gradient of the batch alone.
    """
    # Rounded, so that calls with similar graphs find the result of an earlier one.
    nodes, graphs, edges = round_up(size.nodes, 64), round_up(size.graphs, 32), round_up(size.edges, 512)
    return _link(program, BlockSize(nodes, graphs, edges, size.attributes), update)


@lru_cache(maxsize=16)
def _link(program: Program, size: BlockSize, update: tuple[Operation, ...]) -> LinkedProgram:
    # Instructions of the epilogue run apart from blocks, but no buffer is so large that it should share memory.
    final = program.epilogue
    if update:
        final = (Instruction(clear_gradient, {}), *final, *(Instruction(operation, {}) for operation in update))
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
