"""Builds programs: each method adds the instructions of one step of a network, forward and, at the end, backward."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.vector import REGISTER_BYTES
from bankgcn.kernels.network.levels import SelectedRows
from bankgcn.kernels.network.program import (
    Buffer,
    Operator,
    Padding,
    Program,
    Slot,
    Space,
)
from bankgcn.kernels.network.slots import Unsupported
from bankgcn.kernels.network.steps import ROW_COUNT, Steps
from bankgcn.kernels.network.tape import Signal
from bankgcn.kernels.ops.input_rows import add_label_rows, label_rows_gradient, load_attributes
from bankgcn.kernels.ops.linear import bias_gradient, linear, weight_gradient
from bankgcn.kernels.ops.losses import LOSSES
from bankgcn.kernels.ops.padding import padded_width, row_stride
from bankgcn.kernels.ops.readout import read_out, read_out_adjoint


@dataclass(frozen=True)
class InputSignal:
    """The signals of the nodes as they come: attributes, then labels as one-hot columns.

    Args:
        attributes: The attributes.
    """

    attributes: Buffer


class Builder(Steps):
    """A program under construction.

    Args:
        shapes: Shape of each parameter, in the order of the vector of all parameters; steps name them by these keys.
        dtype: Type of all floats.
        operator: What the convolutions multiply by.
        loss: A name in :data:`bankgcn.kernels.ops.losses.LOSSES`; ``None`` makes a program without backward pass.
        by_kinds: Whether to compute with kinds of nodes where possible; nodes must have labels alone. Only with a loss.
    """

    def __init__(
        self,
        shapes: Mapping[Hashable, tuple[int, ...]],
        dtype: np.dtype,
        operator: Operator,
        loss: str | None = None,
        by_kinds: bool = False,
    ):
        super().__init__(shapes, dtype, training=loss is not None)
        self.operator, self.loss, self._by_kinds = operator, loss, by_kinds and loss is not None
        self._in_channels: int | None = None
        self._embedding: tuple[int, ...] = ()
        self._readout: tuple[Buffer, list[tuple[str, Signal]]] | None = None

    def input(self) -> InputSignal:
        """The signals of the nodes."""
        attributes = Buffer("node", None)
        self._tape.emit(load_attributes, out=attributes)
        return InputSignal(attributes)

    def look_up(self, table: Hashable, num_values: Sequence[int]) -> Signal:
        """The sum of the rows of a table that the integer attributes of each node select."""
        self._embedding = tuple(num_values)
        rows, columns = self._slots.weights(table).shape
        self._in_channels = len(num_values)
        slot, out = self._slots.new(rows, columns), Signal(Buffer("node", columns), np.arange(columns))
        self._slots.place(table, slot, np.arange(rows)[:, None] * slot.stride + np.arange(columns))
        self._tape.emit(add_label_rows, plus=None, weight=slot, out=out.buffer)

        def backward() -> None:
            grad = self._tape.gradients.pop(out)
            self._tape.emit_back(label_rows_gradient, grad=self._tape.weighted_by_nodes(grad), weight=slot)

        self._tape.steps.append(backward)
        return out

    def linear(
        self,
        x: Signal | InputSignal,
        weight: Hashable,
        bias: Hashable | None = None,
        *,
        columns: NDArray[np.int64] | None = None,
        padding: Padding = "wide",
    ) -> Signal:
        """``x weight^T + bias``; ``columns`` says where each column of the result is in its buffer."""
        out_channels, in_channels = self._slots.weights(weight).shape
        x = x if isinstance(x, InputSignal) else self._levels.rows(x)
        space: Space = "label" if isinstance(x, InputSignal) else x.space
        out = Signal(
            Buffer(space, out_channels, padding=padding), np.arange(out_channels) if columns is None else columns
        )
        bias_slot = self._slots.zero if bias is None else self._slots.row(bias, out.columns)
        if isinstance(x, InputSignal):
            self._in_channels = in_channels
            selected = SelectedRows(x.attributes, self._input_slot(weight, out), bias_slot, bias is not None)
            self._levels.select(selected, out)
            return out if self._by_kinds else self._levels.nodes(out)
        if in_channels != len(x.columns):
            raise Unsupported(f"a weight for {in_channels} columns, but the signal has {len(x.columns)}")
        inner, width, rows = int(x.columns.max()) + 1, int(out.columns.max()) + 1, ROW_COUNT[space]
        slot, transposed = self._slots.new(inner, width, padding=padding), self._slots.new(width, inner, learned=False)
        self._slots.place(weight, slot, x.columns * slot.stride + out.columns[:, None])
        self._slots.place(weight, transposed, out.columns[:, None] * transposed.stride + x.columns)
        self._tape.emit(
            linear, x=x.buffer, inner=inner, weight=slot, bias=bias_slot, plus=None, out=out.buffer, rows=rows
        )

        def backward() -> None:
            grad = self._tape.gradients.pop(out)
            options: dict[str, Any] = {"x": grad, "inner": width, "weight": transposed, "bias": self._slots.zero}
            self._tape.give(x, partial(self._tape.emit_back, linear, rows=rows, **options))
            weighted = self._tape.weighted_by_nodes(grad) if space == "node" else grad
            self._tape.emit_back(weight_gradient, x=x.buffer, inner=inner, grad=weighted, weight=slot, rows=rows)
            if bias is not None:
                self._tape.emit_back(bias_gradient, grad=weighted, bias=bias_slot, rows=rows)

        self._tape.steps.append(backward)
        return out

    def _input_slot(self, weight: Hashable, out: Signal) -> Slot:
        in_channels = self._slots.weights(weight).shape[1]
        slot = self._slots.new(in_channels, int(out.columns.max()) + 1)
        self._slots.place(weight, slot, np.arange(in_channels) * slot.stride + out.columns[:, None])
        return slot

    def read_out(self, x: Signal, parts: Sequence[str], layer: int, num_layers: int) -> None:
        """Write the readout of one layer; ``parts`` are names among mean, max and sum, in the network's order."""
        x = self._levels.nodes(x)
        width = padded_width(x.buffer.columns or 0, self.dtype)
        if self._readout is None:
            self._readout = (Buffer("graph", num_layers * len(parts) * width), [])
        buffer, done = self._readout
        if buffer.columns != num_layers * len(parts) * width:
            raise Unsupported("layers of different widths")
        column = {part: (layer * len(parts) + number) * width for number, part in enumerate(parts)}
        done += [(part, x) for part in parts]
        places = {"mean": column.get("mean", -1), "largest": column.get("max", -1), "total": column.get("sum", -1)}
        self._tape.emit(read_out, x=x.buffer, out=buffer, **places)

        def backward() -> None:
            (embedding,) = (signal for signal in self._tape.gradients if signal.buffer is buffer)
            options = {"readout": buffer, "grad": self._tape.gradients[embedding], **places}
            self._tape.give(x, partial(self._tape.emit_back, read_out_adjoint, x=x.buffer, **options))

        self._tape.steps.append(backward)

    def embedding(self) -> Signal:
        """The readouts of all layers, side by side."""
        assert self._readout is not None
        buffer, done = self._readout
        width = (buffer.columns or 0) // len(done)
        return Signal(buffer, np.concatenate([number * width + x.columns for number, (_, x) in enumerate(done)]))

    def finish(self, outputs: Signal) -> Program:
        """The program, given the network's outputs."""
        embedding = self.embedding()
        if self.loss is not None:
            grad = Buffer("graph", outputs.buffer.columns, padding=outputs.buffer.padding)
            columns = len(outputs.columns)
            self._tape.emit_back(LOSSES[self.loss], outputs=outputs.buffer, columns=columns, out=grad)
            self._tape.run_back(outputs, grad)
        tape = self._tape
        instructions = [*tape.kinds_forward, *tape.kinds_backward, *tape.forward, *tape.backward]
        columns_of = (buffer.columns or self._in_channels or 1 for step in instructions for buffer in step.buffers)
        widest = row_stride(max(columns_of), self.dtype) + 8 * REGISTER_BYTES // self.dtype.itemsize
        parameter_size, gradient_size = self._slots.lay_out(widest)
        places, copies = self._slots.places()
        return Program(
            dtype=self.dtype,
            in_channels=self._in_channels or 0,
            embedding=self._embedding,
            operator=self.operator,
            num_parameters=self._slots.num_parameters,
            prologue=tuple(self._prologue),
            kinds_forward=tuple(tape.kinds_forward),
            kinds_backward=tuple(tape.kinds_backward),
            forward=tuple(tape.forward),
            backward=tuple(tape.backward),
            epilogue=tuple(self._epilogue) if self.loss is not None else (),
            places=places,
            copies=copies,
            bases=np.concatenate([np.zeros(0, self.dtype), *self._bases]),
            readout=embedding.buffer,
            readout_columns=embedding.columns,
            column_numbers=np.concatenate([np.zeros(0, np.int64), *self._column_numbers]),
            num_outputs=len(outputs.columns),
            gradient_size=gradient_size,
            parameter_size=parameter_size,
            kind_columns=self._levels.kind_columns,
            drops_nodes=self._drops_nodes,
        )
