"""Builds programs: each method adds the instructions of one step of a network, forward and, at the end, backward."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.operation import Operation
from bankgcn.kernels.jit.vector import REGISTER_BYTES
from bankgcn.kernels.network.program import (
    Buffer,
    Instruction,
    NumColumns,
    Operator,
    Padding,
    Program,
    Slot,
    Space,
    stride_of,
)
from bankgcn.kernels.ops.attention import attend, attend_adjoint
from bankgcn.kernels.ops.block_table import BATCH_GRAPH, BATCH_ROW, GRAPHS, ROWS
from bankgcn.kernels.ops.coherence import coherence_gradient
from bankgcn.kernels.ops.filter_rows import filter_bank, filter_bank_adjoint, hop_rows
from bankgcn.kernels.ops.input_rows import add_label_rows, label_rows_gradient, load_attributes
from bankgcn.kernels.ops.linear import bias_gradient, linear, weight_gradient
from bankgcn.kernels.ops.losses import LOSSES
from bankgcn.kernels.ops.normalize import (
    graph_norm,
    graph_norm_adjoint,
    l2_normalize,
    l2_normalize_adjoint,
    layer_norm,
    layer_norm_adjoint,
)
from bankgcn.kernels.ops.padding import TILE_ROWS, padded_width, round_up, row_stride
from bankgcn.kernels.ops.parameters import expand_filters, filters_gradient, pack_gradient, unpack_parameters
from bankgcn.kernels.ops.propagate import propagate
from bankgcn.kernels.ops.readout import read_out, read_out_adjoint
from bankgcn.kernels.ops.rowwise import add_multiple, dropout, relu, relu_adjoint, scale_by_multiplicity

ROW_COUNT = {"node": ROWS, "graph": GRAPHS}
FIRST_ROW = {"node": BATCH_ROW, "graph": BATCH_GRAPH}


class Unsupported(Exception):
    """The executor cannot run such a network."""


class Weights(NamedTuple):
    """A parameter of the network: where it starts in ``theta``, and its shape."""

    start: int
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Signal:
    """A step's result: a row for each node or graph of a block.

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


@dataclass(frozen=True)
class InputSignal:
    """The signals of the nodes as they come: attributes, then labels as one-hot columns.

    Args:
        buffer: The attributes.
    """

    buffer: Buffer


