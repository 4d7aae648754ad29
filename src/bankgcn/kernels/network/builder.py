"""Builds programs: each method adds the instructions of one step of a network, forward and, at the end, backward."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import Operation
from bankgcn.kernels.jit.vector import REGISTER_BYTES
from bankgcn.kernels.network.kinds import Levels, SelectedRows
from bankgcn.kernels.network.program import (
    Buffer,
    Instruction,
    Operator,
    Padding,
    Program,
    Slot,
    Space,
)
from bankgcn.kernels.network.tape import Signal, Slots, Tape, Unsupported
from bankgcn.kernels.ops.attention import attend, attend_adjoint
from bankgcn.kernels.ops.blocks import BATCH_GRAPH, BATCH_ROW, GRAPHS, ROWS, padded_width, row_stride
from bankgcn.kernels.ops.edge_filter import (
    edge_filter_bank,
    edge_filter_bank_adjoint,
    edge_shifts,
    edge_shifts_adjoint,
)
from bankgcn.kernels.ops.graph_features import add_graph_features, graph_features_gradient
from bankgcn.kernels.ops.input_rows import add_label_rows, label_rows_gradient, load_attributes
from bankgcn.kernels.ops.linear import add_multiple, bias_gradient, dropout, linear, relu, relu_adjoint, weight_gradient
from bankgcn.kernels.ops.losses import LOSSES
from bankgcn.kernels.ops.normalize import (
    graph_norm,
    graph_norm_adjoint,
    l2_normalize,
    l2_normalize_adjoint,
    layer_norm,
    layer_norm_adjoint,
)
from bankgcn.kernels.ops.parameters import (
    coherence_gradient,
    expand_filters,
    filters_gradient,
    pack_gradient,
    unpack_parameters,
)
from bankgcn.kernels.ops.propagate import filter_bank, filter_bank_adjoint, hop_rows, propagate
from bankgcn.kernels.ops.readout import read_out, read_out_adjoint

ROW_COUNT = {"kind": ROWS, "node": ROWS, "graph": GRAPHS}
FIRST_ROW = {"node": BATCH_ROW, "graph": BATCH_GRAPH}


class Steps:
    """Steps that keep the width of a signal.

    Args:
        shapes: Shape of each parameter, in the order of the vector of all parameters; steps name them by these keys.
        dtype: Type of all floats.
        training: Whether values are dropped at random.
    """

    def __init__(self, shapes: Mapping[Hashable, tuple[int, ...]], dtype: np.dtype, training: bool):
        self.dtype, self._training = np.dtype(dtype), training
        self._slots, self._tape = Slots(shapes, self.dtype), Tape()
        self._levels = Levels(self._tape, self.dtype)
        self._prologue: list[Instruction] = [Instruction(unpack_parameters, {})]
        self._epilogue: list[Instruction] = [Instruction(pack_gradient, {})]
        self._column_numbers: list[NDArray[np.int64]] = []
        self._bases: list[NDArray[np.floating]] = []
        self._drops_nodes = False

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
        slot = self._slots.zero if bias is None else self._slots.row(bias, x.columns)
        if minus is None and self._levels.can_hop(x, plus):
            return self._levels.hop(x, slot, bias is not None, factor, plus)
        x = self._levels.nodes(x)
        plus = None if plus is None else self._levels.nodes(plus)
        minus = None if minus is None else self._levels.nodes(minus)
        out = x.like()
        self._tape.emit(
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
            grad = self._tape.gradients.pop(out)
            options = {"factor": factor, "adjoint": 1, "bias": self._slots.zero, "minus": None}
            self._tape.give(x, partial(self._tape.emit_back, propagate, x=grad, **options))
            if plus is not None:
                self._tape.pass_on(plus, grad)
            if minus is not None:
                self._tape.give(minus, partial(self._tape.emit_back, add_multiple, x=grad, factor=-1))
            if bias is not None:
                self._tape.emit_back(bias_gradient, grad=self._tape.weighted_by_nodes(grad), bias=slot, rows=ROWS)

        self._tape.steps.append(backward)
        return out

    def filter_bank(self, r: Signal, alpha: Hashable, basis: NDArray[np.floating], shortcut: bool) -> Signal:
        """Filter each subspace of ``r`` by its own polynomial; ``alpha`` are coefficients in the basis."""
        r, degree = self._levels.nodes(r), basis.shape[1] - 1
        slot, add_gradients = self._coefficients(alpha, basis, shortcut, len(r.columns))
        hops = Buffer("node", 8 * REGISTER_BYTES // self.dtype.itemsize, hop_rows(degree), padding="none")
        out = r.like()
        options = {"c": slot, "order": degree, "hops": hops}
        self._tape.emit(filter_bank, x=r.buffer, out=out.buffer, **options)

        def backward() -> None:
            grad = self._tape.gradients.pop(out)
            signal = self._tape.weighted_by_nodes(r.buffer)
            self._tape.give_result_of(r, filter_bank_adjoint, grad=grad, signal=signal, **options)
            add_gradients()

        self._tape.steps.append(backward)
        return out

    def edge_filter_bank(
        self,
        r: Signal,
        alpha: Hashable,
        basis: NDArray[np.floating],
        shortcut: bool,
        weight: Hashable,
        bias: Hashable,
    ) -> Signal:
        """Filter each subspace of ``r`` on a graph of its own, in which features of the edges decide their weights.

        Args:
            r: The signal, its columns as :mod:`bankgcn.kernels.ops.edge_filter` orders them.
            alpha: Coefficients of the filters in the basis.
            basis: Chebyshev coefficients of the basis polynomials.
            shortcut: Whether to add the signal.
            weight: What a subspace's weights take of each feature, one row for each subspace.
            bias: And of no feature.
        """
        r, degree = self._levels.nodes(r), basis.shape[1] - 1
        subspaces, features = self._slots.weights(weight).shape
        if subspaces & (subspaces - 1) or subspaces > 32:
            raise Unsupported(f"{subspaces} subspaces that weigh edges: no power of two up to 32")
        slot, add_gradients = self._coefficients(alpha, basis, shortcut, subspaces, padding="none")
        theta, start = (
            self._slots.new(features, subspaces, padding="none"),
            self._slots.new(1, subspaces, padding="none"),
        )
        self._slots.place(weight, theta, np.arange(features) * theta.stride + np.arange(subspaces)[:, None])
        self._slots.place(bias, start, np.arange(subspaces))

        def of_edges() -> Buffer:
            return Buffer("edge", subspaces, padding="none")

        gates: dict[str, Any] = {"theta": theta, "bias": start, "slope": of_edges()}
        gates |= {"scale": Buffer("node", subspaces, padding="none")}
        shift, out = of_edges(), r.like()
        self._tape.emit(edge_shifts(subspaces), out=shift, **gates)
        options = {"x": r.buffer, "c": slot, "order": degree, "shift": shift}
        options |= {"hops": Buffer("node", r.buffer.columns, degree)}
        self._tape.emit(edge_filter_bank(subspaces), out=out.buffer, **options)

        def backward() -> None:
            of_shift = {"adjoints": Buffer("node", r.buffer.columns, degree), "grad_shift": of_edges()}
            grad = self._tape.gradients.pop(out)
            self._tape.give_result_of(r, edge_filter_bank_adjoint(subspaces), grad=grad, **options, **of_shift)
            sums = Buffer("node", subspaces, padding="none")
            given = {"grad": of_shift["grad_shift"], "shift": shift, "sums": sums}
            self._tape.emit_back(edge_shifts_adjoint(subspaces), **given, **gates)
            add_gradients()

        self._tape.steps.append(backward)
        return out

    def _coefficients(
        self,
        alpha: Hashable,
        basis: NDArray[np.floating],
        shortcut: bool,
        columns: int,
        padding: Padding = "wide",
    ) -> tuple[Slot, Callable[[], None]]:
        """A slot with the Chebyshev coefficients of each column's filter, and a function that adds their gradients."""
        start, (filters, terms) = self._slots.weights(alpha)
        degree, place = basis.shape[1] - 1, sum(map(len, self._bases))
        self._bases.append(np.ascontiguousarray(basis, self.dtype).reshape(-1))
        self._slots.use(alpha)
        slot = self._slots.new(degree + 1, columns, padding=padding)
        bank = {"alpha": start, "filters": filters, "terms": terms, "basis": place, "degree": degree}
        bank |= {"channels": columns // filters, "c": slot}
        self._prologue.append(Instruction(expand_filters, bank | {"shortcut": shortcut}))

        def add_gradients() -> None:
            self._epilogue.append(Instruction(filters_gradient, bank))
            unit = Buffer("block", terms + 1, filters, padding="none")
            chosen = {"alpha": start, "filters": filters, "terms": terms, "unit": unit}
            self._epilogue.append(Instruction(coherence_gradient, chosen))

        return slot, add_gradients

    def attend(self, x: Signal, source: Hashable, target: Hashable, bias: Hashable | None, heads: int) -> Signal:
        """Attention of each node to itself and its neighbours; columns as :mod:`..ops.attention` orders them."""
        x = self._levels.nodes(x)
        out = x.like()
        vectors = {"source": self._slots.row(source, x.columns), "target": self._slots.row(target, x.columns)}
        slot = self._slots.zero if bias is None else self._slots.row(bias, out.columns)
        scores = Buffer("node", 2 * heads, padding="none")
        attention = Buffer("edge", heads, padding="none")
        kept: dict[str, Any] = {"x": x.buffer, "scores": scores, "attention": attention, **vectors}
        self._tape.emit(attend(heads), bias=slot, out=out.buffer, **kept)

        def backward() -> None:
            grad = self._tape.gradients.pop(out)
            own = {"grad_attention": Buffer("edge", heads, padding="none")}
            own |= {"grad_scores": Buffer("node", 2 * heads, padding="none")}
            self._tape.give_result_of(x, attend_adjoint(heads), grad=grad, **own, **kept)
            if bias is not None:
                self._tape.emit_back(bias_gradient, grad=self._tape.weighted_by_nodes(grad), bias=slot, rows=ROWS)

        self._tape.steps.append(backward)
        return out

    def relu(self, x: Signal) -> Signal:
        """``max(x, 0)``."""
        x = self._levels.rows(x)
        out, rows = x.like(), ROW_COUNT[x.space]
        self._tape.emit(relu, x=x.buffer, out=out.buffer, rows=rows)
        self._add_adjoint(x, out, relu_adjoint, "grad", {"x": out.buffer, "rows": rows})
        return out

    def l2_normalize(self, x: Signal, relu: bool = False) -> Signal:
        """Each row divided by its norm; with ``relu``, followed by a ReLU."""
        x = self._levels.rows(x)
        out, scale = x.like(), Buffer(x.space, 1, padding="none")
        self._tape.emit(l2_normalize, x=x.buffer, scale=scale, out=out.buffer, relu=relu)
        options = {"x": x.buffer, "result": out.buffer if relu else None, "scale": scale}
        self._add_adjoint(x, out, l2_normalize_adjoint, "grad", options)
        return out

    def layer_norm(self, x: Signal, weight: Hashable, bias: Hashable) -> Signal:
        """Layer normalisation of each row."""
        x = self._levels.rows(x)
        out = x.like()
        options: dict[str, Any] = {
            "x": x.buffer,
            "columns": len(x.columns),
            "moments": Buffer(x.space, 2, padding="none"),
        }
        options |= {"weight": self._slots.row(weight, x.columns), "bias": self._slots.row(bias, x.columns)}
        self._tape.emit(layer_norm, out=out.buffer, **options)
        self._add_adjoint(x, out, layer_norm_adjoint, "grad", options)
        return out

    def graph_norm(self, x: Signal, weight: Hashable, bias: Hashable, mean_scale: Hashable) -> Signal:
        """Normalisation of each column over the nodes of each graph."""
        x = self._levels.nodes(x)
        out = x.like()
        names = {"weight": weight, "bias": bias, "mean_scale": mean_scale}
        options: dict[str, Any] = {name: self._slots.row(value, x.columns) for name, value in names.items()}
        options |= {"x": x.buffer, "moments": Buffer("graph", x.buffer.columns, 2)}
        self._tape.emit(graph_norm, out=out.buffer, **options)
        self._add_adjoint(x, out, graph_norm_adjoint, "grad", options)
        return out

    def add(self, x: Signal, y: Signal) -> Signal:
        """``x + y``; both have the same columns."""
        if {x.space, y.space} <= {"label", "kind"}:
            x, y = self._levels.rows(x), self._levels.rows(y)
        else:
            x, y = self._levels.nodes(x), self._levels.nodes(y)
        out = x.like()
        self._tape.emit(add_multiple, x=y.buffer, factor=1, plus=x.buffer, out=out.buffer)

        def backward() -> None:
            grad = self._tape.gradients.pop(out)
            self._tape.pass_on(x, grad)
            self._tape.pass_on(y, grad)

        self._tape.steps.append(backward)
        return out

    def dropout(self, x: Signal, probability: float, stream: int) -> Signal:
        """Drop values at random, in training; see :mod:`bankgcn.nn.layers`."""
        if not self._training or probability == 0:
            return x
        x = self._levels.nodes(x)
        out = x.like()
        numbers = np.full(padded_width(x.buffer.columns or 0, self.dtype), -1)
        numbers[x.columns] = np.arange(len(x.columns))
        start = sum(map(len, self._column_numbers))
        self._column_numbers.append(numbers)
        scale = np.float64(1 / (1 - probability)).view(np.int64)  # operands are integers
        options = {"columns": start, "threshold": round(probability * 2**24), "scale": scale, "stream": stream}
        options |= {"rows": ROW_COUNT[x.space], "first": FIRST_ROW[x.space]}
        self._drops_nodes = self._drops_nodes or x.space == "node"
        self._tape.emit(dropout, x=x.buffer, out=out.buffer, **options)
        self._add_adjoint(x, out, dropout, "x", options)
        return out

    def _add_adjoint(self, x: Signal, out: Signal, operation: Operation, grad: str, options: dict[str, Any]) -> None:
        """Add a step's backward pass of one operation: from the gradient of ``out``, its operand ``grad``, to ``x``."""

        def backward() -> None:
            self._tape.give_result_of(x, operation, **{grad: self._tape.gradients.pop(out)}, **options)

        self._tape.steps.append(backward)


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
        self._graph_features = 0

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
        graph_features: int = 0,
    ) -> Signal:
        """``x weight^T + bias``; ``columns`` says where each column of the result is in its buffer.

        With ``graph_features``, the last so many columns of the weight multiply the features of each graph.
        """
        out_channels, in_channels = self._slots.weights(weight).shape
        in_channels -= graph_features
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
        own = slice(in_channels)
        self._slots.place(weight, slot, x.columns * slot.stride + out.columns[:, None], own)
        self._slots.place(weight, transposed, out.columns[:, None] * transposed.stride + x.columns, own)
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
        return self._add_graph_features(out, weight, graph_features) if graph_features else out

    def _add_graph_features(self, x: Signal, weight: Hashable, count: int) -> Signal:
        """``x +`` the product of the features of the graphs and the last ``count`` columns of a weight."""
        self._graph_features = count
        slot = self._slots.new(count, int(x.columns.max()) + 1, padding=x.buffer.padding)
        in_channels = self._slots.weights(weight).shape[1]
        where = np.arange(count) * slot.stride + x.columns[:, None]
        self._slots.place(weight, slot, where, slice(in_channels - count, None))
        if self.loss is None:  # the program ends with the readouts, and the graphs need no features
            return x
        out = Signal(Buffer(x.space, x.buffer.columns, padding=x.buffer.padding), x.columns)
        self._tape.emit(add_graph_features, plus=x.buffer, weight=slot, out=out.buffer)

        def backward() -> None:
            grad = self._tape.gradients.pop(out)
            self._tape.emit_back(graph_features_gradient, grad=grad, weight=slot)
            self._tape.pass_on(x, grad)

        self._tape.steps.append(backward)
        return out

    def _input_slot(self, weight: Hashable, out: Signal) -> Slot:
        in_channels = self._slots.weights(weight).shape[1]
        slot = self._slots.new(in_channels, int(out.columns.max()) + 1)
        self._slots.place(weight, slot, np.arange(in_channels) * slot.stride + out.columns[:, None])
        return slot

    def read_out(self, x: Signal, parts: Sequence[str], layer: int, num_layers: int, size: int = 1) -> None:
        """Write the readout of one layer.

        Args:
            x: The signal.
            parts: Names among mean, max and sum, in the network's order.
            layer: Number of the layer.
            num_layers: Number of layers.
            size: What sums are divided by.
        """
        x = self._levels.nodes(x)
        width = padded_width(x.buffer.columns or 0, self.dtype)
        if self._readout is None:
            self._readout = (Buffer("graph", num_layers * len(parts) * width), [])
        buffer, done = self._readout
        if buffer.columns != num_layers * len(parts) * width:
            raise Unsupported("layers of different widths")
        column = {part: (layer * len(parts) + number) * width for number, part in enumerate(parts)}
        done += [(part, x) for part in parts]
        columns = {"mean": column.get("mean", -1), "largest": column.get("max", -1), "total": column.get("sum", -1)}
        places = {**columns, "size": size}
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
            graph_features=self._graph_features,
        )
