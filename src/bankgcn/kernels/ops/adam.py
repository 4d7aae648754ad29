"""A step of Adam for all parameters in one vector."""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import part


@part
def adam_step(theta, gradient, mean, square, constants, steps):
    """Change the parameters and both moments as ``torch.optim.Adam`` does.

    Args:
        theta: The parameters.
        gradient: Of what is minimised.
        mean: Moving mean of the gradients.
        square: Moving mean of their squares.
        constants: Number of the first step from 1, rate, both betas, epsilon and weight decay.
        steps: How many there were since the first.
    """
    number, rate, first, second, epsilon, weight_decay = constants
    number += steps
    kind = theta.dtype.type
    size, root = kind(rate / (1 - first**number)), kind(np.sqrt(1 - second**number))
    keep, new = kind(first), kind(1 - first)
    keep_square, new_square = kind(second), kind(1 - second)
    floor, decay = kind(epsilon), kind(weight_decay)
    for i in range(theta.shape[0]):
        g = gradient[i] + decay * theta[i]
        m = keep * mean[i] + new * g
        v = keep_square * square[i] + new_square * g * g
        theta[i] -= size * m / (np.sqrt(v) / root + floor)
        mean[i] = m
        square[i] = v
