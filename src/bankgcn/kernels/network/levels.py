"""Brings signals to the level at which a step computes: rows that labels select, kinds of nodes, nodes.

A signal of labels has no memory: it is rows of weights, and each node's labels select some of them. One hop, or a step
that takes each row by itself, gives equal rows to nodes of a kind (:mod:`~bankgcn.kernels.network.kinds`), and a signal
of kinds has one row for each kind. Every other step computes with nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bankgcn.kernels.network.program import Buffer, NumColumns, Slot
from bankgcn.kernels.network.tape import Signal, Tape
from bankgcn.kernels.ops.block_table import KIND_ROWS, NODE_GRADIENTS, ROWS
from bankgcn.kernels.ops.input_rows import add_label_rows, label_rows_gradient
from bankgcn.kernels.ops.kind_rows import (
    kinds_of_labels,
    kinds_of_labels_gradient,
    load_kind_rows,
    share_rows,
    sum_node_gradients,
)
from bankgcn.kernels.ops.linear import bias_gradient, linear, weight_gradient
from bankgcn.kernels.ops.padding import padded_width


@dataclass(frozen=True)
class SelectedRows:
    """What a signal of labels stands for: ``attributes weight + rows of weight that labels select + bias``.

    Args:
        attributes: The attributes of the nodes; kinds are only used where there are none.
        weight: The rows.
        bias: A row that is added.
        has_bias: Whether it is learned.
    """

    attributes: Buffer
    weight: Slot
    bias: Slot
    has_bias: bool


class Levels:
    """The levels of the signals of a program under construction.

    Args:
        tape: Where instructions go.
        dtype: Type of all floats.
    """

    def __init__(self, tape: Tape, dtype: np.dtype):
        self._tape, self._dtype = tape, dtype
        self._selected: dict[Signal, SelectedRows] = {}
        self._kinds: dict[Signal, Signal] = {}
        self._nodes: dict[Signal, Signal] = {}
        self.kind_columns = 0  # values that nodes read of each kind

    def select(self, rows: SelectedRows, signal: Signal) -> Signal:
        """Declare what a signal of labels stands for."""
        self._selected[signal] = rows
        return signal

    def can_hop(self, x: Signal, plus: Signal | None) -> bool:
        """Whether :meth:`hop` can take these signals."""
        of_rows = plus is None or plus.space in ("label", "kind")
        return x.space == "label" and not self._selected[x].has_bias and of_rows

    def hop(self, x: Signal, bias: Slot, has_bias: bool, factor: int, plus: Signal | None) -> Signal:
        """``bias + plus + factor P x`` of a signal of labels, for each kind."""
        return self._to_kinds(x, bias, has_bias, hop=1, factor=factor, plus=None if plus is None else self.rows(plus))

    def rows(self, x: Signal) -> Signal:
        """The signal for a step that takes each row by itself: not of labels."""
        if x.space != "label":
            return x
        if x not in self._kinds:
            rows = self._selected[x]
            self._kinds[x] = self._to_kinds(x, rows.bias, rows.has_bias, hop=0, factor=1, plus=None)
        return self._kinds[x]

    def nodes(self, x: Signal) -> Signal:
        """The signal with a row for each node, or as it is if it is one of graphs."""
        if x.space not in ("label", "kind"):
            return x
        if x not in self._nodes:
            self._nodes[x] = self._select_for_nodes(x) if x.space == "label" else self._read_kinds(x)
        return self._nodes[x]

    def _to_kinds(self, x: Signal, bias: Slot, has_bias: bool, *, hop: int, factor: int, plus: Signal | None) -> Signal:
        weight = self._selected[x].weight
        out = Signal(Buffer("kind", x.buffer.columns), x.columns)
        before = None if plus is None else plus.buffer
        self._tape.emit(kinds_of_labels, weight=weight, hop=hop, factor=factor, bias=bias, plus=before, out=out.buffer)

        def backward() -> None:
            grad = self._tape.gradients.pop(out)
            self._tape.emit_back(kinds_of_labels_gradient, grad=grad, weight=weight, hop=hop, factor=factor)
            if has_bias:
                self._tape.emit_back(bias_gradient, grad=grad, bias=bias, rows=ROWS)
            if plus is not None:
                self._tape.pass_on(plus, grad)

        self._tape.steps.append(backward)
        return out

    def _read_kinds(self, x: Signal) -> Signal:
        column = self.kind_columns
        self.kind_columns += padded_width(x.buffer.columns or 0, self._dtype)
        out = Signal(Buffer("node", x.buffer.columns), x.columns)
        self._tape.emit(share_rows, x=x.buffer, place=KIND_ROWS, column=column)
        self._tape.emit(load_kind_rows, column=column, out=out.buffer)

        def backward() -> None:
            grad = self._tape.weighted_by_nodes(self._tape.gradients.pop(out))
            self._tape.emit_back(share_rows, x=grad, place=NODE_GRADIENTS, column=column)
            self._tape.give_result_of(x, sum_node_gradients, column=column)

        self._tape.steps.append(backward)
        return out

    def _select_for_nodes(self, x: Signal) -> Signal:
        selected = self._selected[x]
        attributes, weight, bias = selected.attributes, selected.weight, selected.bias
        out, dense = Signal(Buffer("node", x.buffer.columns), x.columns), Buffer("node", x.buffer.columns)
        inner = NumColumns(attributes)
        self._tape.emit(linear, x=attributes, inner=inner, weight=weight, bias=bias, plus=None, out=dense, rows=ROWS)
        self._tape.emit(add_label_rows, plus=dense, weight=weight, out=out.buffer)

        def backward() -> None:
            grad = self._tape.weighted_by_nodes(self._tape.gradients.pop(out))
            self._tape.emit_back(weight_gradient, x=attributes, inner=inner, grad=grad, weight=weight, rows=ROWS)
            self._tape.emit_back(label_rows_gradient, grad=grad, weight=weight)
            if selected.has_bias:
                self._tape.emit_back(bias_gradient, grad=grad, bias=bias, rows=ROWS)

        self._tape.steps.append(backward)
        return out
