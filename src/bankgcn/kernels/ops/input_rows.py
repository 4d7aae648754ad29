"""The first rows: attributes and labels of the nodes, and rows that nodes of a kind share.

Attributes are copied to padded rows, and labels select rows of weights. Nodes of a kind have the same label, and the
operator gives them the same sums over the labels of their neighbours (:mod:`bankgcn.kernels.network.kinds`): their rows
are computed once, read by the nodes, and get gradients that the nodes give back. In a block of kinds, entries of the
table count kinds instead of nodes.
"""

from __future__ import annotations

from bankgcn.kernels.jit.compiler import operation, unpack
from bankgcn.kernels.jit.vector import (
    add,
    floats_at,
    fma,
    integers_at,
    lanes,
    load,
    multiply,
    number,
    store,
    zeros4,
)
from bankgcn.kernels.ops.blocks import (
    ATTRIBUTES,
    BATCH_ROW,
    COL,
    DIAGONAL,
    FIRST_NODE,
    KIND,
    KIND_COLUMNS,
    KIND_EXAMPLE,
    KIND_ROWS,
    LABELS,
    MEMBERS,
    MEMBERS_PTR,
    NODE_GRADIENTS,
    NUM_ATTRIBUTES,
    NUM_LABELS,
    ROWPTR,
    ROWS,
    WEIGHT,
)


@operation("out: buffer")
def load_attributes(instruction, table, work, parameters, gradients):
    """Copy the attributes of the nodes; fill up with zeros."""
    (out, stride, width) = unpack(instruction, 3)
    columns = table[NUM_ATTRIBUTES]
    attributes, first = floats_at(work, table[ATTRIBUTES]), table[FIRST_NODE]
    for i in range(table[ROWS]):
        for k in range(columns):
            work[out + i * stride + k] = attributes[(first + i) * columns + k]
        for k in range(columns, width):
            work[out + i * stride + k] = 0


@operation("plus: buffer, weight: slot, out: buffer", in_place=("plus",))
def add_label_rows(instruction, table, work, parameters, gradients):
    """``out = plus +`` the rows of the weight matrix that the labels of each node select.

    It is the product of one-hot labels and the matrix. Without ``plus`` it starts from 0.
    """
    (plus, plus_stride, _, weight, weight_stride, out, stride, width) = unpack(instruction, 8)
    labels, columns, zero = integers_at(table[LABELS]), table[NUM_LABELS], zeros4(work)
    for i in range(table[ROWS]):
        first = (table[FIRST_NODE] + i) * columns
        for j in range(0, width, lanes(zero)):
            s = zero
            if plus >= 0:
                s = load(zero, work, plus + i * plus_stride + j)
            for column in range(columns):
                s = add(s, load(zero, parameters, weight + labels[first + column] * weight_stride + j))
            store(work, out + i * stride + j, s)


@operation("grad: buffer, weight: slot")
def label_rows_gradient(instruction, table, work, parameters, gradients):
    """Add each row of ``grad`` to the gradients of the rows that the labels of its node select."""
    (grad, grad_stride, width, weight, stride) = unpack(instruction, 5)
    labels, columns, zero = integers_at(table[LABELS]), table[NUM_LABELS], zeros4(work)
    for i in range(table[ROWS]):
        first = (table[FIRST_NODE] + i) * columns
        for column in range(columns):
            at = weight + labels[first + column] * stride
            for j in range(0, width, lanes(zero)):
                g = load(zero, work, grad + i * grad_stride + j)
                store(gradients, at + j, add(g, load(zero, gradients, at + j)))


