"""The linear classifier of the graphs' readouts with cross-entropy, and its gradient."""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import jit_inner
from bankgcn.kernels.jit.vector import broadcast4, fma, lanes, load, reduce_sum, store
from bankgcn.kernels.ops.padding import width


@jit_inner
def classify(parameters, gradient, readout, grad_readout, logits, y, begin, end, scale):
    """Sum of the cross-entropies of the graphs from ``begin`` to ``end``, whose readouts start at row 0.

    Adds ``scale`` times the gradient of the classifier, and writes that of the readouts. ``logits`` is workspace.
    """
    zero, loss = broadcast4(readout.dtype.type(0)), 0.0
    rows = parameters.classifier.shape[0] // logits.shape[0]  # of one graph
    for graph in range(begin, end):
        at, largest, exponentials = (graph - begin) * rows, -np.inf, 0.0
        for k in range(logits.shape[0]):
            s = zero
            for row in range(rows):
                for j in range(0, width(readout), lanes(zero)):
                    s = fma(load(zero, parameters.classifier, k * rows + row, j), load(zero, readout, at + row, j), s)
            logits[k] = reduce_sum(s) + parameters.classifier_bias[0, k]
            largest = max(largest, logits[k])
        for k in range(logits.shape[0]):
            exponentials += np.exp(logits[k] - largest)
        loss += largest + np.log(exponentials) - logits[y[graph]]
        for row in range(rows):
            for j in range(0, width(readout), lanes(zero)):
                store(grad_readout, at + row, j, zero)
        for k in range(logits.shape[0]):
            grad = scale * (np.exp(logits[k] - largest) / exponentials - (k == y[graph]))
            gradient.classifier_bias[0, k] += grad
            g = readout.dtype.type(grad)
            for row in range(rows):
                line = k * rows + row
                for j in range(0, width(readout), lanes(zero)):
                    v, weight = load(zero, readout, at + row, j), load(zero, parameters.classifier, line, j)
                    store(gradient.classifier, line, j, fma(g, v, load(zero, gradient.classifier, line, j)))
                    store(grad_readout, at + row, j, fma(g, weight, load(zero, grad_readout, at + row, j)))
    return loss
