r"""Runs a program: takes graphs through a whole network, forward, and backward if there is a loss.

Graphs do not see each other, so one block of small graphs goes through all layers, the readout, the loss and back
before the next one starts. Its workspace, a few hundred kilobytes, stays in the cache, and only the gradients of the
parameters are kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import jit_cached
from bankgcn.kernels.network.block import backward_block, block_end, forward_block, largest_block
from bankgcn.kernels.network.collate import CollatedGraphs
from bankgcn.kernels.network.parameters import (
    add_packed_gradient,
    allocate_parameters,
    unpack_parameters,
    zero_gradient,
)
from bankgcn.kernels.network.program import Program
from bankgcn.kernels.network.workspace import allocate_workspace
from bankgcn.kernels.ops.adam import Adam, adam_step
from bankgcn.kernels.ops.classifier import classify
from bankgcn.kernels.ops.coherence import add_coherence_gradient

Floats = NDArray[np.floating]


def readouts(graphs: CollatedGraphs, program: Program, theta: Floats) -> Floats:
    """Readouts of all layers for each graph, side by side: shape ``(num_graphs, layers * readouts * hidden)``.

    Args:
        graphs: The graphs.
        program: The network.
        theta: Its parameters, one after another in torch's order.
    """
    count, shape = len(graphs.node_ptr) - 1, program.shape
    out = np.empty((count, shape.num_layers * shape.num_readouts * shape.hidden_channels), theta.dtype)
    _run(graphs, np.array([0, count]), program, theta, out=out)
    return out


def add_gradient(
    graphs: CollatedGraphs,
    program: Program,
    theta: Floats,
    y: NDArray[np.int64],
    gradient: Floats,
    *,
    scale: float = 1.0,
    gamma: float = 0.0,
) -> float:
    r"""The mean cross-entropy of the graphs; adds the gradient of the objective (Eq. 20) to ``gradient``.

    Args:
        graphs: The graphs, at least one.
        program: The network.
        theta: Its parameters, one after another in torch's order.
        y: Class of each graph.
        gradient: Of the same length as ``theta``.
        scale: Factor of the gradient.
        gamma: Weight of :math:`\Omega` of each layer in the objective.

    Raises:
        IndexError: A class is out of range.
    """
    _check_classes(y, program)
    losses = np.empty(1, theta.dtype)
    _run(graphs, np.array([0, len(y)]), program, theta, y, losses, gradient, scale=scale, gamma=gamma)
    return float(losses[0])


def train(
    graphs: CollatedGraphs,
    batch_ptr: NDArray[np.int64],
    program: Program,
    theta: Floats,
    y: NDArray[np.int64],
    gradient: Floats,
    adam: Adam,
    *,
    gamma: float = 0.0,
) -> Floats:
    r"""Take a step of Adam for each batch; return the mean cross-entropy of each batch before its step.

    Args:
        graphs: The graphs of all batches, one batch after another.
        batch_ptr: Start of each batch in the graphs, then their number: shape ``(batches + 1,)``.
        program: The network.
        theta: Its parameters, one after another in torch's order; changed in place.
        y: Class of each graph.
        gradient: Of the same length as ``theta``; afterwards it holds the gradient of the last step.
        adam: State and settings of the optimiser; its arrays are changed in place.
        gamma: Weight of :math:`\Omega` of each layer in the objective.

    Raises:
        IndexError: A class is out of range; nothing was changed.
    """
    _check_classes(y, program)
    losses = np.empty(len(batch_ptr) - 1, theta.dtype)
    _run(graphs, batch_ptr, program, theta, y, losses, gradient, adam, gamma=gamma)
    return losses


def _run(
    graphs: CollatedGraphs,
    batch_ptr: NDArray[np.int64],
    program: Program,
    theta: Floats,
    y: NDArray[np.int64] | None = None,
    losses: Floats | None = None,
    gradient: Floats | None = None,
    adam: Adam | None = None,
    *,
    scale: float = 1.0,
    gamma: float = 0.0,
    out: Floats | None = None,
) -> None:
    """Call the compiled executor, always with the same types: a missing array is passed as an empty one."""
    empty = np.empty(0, theta.dtype)
    mean, square, step, *settings = adam or Adam(empty, empty, 1, 0.0, 0.0, 0.0, 0.0, 0.0)
    _execute(
        graphs,
        batch_ptr,
        program.shape,
        program.banks,
        program.basis,
        theta,
        np.empty(0, np.int64) if y is None else y,
        float(scale),
        float(gamma),
        np.empty((0, 0), theta.dtype) if out is None else out,
        empty if losses is None else losses,
        empty if gradient is None else gradient,
        Adam(mean, square, int(step), *map(float, settings)),
    )


def _check_classes(y: NDArray[np.int64], program: Program) -> None:
    classes = program.shape.num_classes
    if len(y) and not 0 <= y.min() <= y.max() < classes:
        raise IndexError(f"the classes of the graphs range from {y.min()} to {y.max()}, expected 0 to {classes - 1}")


@jit_cached
def _execute(graphs, batch_ptr, shape, banks, basis, theta, y, scale, gamma, out, losses, grad_theta, adam):
    """Take the graphs of each batch through the network, block by block. One function for all uses compiles once.

    Without classes ``y`` it writes the readouts to ``out``. With classes it writes the mean loss of each batch and adds
    the gradient to ``grad_theta``. If Adam has state, it takes a step after each batch, with the batch's own gradient.
    """
    backward, update = y.shape[0] > 0, adam.mean.shape[0] > 0
    parameters, gradient = allocate_parameters(shape, theta.dtype), allocate_parameters(shape, theta.dtype)
    nodes, most = largest_block(graphs.node_ptr, batch_ptr)
    workspace = allocate_workspace(shape, graphs.attributes.shape[1], nodes, most, backward, theta.dtype)
    hidden, rows = shape.hidden_channels, shape.num_layers * shape.num_readouts
    for batch in range(batch_ptr.shape[0] - 1):
        unpack_parameters(shape, banks, basis, theta, parameters)
        begin, last = batch_ptr[batch], batch_ptr[batch + 1]
        share, loss = 1 / max(last - begin, 1), 0.0
        while begin < last:
            end = block_end(graphs.node_ptr, begin, last)
            forward_block(graphs, shape, parameters, workspace, begin, end)
            if backward:
                readout, grad_readout, logits = workspace.readout, workspace.grad_readout, workspace.logits
                loss += classify(parameters, gradient, readout, grad_readout, logits, y, begin, end, scale * share)
                backward_block(graphs, shape, parameters, gradient, workspace, begin, end)
            else:
                for graph in range(begin, end):
                    for row in range(rows):
                        for k in range(hidden):
                            out[graph, row * hidden + k] = workspace.readout[(graph - begin) * rows + row, k]
            begin = end
        if backward:
            losses[batch] = loss * share
            if update:
                grad_theta[:] = 0
            add_packed_gradient(shape, banks, basis, gradient, grad_theta)
            zero_gradient(gradient)
            if gamma != 0:
                add_coherence_gradient(banks, basis.shape[0], theta, scale * gamma, grad_theta)
        if update:
            adam_step(theta, grad_theta, adam, adam.step + batch)
