r"""A whole network of filter banks in one pass over the graphs: forward, and back if a loss is to be minimised.

Graphs do not see each other, so a few small ones at a time can go through all layers, the readout, the loss and all the
way back before the next ones are looked at. What they need meanwhile, a few hundred kilobytes, never leaves the cache,
and nothing is kept but the gradients of the parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import compiled
from bankgcn.kernels.network.block import block_end, classify, largest_block, room_for_block, take_back, take_forward
from bankgcn.kernels.network.parameters import clear, read_parameters, room_for_parameters, write_gradient
from bankgcn.kernels.ops.adam import adam_step
from bankgcn.kernels.ops.coherence import add_coherence_gradient


class Graphs(NamedTuple):
    """Some graphs, the nodes of one after those of another.

    ``ptr`` says where the nodes of each graph start, ``rowptr``, ``col`` and ``weight`` are the shift. The signal of a
    node is its ``attributes``, then one-hot columns of which ``labels`` has the numbers, counted with the attributes.
    A node stands for as many as ``alike`` says; see :mod:`bankgcn.kernels.network.quotient`.
    """

    ptr: NDArray[np.int64]
    rowptr: NDArray[np.int64]
    col: NDArray[np.int64]
    weight: NDArray[np.floating]
    attributes: NDArray[np.floating]
    labels: NDArray[np.int64]
    alike: NDArray[np.floating]


class Shape(NamedTuple):
    """What a network is made of; ``inputs`` is the width of its signals, ``parts`` the readouts of a layer."""

    layers: int
    order: int
    hidden: int
    inputs: int
    classes: int
    parts: int
    mode: int
    bias: bool
    shortcut: bool


@dataclass(frozen=True)
class Plan:
    """A network as the pass takes it, without its parameters.

    Args:
        shape: What it is made of.
        banks: Where the coefficients of each layer start among the parameters, and the number of its filters.
        basis: Chebyshev coefficients of the polynomials that the learned coefficients belong to, one in each row.
    """

    shape: Shape
    banks: NDArray[np.int64]
    basis: NDArray[np.floating]


@dataclass(frozen=True)
class Adam:
    """What Adam knows and is told; the arrays are changed by every step.

    Args:
        mean: Moving mean of the gradients.
        square: Moving mean of their squares.
        number: Of the next step, from 1.
        rate: Size of the steps.
        betas: How much of each mean stays in a step.
        epsilon: What is added to the root of the squares.
        weight_decay: Weight of the parameters in the gradient.
    """

    mean: NDArray[np.floating]
    square: NDArray[np.floating]
    number: int
    rate: float
    betas: tuple[float, float]
    epsilon: float
    weight_decay: float


def readouts(graphs: Graphs, plan: Plan, theta: NDArray[np.floating]) -> NDArray[np.floating]:
    """What each layer reads of each graph, side by side: shape ``(num_graphs, layers * parts * hidden)``.

    Args:
        graphs: The graphs.
        plan: The network.
        theta: Its parameters, one after another in torch's order.
    """
    count, shape = len(graphs.ptr) - 1, plan.shape
    read = np.empty((count, shape.layers * shape.parts * shape.hidden), theta.dtype)
    _run(graphs, np.array([0, count]), plan, theta, read=read)
    return read


def add_gradient(
    graphs: Graphs,
    plan: Plan,
    theta: NDArray[np.floating],
    y: NDArray[np.int64],
    gradient: NDArray[np.floating],
    *,
    scale: float = 1.0,
    gamma: float = 0.0,
) -> float:
    r"""The mean cross-entropy of the graphs; the gradient of the objective (Eq. 20) is added to what is there.

    Args:
        graphs: The graphs, one at least.
        plan: The network.
        theta: Its parameters, one after another in torch's order.
        y: Class of each graph.
        gradient: As long as ``theta``.
        scale: What the gradient is multiplied by.
        gamma: Weight of :math:`\Omega` of each layer in the objective.

    Raises:
        IndexError: A class is out of range.
    """
    _check_classes(y, plan)
    losses = np.empty(1, theta.dtype)
    _run(graphs, np.array([0, len(y)]), plan, theta, y, losses, gradient, scale=scale, gamma=gamma)
    return float(losses[0])


def train(
    graphs: Graphs,
    cuts: NDArray[np.int64],
    plan: Plan,
    theta: NDArray[np.floating],
    y: NDArray[np.int64],
    gradient: NDArray[np.floating],
    adam: Adam,
    *,
    gamma: float = 0.0,
) -> NDArray[np.floating]:
    r"""Take a step of Adam for each batch; return the mean cross-entropy of each as it was met.

    Args:
        graphs: The graphs of all batches, one batch after another.
        cuts: Where each batch starts among them, and last their number.
        plan: The network.
        theta: Its parameters, one after another in torch's order; they are changed.
        y: Class of each graph.
        gradient: As long as ``theta``; holds the gradient of the last step afterwards.
        adam: What the steps are taken with.
        gamma: Weight of :math:`\Omega` of each layer in the objective.

    Raises:
        IndexError: A class is out of range; nothing was changed.
    """
    _check_classes(y, plan)
    losses = np.empty(len(cuts) - 1, theta.dtype)
    _run(graphs, cuts, plan, theta, y, losses, gradient, adam, gamma=gamma)
    return losses


def _run(
    graphs: Graphs,
    cuts: NDArray[np.int64],
    plan: Plan,
    theta: NDArray[np.floating],
    y: NDArray[np.int64] | None = None,
    losses: NDArray[np.floating] | None = None,
    gradient: NDArray[np.floating] | None = None,
    adam: Adam | None = None,
    *,
    scale: float = 1.0,
    gamma: float = 0.0,
    read: NDArray[np.floating] | None = None,
) -> None:
    """Run the pass; what is not given is passed as an array without elements."""
    none = np.empty(0, theta.dtype)
    mean = square = none
    constants = np.empty(0)
    if adam is not None:
        mean, square = adam.mean, adam.square
        constants = np.array([adam.number, adam.rate, *adam.betas, adam.epsilon, adam.weight_decay])
    _pass(
        graphs,
        cuts,
        plan.shape,
        plan.banks,
        plan.basis,
        theta,
        np.empty(0, np.int64) if y is None else y,
        scale,
        gamma,
        np.empty((0, 0), theta.dtype) if read is None else read,
        none if losses is None else losses,
        none if gradient is None else gradient,
        mean,
        square,
        constants,
    )


def _check_classes(y: NDArray[np.int64], plan: Plan) -> None:
    if len(y) and not 0 <= y.min() <= y.max() < plan.shape.classes:
        raise IndexError(
            f"the classes of the graphs reach from {y.min()} to {y.max()}, expected 0 to {plan.shape.classes - 1}"
        )


@compiled
def _pass(graphs, cuts, shape, banks, basis, theta, y, scale, gamma, read, losses, grad_theta, mean, square, constants):
    """Take the graphs of each batch through the network, a block at a time: one function, hence compiled once.

    Without classes ``y`` their readouts are written; else the mean loss of each batch, and the gradient is added up.
    With Adam's constants the gradient is that of each batch alone, and a step follows.
    """
    learn, update = y.shape[0] > 0, constants.shape[0] > 0
    net, gradient = room_for_parameters(shape, theta.dtype), room_for_parameters(shape, theta.dtype)
    nodes, most = largest_block(graphs.ptr, cuts)
    space = room_for_block(shape, graphs.attributes.shape[1], nodes, most, learn, theta.dtype)
    hidden, rows = shape.hidden, shape.layers * shape.parts
    for step in range(cuts.shape[0] - 1):
        read_parameters(shape, banks, basis, theta, net)
        begin, last = cuts[step], cuts[step + 1]
        share, loss = 1 / max(last - begin, 1), 0.0
        while begin < last:
            end = block_end(graphs.ptr, begin, last)
            take_forward(graphs, shape, net, space, begin, end)
            if learn:
                loss += classify(shape, net, gradient, space, y, begin, end, scale * share)
                take_back(graphs, shape, net, gradient, space, begin, end)
            else:
                for graph in range(begin, end):
                    for row in range(rows):
                        for k in range(hidden):
                            read[graph, row * hidden + k] = space.read[(graph - begin) * rows + row, k]
            begin = end
        if learn:
            losses[step] = loss * share
            if update:
                grad_theta[:] = 0
            write_gradient(shape, banks, basis, gradient, grad_theta)
            clear(gradient)
            if gamma != 0:
                add_coherence_gradient(banks, basis.shape[0], theta, scale * gamma, grad_theta)
        if update:
            adam_step(theta, grad_theta, mean, square, constants, step)
