"""A step of Adam on all parameters in one vector."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.operation import operation
from bankgcn.kernels.jit.vector import doubles_at, floats_at, number
from bankgcn.kernels.ops.block_table import (
    ADAM_MEAN,
    ADAM_SETTINGS,
    ADAM_SQUARE,
    ADAM_STEP,
    GRAD_THETA,
    NUM_PARAMETERS,
    THETA,
)


class Adam(NamedTuple):
    """State and settings of ``torch.optim.Adam``. Every step changes the arrays."""

    mean: NDArray[np.floating]  # (P,): moving mean of the gradients
    square: NDArray[np.floating]  # (P,): moving mean of the squared gradients
    step: int  # number of the next step, from 1
    learning_rate: float
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float

    @property
    def settings(self) -> NDArray[np.float64]:
        """The settings, as :func:`adam_step` takes them."""
        return np.array([self.learning_rate, self.beta1, self.beta2, self.epsilon, self.weight_decay])


@operation("")
def adam_step(instruction, table, work, parameters, gradients):
    """Update all parameters and both moments, with the gradient of the vector; the step counts from 1."""
    theta, gradient = floats_at(work, table[THETA]), floats_at(work, table[GRAD_THETA])
    mean, square, settings = (
        floats_at(work, table[ADAM_MEAN]), floats_at(work, table[ADAM_SQUARE]), doubles_at(table[ADAM_SETTINGS]),
    )  # fmt: skip
    step = float(table[ADAM_STEP])
    rate = number(work, settings[0] / (1 - settings[1] ** step))
    correction = number(work, math.sqrt(1 - settings[2] ** step))
    beta1, rest1 = number(work, settings[1]), number(work, 1 - settings[1])
    beta2, rest2 = number(work, settings[2]), number(work, 1 - settings[2])
    epsilon, decay = number(work, settings[3]), number(work, settings[4])
    for i in range(table[NUM_PARAMETERS]):
        g = gradient[i] + decay * theta[i]
        m = beta1 * mean[i] + rest1 * g
        v = beta2 * square[i] + rest2 * g * g
        theta[i] -= rate * m / (math.sqrt(v) / correction + epsilon)
        mean[i] = m
        square[i] = v