@operation("weight: slot, hop, factor, bias: slot, plus: buffer, out: buffer", in_place=("plus",))
def kinds_of_labels(instruction, table, work, parameters, gradients):
    """``out = bias + plus + factor P S weight`` for each kind, with one-hot labels S; without ``hop``, P is 1."""
    (weight, weight_stride, hop, factor, bias, _, plus, plus_stride, _, out, stride, width) = unpack(instruction, 12)
    rowptr, col, example = integers_at(table[ROWPTR]), integers_at(table[COL]), integers_at(table[KIND_EXAMPLE])
    operator, diagonal = floats_at(work, table[WEIGHT]), floats_at(work, table[DIAGONAL])
    labels, columns = integers_at(table[LABELS]), table[NUM_LABELS]
    zero, scale, one = zeros4(work), number(work, factor), number(work, 1)
    for i in range(table[ROWS]):
        node = example[table[FIRST_NODE] + i]
        own = diagonal[node] if hop else one
        for j in range(0, width, lanes(zero)):
            s = zero
            for k in range(node * columns, (node + 1) * columns):
                s = fma(own, load(zero, parameters, weight + labels[k] * weight_stride + j), s)
            if hop:
                for e in range(rowptr[node], rowptr[node + 1]):
                    for k in range(col[e] * columns, (col[e] + 1) * columns):
                        s = fma(operator[e], load(zero, parameters, weight + labels[k] * weight_stride + j), s)
            s = fma(scale, s, load(zero, parameters, bias + j))
            if plus >= 0:
                s = add(s, load(zero, work, plus + i * plus_stride + j))
            store(work, out + i * stride + j, s)


@operation("grad: buffer, weight: slot, hop, factor")
def kinds_of_labels_gradient(instruction, table, work, parameters, gradients):
    """Add the gradient of the weight in :func:`kinds_of_labels`."""
    (grad, grad_stride, width, weight, stride, hop, factor) = unpack(instruction, 7)
    rowptr, col, example = integers_at(table[ROWPTR]), integers_at(table[COL]), integers_at(table[KIND_EXAMPLE])
    operator, diagonal = floats_at(work, table[WEIGHT]), floats_at(work, table[DIAGONAL])
    labels, columns = integers_at(table[LABELS]), table[NUM_LABELS]
    zero, scale, one = zeros4(work), number(work, factor), number(work, 1)
    for i in range(table[ROWS]):
        node = example[table[FIRST_NODE] + i]
        own = diagonal[node] if hop else one
        for j in range(0, width, lanes(zero)):
            g = multiply(scale, load(zero, work, grad + i * grad_stride + j))
            for k in range(node * columns, (node + 1) * columns):
                at = weight + labels[k] * stride + j
                store(gradients, at, fma(own, g, load(zero, gradients, at)))
            if hop:
                for e in range(rowptr[node], rowptr[node + 1]):
                    for k in range(col[e] * columns, (col[e] + 1) * columns):
                        at = weight + labels[k] * stride + j
                        store(gradients, at, fma(operator[e], g, load(zero, gradients, at)))


@operation("x: buffer, place, column")
def share_rows(instruction, table, work, parameters, gradients):
    """Copy rows to where others read them: those of kinds to ``KIND_ROWS``, gradients of nodes to ``NODE_GRADIENTS``.

    ``place`` is this entry of the table.
    """
    (x, x_stride, width, place, column) = unpack(instruction, 5)
    rows, columns, zero = floats_at(work, table[place]), table[KIND_COLUMNS], zeros4(work)
    for i in range(table[ROWS]):
        at = (table[BATCH_ROW] + i) * columns + column
        for j in range(0, width, lanes(zero)):
            store(rows, at + j, load(zero, work, x + i * x_stride + j))


@operation("column, out: buffer")
def load_kind_rows(instruction, table, work, parameters, gradients):
    """Give each node the row of its kind."""
    (column, out, stride, width) = unpack(instruction, 4)
    kind, rows = integers_at(table[KIND]), floats_at(work, table[KIND_ROWS])
    columns, first, zero = table[KIND_COLUMNS], table[FIRST_NODE], zeros4(work)
    for i in range(table[ROWS]):
        at = kind[first + i] * columns + column
        for j in range(0, width, lanes(zero)):
            store(work, out + i * stride + j, load(zero, rows, at + j))


@operation("column, out: buffer")
def sum_node_gradients(instruction, table, work, parameters, gradients):
    """Add the gradients of the nodes of each kind, always in the same order."""
    (column, out, stride, width) = unpack(instruction, 4)
    members_ptr, members = integers_at(table[MEMBERS_PTR]), integers_at(table[MEMBERS])
    rows, columns = floats_at(work, table[NODE_GRADIENTS]), table[KIND_COLUMNS]
    first, zero = table[FIRST_NODE], zeros4(work)
    for i in range(table[ROWS]):
        for j in range(0, width, lanes(zero)):
            s = zero
            for m in range(members_ptr[first + i], members_ptr[first + i + 1]):
                s = add(s, load(zero, rows, members[m] * columns + column + j))
            store(work, out + i * stride + j, s)
