"""A network as a list of instructions, which the executor runs on one block of graphs after another.

An instruction names an operation of :mod:`bankgcn.kernels.ops` and its operands: buffers of the workspace, slots of the
padded parameters, and numbers. A buffer is written once and never changed, apart from the readouts, whose columns are
written one part after another; :func:`~bankgcn.kernels.network.linking.link` decides which buffers share memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.operation import Operation
from bankgcn.kernels.ops.blocks import padded_width, row_stride

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
