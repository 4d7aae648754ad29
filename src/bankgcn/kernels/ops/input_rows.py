"""The signals of the nodes: attributes, which are copied to padded rows, and labels, which select rows of weights."""

from __future__ import annotations

from bankgcn.kernels.jit.operation import operation, unpack
from bankgcn.kernels.jit.vector import add, floats_at, integers_at, lanes, load, store, zeros4
from bankgcn.kernels.ops.block_table import ATTRIBUTES, FIRST_NODE, LABELS, NUM_ATTRIBUTES, NUM_LABELS, ROWS


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
