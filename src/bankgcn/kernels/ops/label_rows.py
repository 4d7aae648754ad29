"""The product of one-hot labels and a weight matrix: a sum of the rows that the labels select."""

from __future__ import annotations

from bankgcn.kernels.jit.compiler import jit_inner
from bankgcn.kernels.jit.vector import add, broadcast4, lanes, load, store
from bankgcn.kernels.ops.padding import width


@jit_inner
def add_label_rows(labels, first, rows, weight, out):
    """Add to row ``i`` of ``out`` the rows of ``weight`` that the labels of node ``first + i`` select."""
    zero = broadcast4(weight.dtype.type(0))
    for i in range(rows):
        for column in range(labels.shape[1]):
            label = labels[first + i, column]
            for j in range(0, width(out), lanes(zero)):
                store(out, i, j, add(load(zero, out, i, j), load(zero, weight, label, j)))


@jit_inner
def scatter_add_label_rows(labels, first, rows, gradient, out):
    """Add row ``i`` of ``gradient`` to the rows of ``out`` that the labels of node ``first + i`` select."""
    zero = broadcast4(out.dtype.type(0))
    for i in range(rows):
        for column in range(labels.shape[1]):
            label = labels[first + i, column]
            for j in range(0, width(out), lanes(zero)):
                store(out, label, j, add(load(zero, out, label, j), load(zero, gradient, i, j)))
