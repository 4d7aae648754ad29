"""Features of whole graphs, which join the readouts before the head, forward and backward.

They are read from the arrays of the call, so a block needs no memory for them. Most of them may be 0, as counts of
substructures are: a feature that is 0 costs no product.
"""

from __future__ import annotations

from bankgcn.kernels.jit.compiler import operation, unpack
from bankgcn.kernels.jit.vector import floats_at, fma, lanes, load, store, zeros2
from bankgcn.kernels.ops.blocks import FIRST_GRAPH, GRAPH_FEATURES, GRAPHS, NUM_GRAPH_FEATURES


@operation("plus: buffer, weight: slot, out: buffer", in_place=("plus",))
def add_graph_features(instruction, table, work, parameters, gradients):
    """``out = plus + f weight`` with the features f of each graph."""
    (plus, plus_stride, _, weight, weight_stride, out, stride, width) = unpack(instruction, 8)
    features, columns, zero = floats_at(work, table[GRAPH_FEATURES]), table[NUM_GRAPH_FEATURES], zeros2(work)
    for i in range(table[GRAPHS]):
        first = (table[FIRST_GRAPH] + i) * columns
        for j in range(0, width, lanes(zero)):
            s = load(zero, work, plus + i * plus_stride + j)
            for k in range(columns):
                f = features[first + k]
                if f != 0:
                    s = fma(f, load(zero, parameters, weight + k * weight_stride + j), s)
            store(work, out + i * stride + j, s)


@operation("grad: buffer, weight: slot")
def graph_features_gradient(instruction, table, work, parameters, gradients):
    """Add ``f^T grad`` to the gradient of the weight matrix."""
    (grad, grad_stride, width, weight, weight_stride) = unpack(instruction, 5)
    features, columns, zero = floats_at(work, table[GRAPH_FEATURES]), table[NUM_GRAPH_FEATURES], zeros2(work)
    for i in range(table[GRAPHS]):
        first = (table[FIRST_GRAPH] + i) * columns
        for k in range(columns):
            f = features[first + k]
            if f != 0:
                for j in range(0, width, lanes(zero)):
                    at = weight + k * weight_stride + j
                    g = load(zero, work, grad + i * grad_stride + j)
                    store(gradients, at, fma(f, g, load(zero, gradients, at)))
