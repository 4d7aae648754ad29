"""Kinds of nodes: nodes for which the first layer of a network computes the same row, in whichever graph they are.

If nodes have labels alone, the first layer's projection selects rows of its weights, and one hop adds up a few of them:
the result depends on a node's label and on the labels around it. 64 graphs of NCI1 have about 1,600 nodes (of quotient
graphs) but only about 90 such neighbourhoods; with the factors that GCN's operator takes from degrees, 230. Up to the
second hop, a network computes with one row for each kind in a batch.

So a signal is at one of three levels: rows that labels select, kinds of nodes, nodes. A signal of labels has no memory:
it is rows of weights, and each node's labels select some of them. One hop, or a step that takes each row by itself,
gives equal rows to nodes of a kind, and a signal of kinds has one row for each kind. Every other step computes with
nodes. :class:`Levels` brings signals to the level at which a step computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import jit_cached
from bankgcn.kernels.network.collate import CollatedGraphs
from bankgcn.kernels.network.program import Buffer, NumColumns, Slot
from bankgcn.kernels.network.tape import Signal, Tape
from bankgcn.kernels.ops.blocks import KIND_ROWS, NODE_GRADIENTS, ROWS, padded_width
from bankgcn.kernels.ops.input_rows import (
    add_label_rows,
    kinds_of_labels,
    kinds_of_labels_gradient,
    label_rows_gradient,
    load_kind_rows,
    share_rows,
    sum_node_gradients,
)
from bankgcn.kernels.ops.linear import bias_gradient, linear, weight_gradient

MIN_NODES = 1 << 16  # of a set: smaller ones train faster than the operations of kinds are compiled
MIN_NODES_OF_KIND = 8  # nodes of the set for each kind, on average; the graphs of DD have hardly any equal ones


class Kinds(NamedTuple):
    """The kinds of N nodes in batches; C kinds of all batches, one batch after another."""

    kind: NDArray[np.int64]  # (N,): of each node, counted within its batch
    example: NDArray[np.int64]  # (C,): the first node of each kind
    members_ptr: NDArray[np.int64]  # (C + 1,): start of each kind's members
    members: NDArray[np.int64]  # (N,): nodes of each kind, counted within their batch
    batch_ptr: NDArray[np.int64]  # (batches + 1,): start of each batch's kinds

    @classmethod
    def none(cls, batches: int) -> Kinds:
        """Batches in which kinds are not used."""
        empty, start = np.empty(0, np.int64), np.zeros(1, np.int64)
        return cls(empty, empty, start, empty, np.zeros(batches + 1, np.int64))


def number_kinds(graphs: CollatedGraphs) -> NDArray[np.int64] | None:
    """The kind of each node, counted from 0; ``None`` if nodes have attributes, or if there are too many kinds.

    Two nodes are of a kind if their labels, their entries on the operator's diagonal and the labels and weights of
    their edges agree, bit for bit and in any order.
    """
    nodes = len(graphs.diagonal)
    if graphs.attributes.shape[1] or not graphs.labels.shape[1]:
        return None
    label = np.unique(graphs.labels, axis=0, return_inverse=True)[1].reshape(-1)
    row = np.arange(nodes).repeat(np.diff(graphs.rowptr))
    weight = graphs.weight.view(f"i{graphs.weight.itemsize}")
    order = np.lexsort((weight, label[graphs.col], row))
    edges = np.stack([label[graphs.col], weight], axis=1)[order]
    own = np.stack([label, graphs.diagonal.view(weight.dtype)], axis=1)
    known: dict[bytes, int] = {}
    kinds = np.empty(nodes, np.int64)
    most = nodes // MIN_NODES_OF_KIND
    starts = graphs.rowptr.tolist()
    for node in range(nodes):
        key = own[node].tobytes() + edges[starts[node] : starts[node + 1]].tobytes()
        kinds[node] = known.setdefault(key, len(known))
        if len(known) > most:
            return None
    return kinds


def kinds_in_batches(kinds: NDArray[np.int64], node_ptr: NDArray[np.int64]) -> Kinds:
    """The kinds of each batch.

    Args:
        kinds: Kind of each node, as :func:`number_kinds` counts them.
        node_ptr: Start of each batch's nodes, then their number.
    """
    nodes, batches = len(kinds), len(node_ptr) - 1
    kind, example, members = np.empty((3, nodes), np.int64)
    found = Kinds(kind, example, np.zeros(nodes + 1, np.int64), members, np.zeros(batches + 1, np.int64))
    count = _number_in_batches(kinds, node_ptr, np.full(kinds.max(initial=-1) + 1, -1), *found)
    return found._replace(example=found.example[:count], members_ptr=found.members_ptr[: count + 1])


@jit_cached
def _number_in_batches(kinds, node_ptr, place, kind, example, members_ptr, members, batch_ptr):
    """Write the fields of :class:`Kinds`; return the number of kinds. ``place`` is workspace, -1 everywhere."""
    count = 0
    for batch in range(len(node_ptr) - 1):
        start, begin, end = count, node_ptr[batch], node_ptr[batch + 1]
        for node in range(begin, end):
            if place[kinds[node]] < start:
                place[kinds[node]] = count
                example[count] = node
                count += 1
                members_ptr[count] = 0
            number = place[kinds[node]]
            kind[node] = number - start
            members_ptr[number + 1] += 1
        for number in range(start, count):
            members_ptr[number + 1] += members_ptr[number]
        for node in range(end - 1, begin - 1, -1):  # backward: the end of each kind moves to its start
            number = start + kind[node]
            members_ptr[number + 1] -= 1
            members[members_ptr[number + 1]] = node - begin
        for number in range(start, count):  # and is one place too far
            members_ptr[number] = members_ptr[number + 1]
        members_ptr[count] = end
        batch_ptr[batch + 1] = count
    return count


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
