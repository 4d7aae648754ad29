"""A step of Adam on all parameters in one vector."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import jit_inner


class Adam(NamedTuple):
    """State and settings of ``torch.optim.Adam``. Every step changes the arrays; they are empty if no step is taken."""

    mean: NDArray[np.floating]  # (P,): moving mean of the gradients
    square: NDArray[np.floating]  # (P,): moving mean of the squared gradients
    step: int  # number of the next step, from 1
    learning_rate: float
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float


@jit_inner
def adam_step(theta, gradient, adam, step):
    """Update the parameters and both moments; ``step`` counts from 1."""
    kind, step = theta.dtype.type, float(step)
    rate = kind(adam.learning_rate / (1 - adam.beta1**step))
    correction = kind(np.sqrt(1 - adam.beta2**step))
    beta1, rest1 = kind(adam.beta1), kind(1 - adam.beta1)
    beta2, rest2 = kind(adam.beta2), kind(1 - adam.beta2)
    epsilon, decay = kind(adam.epsilon), kind(adam.weight_decay)
    for i in range(theta.shape[0]):
        g = gradient[i] + decay * theta[i]
        m = beta1 * adam.mean[i] + rest1 * g
        v = beta2 * adam.square[i] + rest2 * g * g
        theta[i] -= rate * m / (np.sqrt(v) / correction + epsilon)
        adam.mean[i] = m
        adam.square[i] = v
