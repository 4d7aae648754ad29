"""The losses of the tasks, and their gradients with respect to the outputs of the network.

Each adds the weighted losses of the block's graphs, and writes the gradients. Of values and labels, each target has its
weight, and outputs whose target is unknown, NaN, have no loss. They compute in double precision, as there are few
outputs; numba's ``float`` would keep 32 bits.
"""

from __future__ import annotations

import math

import numpy as np

from bankgcn.kernels.jit.compiler import operation, unpack
from bankgcn.kernels.jit.vector import doubles_at, integers_at
from bankgcn.kernels.ops.blocks import CLASSES, FIRST_GRAPH, GRAPHS, LOSS, SHARE, TARGETS


@operation("outputs: buffer, columns, out: buffer")
def cross_entropy(instruction, table, work, parameters, gradients):
    """The cross-entropy of the classes."""
    (outputs, outputs_stride, _, columns, out, stride, width) = unpack(instruction, 7)
    classes, share, total = integers_at(table[CLASSES]), doubles_at(table[SHARE]), doubles_at(table[LOSS])
    for row in range(table[GRAPHS]):
        graph, at, to = table[FIRST_GRAPH] + row, outputs + row * outputs_stride, out + row * stride
        largest, exponentials = -math.inf, 0.0
        for k in range(columns):
            largest = max(largest, np.float64(work[at + k]))
        for k in range(columns):
            exponentials += math.exp(np.float64(work[at + k]) - largest)
        total[0] += share[graph] * (largest + math.log(exponentials) - np.float64(work[at + classes[graph]]))
        for k in range(columns):
            probability = math.exp(np.float64(work[at + k]) - largest) / exponentials
            work[to + k] = share[graph] * (probability - (k == classes[graph]))
        for k in range(columns, width):
            work[to + k] = 0


@operation("outputs: buffer, columns, out: buffer")
def squared_error(instruction, table, work, parameters, gradients):
    """The squared error of values."""
    (outputs, outputs_stride, _, columns, out, stride, width) = unpack(instruction, 7)
    targets, share, total = doubles_at(table[TARGETS]), doubles_at(table[SHARE]), doubles_at(table[LOSS])
    for row in range(table[GRAPHS]):
        graph, at, to = table[FIRST_GRAPH] + row, outputs + row * outputs_stride, out + row * stride
        for k in range(width):
            work[to + k] = 0
        for k in range(columns):
            target = targets[graph * columns + k]
            if target == target:
                error = np.float64(work[at + k]) - target
                total[0] += share[graph * columns + k] * error * error
                work[to + k] = 2 * share[graph * columns + k] * error


@operation("outputs: buffer, columns, out: buffer")
def absolute_error(instruction, table, work, parameters, gradients):
    """The absolute error of values; its gradient at 0 is 0."""
    (outputs, outputs_stride, _, columns, out, stride, width) = unpack(instruction, 7)
    targets, share, total = doubles_at(table[TARGETS]), doubles_at(table[SHARE]), doubles_at(table[LOSS])
    for row in range(table[GRAPHS]):
        graph, at, to = table[FIRST_GRAPH] + row, outputs + row * outputs_stride, out + row * stride
        for k in range(width):
            work[to + k] = 0
        for k in range(columns):
            target = targets[graph * columns + k]
            if target == target:
                error = np.float64(work[at + k]) - target
                total[0] += share[graph * columns + k] * abs(error)
                work[to + k] = share[graph * columns + k] * ((error > 0) - (error < 0)) if error == error else error


@operation("outputs: buffer, columns, out: buffer")
def binary_cross_entropy(instruction, table, work, parameters, gradients):
    """The cross-entropy of labels 0 and 1."""
    (outputs, outputs_stride, _, columns, out, stride, width) = unpack(instruction, 7)
    targets, share, total = doubles_at(table[TARGETS]), doubles_at(table[SHARE]), doubles_at(table[LOSS])
    for row in range(table[GRAPHS]):
        graph, at, to = table[FIRST_GRAPH] + row, outputs + row * outputs_stride, out + row * stride
        for k in range(width):
            work[to + k] = 0
        for k in range(columns):
            target, x = targets[graph * columns + k], np.float64(work[at + k])
            if target == target:
                small = math.exp(-abs(x))  # cannot overflow
                total[0] += share[graph * columns + k] * (max(x, 0.0) - x * target + math.log1p(small))
                probability = 1 / (1 + small) if x >= 0 else small / (1 + small)
                work[to + k] = share[graph * columns + k] * (probability - target)


LOSSES = {loss.name: loss for loss in (cross_entropy, squared_error, absolute_error, binary_cross_entropy)}
