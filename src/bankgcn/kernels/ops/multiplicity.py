"""Sums over the nodes of a graph, computed on its quotient."""

from __future__ import annotations

from bankgcn.kernels.jit.compiler import jit_inner
from bankgcn.kernels.jit.vector import broadcast4, lanes, load, multiply, store
from bankgcn.kernels.ops.padding import width


@jit_inner
def scale_by_multiplicity(multiplicity, rows, x):
    """Multiply each row by its number of nodes, so that a sum over rows is a sum over nodes."""
    zero = broadcast4(x.dtype.type(0))
    for i in range(rows):
        if multiplicity[i] != 1:
            for j in range(0, width(x), lanes(zero)):
                store(x, i, j, multiply(multiplicity[i], load(zero, x, i, j)))
