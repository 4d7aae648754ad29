"""The linear classifier of a graph's readouts with cross-entropy, and the gradients of both."""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import jit_inner
from bankgcn.kernels.jit.vector import broadcast4, fma, lanes, load, reduce_sum, store
from bankgcn.kernels.ops.padding import width


@jit_inner
def classify(weight, bias, readout, at, rows, logits):
    """Write the logits of a graph, whose readouts are the rows of ``readout`` from ``at`` on."""
    zero = broadcast4(readout.dtype.type(0))
    for k in range(logits.shape[0]):
        s = zero
        for row in range(rows):
            for j in range(0, width(readout), lanes(zero)):
                s = fma(load(zero, weight, k * rows + row, j), load(zero, readout, at + row, j), s)
        logits[k] = reduce_sum(s) + bias[0, k]


@jit_inner
def cross_entropy(logits, label, scale):
    """The cross-entropy of a graph; replaces the logits by ``scale`` times their gradient."""
    largest = -np.inf
    for k in range(logits.shape[0]):
        largest = max(largest, logits[k])
    exponentials = 0.0
    for k in range(logits.shape[0]):
        exponentials += np.exp(logits[k] - largest)
    loss = largest + np.log(exponentials) - logits[label]
    for k in range(logits.shape[0]):
        logits[k] = scale * (np.exp(logits[k] - largest) / exponentials - (k == label))
    return loss


@jit_inner
def classify_adjoint(weight, readout, at, rows, grad_logits, grad_weight, grad_bias, grad_readout):
    """Add the gradients of the classifier, and write those of the readouts."""
    zero = broadcast4(readout.dtype.type(0))
    for row in range(rows):
        for j in range(0, width(readout), lanes(zero)):
            store(grad_readout, at + row, j, zero)
    for k in range(grad_logits.shape[0]):
        grad_bias[0, k] += grad_logits[k]
        for row in range(rows):
            line = k * rows + row
            for j in range(0, width(readout), lanes(zero)):
                grad_line = fma(grad_logits[k], load(zero, readout, at + row, j), load(zero, grad_weight, line, j))
                store(grad_weight, line, j, grad_line)
                grad_row = fma(grad_logits[k], load(zero, weight, line, j), load(zero, grad_readout, at + row, j))
                store(grad_readout, at + row, j, grad_row)
