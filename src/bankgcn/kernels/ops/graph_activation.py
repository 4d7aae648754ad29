r"""ReLU, :math:`\ell_2` normalisation and readout of the rows of one graph, forward and backward."""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import jit_inner
from bankgcn.kernels.jit.vector import (
    add,
    broadcast4,
    broadcast8,
    divide,
    fma,
    lanes,
    load,
    maximum,
    multiply,
    reduce_sum,
    relu,
    store,
    where_equal,
    where_positive,
)
from bankgcn.kernels.ops.padding import width

BEFORE, AFTER, NONE = 0, 1, 2
NORMALIZE_MODES = {"before": BEFORE, "after": AFTER, "none": NONE}  # normalise before or after the ReLU
EPSILON = 1e-12  # as torch.nn.functional.normalize
MAX_SUMMANDS = 128  # rows in one partial sum: a single sum over thousands of rows loses digits in float32


@jit_inner
def activate_graph(h, start, rows, multiplicity, mode, with_max, scale, x, readout, at):
    """Activate the rows of a graph; write their mean to ``readout[at]`` and their maximum to ``readout[at + 1]``.

    Writes to ``scale`` what the normalisation multiplies each row by.
    """
    zero8, zero, nodes = broadcast8(h.dtype.type(0)), broadcast4(h.dtype.type(0)), h.dtype.type(0)
    for i in range(start, start + rows):
        nodes += multiplicity[i]
        scale[i] = 1
        if mode != NONE:
            squares = zero8
            for j in range(0, width(h), lanes(zero8)):
                v = load(zero8, h, i, j)
                if mode == AFTER:
                    v = relu(v)
                squares = fma(v, v, squares)
            scale[i] = h.dtype.type(1) / max(np.sqrt(reduce_sum(squares)), h.dtype.type(EPSILON))
    share = 1 / max(nodes, h.dtype.type(1))
    for j in range(0, width(h), lanes(zero)):
        largest = sums = zero
        for first in range(start, start + rows, MAX_SUMMANDS):
            partial = zero
            for i in range(first, min(first + MAX_SUMMANDS, start + rows)):
                active = relu(multiply(scale[i], load(zero, h, i, j)))
                store(x, i, j, active)
                partial = fma(multiplicity[i], active, partial)
                largest = maximum(active, largest)
            sums = add(sums, partial)
        store(readout, at, j, multiply(share, sums))
        if with_max:
            store(readout, at + 1, j, largest)


@jit_inner
def activate_graph_adjoint(
    h, x, start, rows, multiplicity, mode, with_max, scale, readout, grad_readout, at, last, grad
):
    """Replace in ``grad`` the gradient of a graph's activated rows by that of its rows before the activation.

    Adds the gradient of the readout to the former; in the ``last`` layer the readout's is the only one.
    """
    zero, one = broadcast4(x.dtype.type(0)), x.dtype.type(1)
    _divide_among_nodes(x, start, rows, multiplicity, with_max, readout, grad_readout, at)
    for i in range(start, start + rows):
        along = zero
        for j in range(0, width(x), lanes(zero)):
            v, g = load(zero, x, i, j), load(zero, grad_readout, at, j)
            if with_max:
                is_max = where_equal(v, load(zero, readout, at + 1, j), one)
                g = fma(is_max, load(zero, grad_readout, at + 1, j), g)
            if not last:
                g = add(g, load(zero, grad, i, j))
            g = where_positive(v, g)
            along = fma(g, v, along)
            store(grad, i, j, g)
        if mode == NONE:
            continue
        across = -reduce_sum(along)
        if scale[i] >= one / x.dtype.type(EPSILON):  # too short to normalise: the divisor is a constant
            across = x.dtype.type(0)
        for j in range(0, width(x), lanes(zero)):
            if mode == BEFORE:
                g = fma(across * scale[i], load(zero, h, i, j), load(zero, grad, i, j))
            else:
                g = fma(across, load(zero, x, i, j), load(zero, grad, i, j))
            store(grad, i, j, multiply(scale[i], g))


@jit_inner
def _divide_among_nodes(x, start, rows, multiplicity, with_max, readout, grad_readout, at):
    """Divide the gradient of the mean among all nodes, and that of the maximum among the nodes that have it."""
    zero, nodes = broadcast4(x.dtype.type(0)), x.dtype.type(0)
    for i in range(start, start + rows):
        nodes += multiplicity[i]
    share = 1 / max(nodes, x.dtype.type(1))
    for j in range(0, width(x), lanes(zero)):
        store(grad_readout, at, j, multiply(share, load(zero, grad_readout, at, j)))
        if with_max:
            ties, largest = zero, load(zero, readout, at + 1, j)
            for i in range(start, start + rows):
                ties = add(ties, where_equal(load(zero, x, i, j), largest, multiplicity[i]))
            grad_max = load(zero, grad_readout, at + 1, j)
            store(grad_readout, at + 1, j, divide(grad_max, ties))  # 0 ties: the maximum is NaN
