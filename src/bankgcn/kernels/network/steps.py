"""The steps of a network between two matrix products: each method adds its instructions, forward and backward."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.operation import Operation
from bankgcn.kernels.jit.vector import REGISTER_BYTES
from bankgcn.kernels.network.levels import Levels
from bankgcn.kernels.network.program import Buffer, Instruction
from bankgcn.kernels.network.slots import Slots
from bankgcn.kernels.network.tape import Signal, Tape
from bankgcn.kernels.ops.attention import attend, attend_adjoint
from bankgcn.kernels.ops.block_table import BATCH_GRAPH, BATCH_ROW, GRAPHS, ROWS
from bankgcn.kernels.ops.coherence import coherence_gradient
from bankgcn.kernels.ops.filter_rows import filter_bank, filter_bank_adjoint, hop_rows
from bankgcn.kernels.ops.linear import bias_gradient
from bankgcn.kernels.ops.normalize import (
    graph_norm,
    graph_norm_adjoint,
    l2_normalize,
    l2_normalize_adjoint,
    layer_norm,
    layer_norm_adjoint,
)
from bankgcn.kernels.ops.padding import padded_width
from bankgcn.kernels.ops.parameters import expand_filters, filters_gradient, pack_gradient, unpack_parameters
from bankgcn.kernels.ops.propagate import propagate
from bankgcn.kernels.ops.rowwise import add_multiple, dropout, relu, relu_adjoint

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
        r = self._levels.nodes(r)
        start, (filters, terms) = self._slots.weights(alpha)
        degree, hidden = basis.shape[1] - 1, len(r.columns)
        place = sum(map(len, self._bases))
        self._bases.append(np.ascontiguousarray(basis, self.dtype).reshape(-1))
        self._slots.use(alpha)
        slot = self._slots.new(degree + 1, hidden)
        bank = {"alpha": start, "filters": filters, "terms": terms, "basis": place, "degree": degree}
        bank |= {"channels": hidden // filters, "c": slot}
        self._prologue.append(Instruction(expand_filters, bank | {"shortcut": shortcut}))
        hops = Buffer("node", 8 * REGISTER_BYTES // self.dtype.itemsize, hop_rows(degree), padding="none")
        out = r.like()
        options = {"c": slot, "order": degree, "hops": hops}
        self._tape.emit(filter_bank, x=r.buffer, out=out.buffer, **options)

        def backward() -> None:
            grad = self._tape.gradients.pop(out)
            signal = self._tape.weighted_by_nodes(r.buffer)
            self._tape.give_result_of(r, filter_bank_adjoint, grad=grad, signal=signal, **options)
            self._epilogue.append(Instruction(filters_gradient, bank))
            unit = Buffer("block", terms + 1, filters, padding="none")
            chosen = {"alpha": start, "filters": filters, "terms": terms, "unit": unit}
            self._epilogue.append(Instruction(coherence_gradient, chosen))

        self._tape.steps.append(backward)
        return out

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
        """Drop values at random, in training; see :mod:`bankgcn.nn.dropout`."""
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