class Builder:
    """A program under construction.

    Args:
        shapes: Shape of each parameter, in the order of the vector of all parameters; steps name them by these keys.
        dtype: Type of all floats.
        operator: What the convolutions multiply by.
        loss: A name in :data:`bankgcn.kernels.ops.losses.LOSSES`; ``None`` makes a program without backward pass.
    """

    def __init__(
        self,
        shapes: Mapping[Hashable, tuple[int, ...]],
        dtype: np.dtype,
        operator: Operator,
        loss: str | None = None,
    ):
        self.dtype, self.operator, self.loss = np.dtype(dtype), operator, loss
        self._in_channels: int | None = None
        self._weights: dict[Hashable, Weights] = {}
        self._num_parameters = 0
        for key, shape in shapes.items():
            self._weights[key] = Weights(self._num_parameters, shape)
            self._num_parameters += math.prod(shape)
        self._slots: list[Slot] = []
        self._places: list[tuple[Weights, Slot, NDArray[np.int64]]] = []
        self._used = np.zeros(self._num_parameters, np.int64)
        self._prologue: list[Instruction] = [Instruction(unpack_parameters, {})]
        self._forward: list[Instruction] = []
        self._backward: list[Instruction] = []
        self._epilogue: list[Instruction] = [Instruction(pack_gradient, {})]
        self._tape: list[Callable[[], None]] = []
        self._gradients: dict[Signal, Buffer] = {}
        self._weighted: dict[Buffer, Buffer] = {}
        self._readout: tuple[Buffer, list[tuple[str, Signal]]] | None = None
        self._column_numbers: list[NDArray[np.int64]] = []
        self._bases: list[NDArray[np.floating]] = []
        self._embedding: tuple[int, ...] = ()
        self._drops_nodes = False
        self._zero = self._slot(1, 1, learned=False)

    # Steps of a network

    def input(self) -> InputSignal:
        """The signals of the nodes."""
        attributes = Buffer("node", None)
        self._emit(load_attributes, out=attributes)
        return InputSignal(attributes)

    def look_up(self, table: Hashable, num_values: Sequence[int]) -> Signal:
        """The sum of the rows of a table that the integer attributes of each node select."""
        self._embedding = tuple(num_values)
        rows, columns = self._shape(table)
        self._in_channels = len(num_values)
        slot, out = self._slot(rows, columns), Signal(Buffer("node", columns), np.arange(columns))
        self._place(table, slot, np.arange(rows)[:, None] * slot.stride + np.arange(columns))
        self._emit(add_label_rows, plus=None, weight=slot, out=out.buffer)

        def backward() -> None:
            grad = self._gradients.pop(out)
            self._emit_back(label_rows_gradient, grad=self._weighted_by_nodes(grad), weight=slot)

        self._tape.append(backward)
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
        out_channels, in_channels = self._shape(weight)
        space: Space = "node" if isinstance(x, InputSignal) else x.space
        out = Signal(
            Buffer(space, out_channels, padding=padding), np.arange(out_channels) if columns is None else columns
        )
        bias_slot = self._zero if bias is None else self._row(bias, out.columns)
        if isinstance(x, InputSignal):
            self._in_channels = in_channels
            self._input_linear(x, weight, bias, bias_slot, out)
            return out
        if in_channels != len(x.columns):
            raise Unsupported(f"a weight for {in_channels} columns, but the signal has {len(x.columns)}")
        inner, width, rows = int(x.columns.max()) + 1, int(out.columns.max()) + 1, ROW_COUNT[space]
        slot, transposed = self._slot(inner, width, padding=padding), self._slot(width, inner, learned=False)
        self._place(weight, slot, x.columns * slot.stride + out.columns[:, None])
        self._place(weight, transposed, out.columns[:, None] * transposed.stride + x.columns)
        self._emit(linear, x=x.buffer, inner=inner, weight=slot, bias=bias_slot, plus=None, out=out.buffer, rows=rows)

        def backward() -> None:
            grad = self._gradients.pop(out)
            options: dict[str, Any] = {"x": grad, "inner": width, "weight": transposed, "bias": self._zero}
            self._give(x, partial(self._emit_back, linear, rows=rows, **options))
            weighted = self._weighted_by_nodes(grad) if space == "node" else grad
            self._emit_back(weight_gradient, x=x.buffer, inner=inner, grad=weighted, weight=slot, rows=rows)
            if bias is not None:
                self._emit_back(bias_gradient, grad=weighted, bias=bias_slot, rows=rows)

        self._tape.append(backward)
        return out

    def _input_linear(
        self, x: InputSignal, weight: Hashable, bias: Hashable | None, bias_slot: Slot, out: Signal
    ) -> None:
        in_channels = self._shape(weight)[1]
        slot = self._slot(in_channels, int(out.columns.max()) + 1)
        self._place(weight, slot, np.arange(in_channels) * slot.stride + out.columns[:, None])
        dense, inner = Buffer("node", out.buffer.columns), NumColumns(x.buffer)
        self._emit(linear, x=x.buffer, inner=inner, weight=slot, bias=bias_slot, plus=None, out=dense, rows=ROWS)
        self._emit(add_label_rows, plus=dense, weight=slot, out=out.buffer)

        def backward() -> None:
            grad = self._weighted_by_nodes(self._gradients.pop(out))
            self._emit_back(weight_gradient, x=x.buffer, inner=inner, grad=grad, weight=slot, rows=ROWS)
            self._emit_back(label_rows_gradient, grad=grad, weight=slot)
            if bias is not None:
                self._emit_back(bias_gradient, grad=grad, bias=bias_slot, rows=ROWS)

        self._tape.append(backward)

    def propagate(
        self,
        x: Signal,
        bias: Hashable | None = None,
        *,
        factor: int = 1,
        plus: Signal | None = None,
        minus: Signal | None = None,
    ) -> Signal:
        """``bias + plus + factor P x - minus``, with the operator P; all signals have the same columns."""
        out = self._like(x)
        slot = self._zero if bias is None else self._row(bias, out.columns)
        self._emit(
            propagate,
            x=x.buffer,
            factor=factor,
            adjoint=0,
            bias=slot,
            plus=None if plus is None else plus.buffer,
            minus=None if minus is None else minus.buffer,
            out=out.buffer,
        )

        def backward() -> None:
            grad = self._gradients.pop(out)
            options = {"factor": factor, "adjoint": 1, "bias": self._zero, "minus": None}
            self._give(x, partial(self._emit_back, propagate, x=grad, **options))
            if plus is not None:
                self._pass(plus, grad)
            if minus is not None:
                self._give(minus, partial(self._emit_back, add_multiple, x=grad, factor=-1))
            if bias is not None:
                self._emit_back(bias_gradient, grad=self._weighted_by_nodes(grad), bias=slot, rows=ROWS)

        self._tape.append(backward)
        return out

    def filter_bank(self, r: Signal, alpha: Hashable, basis: NDArray[np.floating], shortcut: bool) -> Signal:
        """Filter each subspace of ``r`` by its own polynomial; ``alpha`` are coefficients in the basis."""
        filters, terms = self._shape(alpha)
        start, degree, hidden = self._weights[alpha].start, basis.shape[1] - 1, len(r.columns)
        place = sum(map(len, self._bases))
        self._bases.append(np.ascontiguousarray(basis, self.dtype).reshape(-1))
        self._used[start : start + filters * terms] += 1
        slot = self._slot(degree + 1, hidden)
        bank = {"alpha": start, "filters": filters, "terms": terms, "basis": place, "degree": degree}
        bank |= {"channels": hidden // filters, "c": slot}
        self._prologue.append(Instruction(expand_filters, bank | {"shortcut": shortcut}))
        hops = Buffer("node", 8 * REGISTER_BYTES // self.dtype.itemsize, hop_rows(degree), padding="none")
        out = self._like(r)
        options = {"c": slot, "order": degree, "hops": hops}
        self._emit(filter_bank, x=r.buffer, out=out.buffer, **options)

        def backward() -> None:
            grad = self._gradients.pop(out)
            signal = self._weighted_by_nodes(r.buffer)
            self._give_result_of(r, filter_bank_adjoint, grad=grad, signal=signal, **options)
            self._epilogue.append(Instruction(filters_gradient, bank))
            unit = Buffer("block", terms + 1, filters, padding="none")
            chosen = {"alpha": start, "filters": filters, "terms": terms, "unit": unit}
            self._epilogue.append(Instruction(coherence_gradient, chosen))

        self._tape.append(backward)
        return out

    def attend(self, x: Signal, source: Hashable, target: Hashable, bias: Hashable | None, heads: int) -> Signal:
        """Attention of each node to itself and its neighbours; columns as :mod:`..ops.attention` orders them."""
        out = self._like(x)
        vectors = {"source": self._row(source, x.columns), "target": self._row(target, x.columns)}
        slot = self._zero if bias is None else self._row(bias, out.columns)
        scores = Buffer("node", 2 * heads, padding="none")
        attention = Buffer("edge", heads, padding="none")
        kept: dict[str, Any] = {"x": x.buffer, "scores": scores, "attention": attention, **vectors}
        self._emit(attend(heads), bias=slot, out=out.buffer, **kept)

        def backward() -> None:
            grad = self._gradients.pop(out)
            own = {"grad_attention": Buffer("edge", heads, padding="none")}
            own |= {"grad_scores": Buffer("node", 2 * heads, padding="none")}
            self._give_result_of(x, attend_adjoint(heads), grad=grad, **own, **kept)
            if bias is not None:
                self._emit_back(bias_gradient, grad=self._weighted_by_nodes(grad), bias=slot, rows=ROWS)

        self._tape.append(backward)
        return out

    def relu(self, x: Signal) -> Signal:
        """``max(x, 0)``."""
        out, rows = self._like(x), ROW_COUNT[x.space]
        self._emit(relu, x=x.buffer, out=out.buffer, rows=rows)

        def backward() -> None:
            grad = self._gradients.pop(out)
            self._give_result_of(x, relu_adjoint, grad=grad, x=out.buffer, rows=rows)

        self._tape.append(backward)
        return out

    def l2_normalize(self, x: Signal, relu: bool = False) -> Signal:
        """Each row divided by its norm; with ``relu``, followed by a ReLU."""
        out, scale = self._like(x), Buffer("node", 1, padding="none")
        self._emit(l2_normalize, x=x.buffer, scale=scale, out=out.buffer, relu=relu)

        def backward() -> None:
            options = {"x": x.buffer, "result": out.buffer if relu else None, "scale": scale}
            self._give_result_of(x, l2_normalize_adjoint, grad=self._gradients.pop(out), **options)

        self._tape.append(backward)
        return out

    def layer_norm(self, x: Signal, weight: Hashable, bias: Hashable) -> Signal:
        """Layer normalisation of each row."""
        out = self._like(x)
        options: dict[str, Any] = {
            "x": x.buffer,
            "columns": len(x.columns),
            "moments": Buffer("node", 2, padding="none"),
        }
        options |= {"weight": self._row(weight, x.columns), "bias": self._row(bias, x.columns)}
        self._emit(layer_norm, out=out.buffer, **options)
        self._tape.append(lambda: self._give_result_of(x, layer_norm_adjoint, grad=self._gradients.pop(out), **options))
        return out

    def graph_norm(self, x: Signal, weight: Hashable, bias: Hashable, mean_scale: Hashable) -> Signal:
        """Normalisation of each column over the nodes of each graph."""
        out = self._like(x)
        names = {"weight": weight, "bias": bias, "mean_scale": mean_scale}
        options: dict[str, Any] = {name: self._row(value, x.columns) for name, value in names.items()}
        options |= {"x": x.buffer, "moments": Buffer("graph", x.buffer.columns, 2)}
        self._emit(graph_norm, out=out.buffer, **options)
        self._tape.append(lambda: self._give_result_of(x, graph_norm_adjoint, grad=self._gradients.pop(out), **options))
        return out

    def add(self, x: Signal, y: Signal) -> Signal:
        """``x + y``; both have the same columns."""
        out = self._like(x)
        self._emit(add_multiple, x=y.buffer, factor=1, plus=x.buffer, out=out.buffer)

        def backward() -> None:
            grad = self._gradients.pop(out)
            self._pass(x, grad)
            self._pass(y, grad)

        self._tape.append(backward)
        return out

    def dropout(self, x: Signal, probability: float, stream: int) -> Signal:
        """Drop values at random, in training; see :mod:`bankgcn.nn.dropout`."""
        if self.loss is None or probability == 0:
            return x
        out = self._like(x)
        numbers = np.full(padded_width(x.buffer.columns or 0, self.dtype), -1)
        numbers[x.columns] = np.arange(len(x.columns))
        start = sum(map(len, self._column_numbers))
        self._column_numbers.append(numbers)
        scale = np.float64(1 / (1 - probability)).view(np.int64)  # operands are integers
        options = {"columns": start, "threshold": round(probability * 2**24), "scale": scale, "stream": stream}
        options |= {"rows": ROW_COUNT[x.space], "first": FIRST_ROW[x.space]}
        self._drops_nodes = self._drops_nodes or x.space == "node"
        self._emit(dropout, x=x.buffer, out=out.buffer, **options)
        self._tape.append(lambda: self._give_result_of(x, dropout, x=self._gradients.pop(out), **options))
        return out

    def read_out(self, x: Signal, parts: Sequence[str], layer: int, num_layers: int) -> None:
        """Write the readout of one layer; ``parts`` are names among mean, max and sum, in the network's order."""
        width = padded_width(x.buffer.columns or 0, self.dtype)
        if self._readout is None:
            self._readout = (Buffer("graph", num_layers * len(parts) * width), [])
        buffer, done = self._readout
        if buffer.columns != num_layers * len(parts) * width:
            raise Unsupported("layers of different widths")
        column = {part: (layer * len(parts) + number) * width for number, part in enumerate(parts)}
        done += [(part, x) for part in parts]
        places = {"mean": column.get("mean", -1), "largest": column.get("max", -1), "total": column.get("sum", -1)}
        self._emit(read_out, x=x.buffer, out=buffer, **places)

        def backward() -> None:
            (embedding,) = (signal for signal in self._gradients if signal.buffer is buffer)
            options = {"readout": buffer, "grad": self._gradients[embedding], **places}
            self._give(x, partial(self._emit_back, read_out_adjoint, x=x.buffer, **options))

        self._tape.append(backward)

    def embedding(self) -> Signal:
        """The readouts of all layers, side by side."""
        assert self._readout is not None
        buffer, done = self._readout
        width = (buffer.columns or 0) // len(done)
        return Signal(buffer, np.concatenate([number * width + x.columns for number, (_, x) in enumerate(done)]))

    def finish(self, outputs: Signal) -> Program:
        """The program, given the network's outputs."""
        if not (self._used == 1).all():
            raise Unsupported("a parameter that is not used exactly once")
        embedding = self.embedding()
        if self.loss is not None:
            grad = Buffer("graph", outputs.buffer.columns, padding=outputs.buffer.padding)
            columns = len(outputs.columns)
            self._emit_back(LOSSES[self.loss], outputs=outputs.buffer, columns=columns, out=grad)
            self._gradients[outputs] = grad
            for backward in reversed(self._tape):
                backward()
        parameter_size, gradient_size = self._place_slots()
        places, copies = self._place_maps()
        return Program(
            dtype=self.dtype,
            in_channels=self._in_channels or 0,
            embedding=self._embedding,
            operator=self.operator,
            num_parameters=self._num_parameters,
            prologue=tuple(self._prologue),
            forward=tuple(self._forward),
            backward=tuple(self._backward),
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
            drops_nodes=self._drops_nodes,
        )

    # Buffers and their gradients

    def _like(self, x: Signal) -> Signal:
        return Signal(Buffer(x.space, x.buffer.columns), x.columns)

    def _emit(self, operation: Operation, **operands: Any) -> None:
        self._forward.append(Instruction(operation, operands))

    def _emit_back(self, operation: Operation, **operands: Any) -> None:
        self._backward.append(Instruction(operation, operands))

    def _give(self, x: Signal, emit: Callable[..., None]) -> None:
        """Add a term to the gradient of ``x``: ``emit`` computes it, added to ``plus``, and writes ``out``."""
        out = Buffer(x.space, x.buffer.columns)
        emit(plus=self._gradients.get(x), out=out)
        self._gradients[x] = out

    def _pass(self, x: Signal, grad: Buffer) -> None:
        """Add ``grad`` to the gradient of ``x``."""
        if x in self._gradients:
            self._give(x, partial(self._emit_back, add_multiple, x=grad, factor=1))
        else:
            self._gradients[x] = grad

    def _give_result_of(self, signal: Signal, operation: Operation, /, **operands: Any) -> None:
        """Add to the gradient of a signal a term that an operation without ``plus`` computes."""
        term = Buffer(signal.space, signal.buffer.columns)
        self._emit_back(operation, out=term, **operands)
        self._pass(signal, term)

    def _weighted_by_nodes(self, grad: Buffer) -> Buffer:
        """The rows times their multiplicity, for sums over nodes."""
        if grad not in self._weighted:
            out = Buffer("node", grad.columns)
            self._emit_back(scale_by_multiplicity, x=grad, out=out)
            self._weighted[grad] = out
        return self._weighted[grad]

    # Parameters

    def _slot(self, rows: int, columns: int, learned: bool = True, padding: Padding = "wide") -> Slot:
        slot = Slot(round_up(rows, TILE_ROWS), columns, stride_of(columns, padding, self.dtype), learned)
        self._slots.append(slot)
        return slot

    def _shape(self, key: Hashable) -> tuple[int, ...]:
        if key not in self._weights:  # it is computed from others, as a parametrisation does
            raise Unsupported("a weight that is no parameter of the network")
        return self._weights[key].shape

    def _place(self, key: Hashable, slot: Slot, where: NDArray[np.int64]) -> None:
        """Give each value of a parameter a place in a slot."""
        if math.prod(self._shape(key)) != where.size:
            raise Unsupported(f"a parameter of shape {self._shape(key)} for {where.size} places")
        weights = self._weights[key]
        if slot.learned:
            self._used[weights.start : weights.start + where.size] += 1
        self._places.append((weights, slot, where.reshape(-1)))

    def _row(self, key: Hashable, columns: NDArray[np.int64]) -> Slot:
        """A slot for a vector: one row."""
        slot = self._slot(1, int(columns.max()) + 1)
        self._place(key, slot, columns)
        return slot

    def _place_slots(self) -> tuple[int, int]:
        """Give each slot its place, those with gradients first; return the numbers of all and of the latter values."""
        buffers = [buffer for stream in (self._forward, self._backward) for step in stream for buffer in step.buffers]
        widest = max(row_stride(buffer.columns or self._in_channels or 1, self.dtype) for buffer in buffers)
        self._zero.stride = widest + 8 * REGISTER_BYTES // self.dtype.itemsize
        end = learned_end = 0
        for slot in sorted(self._slots, key=lambda slot: not slot.learned):
            slot.offset = end
            end += slot.rows * slot.stride
            learned_end = end if slot.learned else learned_end
        return end, learned_end

    def _place_maps(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Place of each parameter, and of its transposed copy; -1: none."""
        places, copies = np.full((2, self._num_parameters), -1)
        for weights, slot, where in self._places:
            (places if slot.learned else copies)[weights.start : weights.start + len(where)] = slot.offset + where
        return places, copies
