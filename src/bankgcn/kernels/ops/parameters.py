"""Operations on parameters: padded matrices from one vector, gradients back into it, the diversity term, and AdamW.

The vector has all parameters in torch's order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import Operation, operation, unpack
from bankgcn.kernels.jit.vector import doubles_at, floats_at, integers_at, number
from bankgcn.kernels.ops.blocks import (
    ADAM_DECAYS,
    ADAM_FIRST,
    ADAM_MEAN,
    ADAM_RATES,
    ADAM_SETTINGS,
    ADAM_SQUARE,
    ADAM_STEP,
    BASES,
    COPIES,
    GAMMA,
    GRAD_THETA,
    NUM_PARAMETERS,
    PLACES,
    THETA,
)
from bankgcn.kernels.ops.normalize import EPSILON


@operation("")
def unpack_parameters(instruction, table, work, parameters, gradients):
    """Copy each parameter to its place, and to that of its transposed copy."""
    theta, places, copies = floats_at(work, table[THETA]), integers_at(table[PLACES]), integers_at(table[COPIES])
    for p in range(table[NUM_PARAMETERS]):
        if places[p] >= 0:
            parameters[places[p]] = theta[p]
        if copies[p] >= 0:
            parameters[copies[p]] = theta[p]


@operation("")
def clear_gradient(instruction, table, work, parameters, gradients):
    """Set the gradients of the vector to 0."""
    grad_theta = floats_at(work, table[GRAD_THETA])
    for p in range(table[NUM_PARAMETERS]):
        grad_theta[p] = 0


@operation("")
def pack_gradient(instruction, table, work, parameters, gradients):
    """Add the gradients of the padded parameters to those of the vector."""
    grad_theta, places = floats_at(work, table[GRAD_THETA]), integers_at(table[PLACES])
    for p in range(table[NUM_PARAMETERS]):
        if places[p] >= 0:
            grad_theta[p] += gradients[places[p]]


@operation("alpha, filters, terms, basis, degree, channels, shortcut, c: slot")
def expand_filters(instruction, table, work, parameters, gradients):
    """Chebyshev coefficients of each channel, from the filters' coefficients in their basis."""
    (alpha, filters, terms, basis, degree, channels, shortcut, c, stride) = unpack(instruction, 9)
    theta, bases = floats_at(work, table[THETA]), floats_at(work, table[BASES])
    for p in range(filters):
        for k in range(degree + 1):
            s = number(work, 1 if k == 0 and shortcut else 0)
            for m in range(terms):
                s += theta[alpha + p * terms + m] * bases[basis + m * (degree + 1) + k]
            for j in range(p * channels, (p + 1) * channels):
                parameters[c + k * stride + j] = s


@operation("alpha, filters, terms, basis, degree, channels, c: slot")
def filters_gradient(instruction, table, work, parameters, gradients):
    """Add the gradients of the filters' coefficients: the transpose of :func:`expand_filters`."""
    (alpha, filters, terms, basis, degree, channels, c, stride) = unpack(instruction, 8)
    grad_theta, bases = floats_at(work, table[GRAD_THETA]), floats_at(work, table[BASES])
    for p in range(filters):
        for k in range(degree + 1):
            s = number(work, 0)
            for j in range(p * channels, (p + 1) * channels):
                s += gradients[c + k * stride + j]
            for m in range(terms):
                grad_theta[alpha + p * terms + m] += s * bases[basis + m * (degree + 1) + k]


@operation("alpha, filters, terms, unit: buffer")
def coherence_gradient(instruction, table, work, parameters, gradients):
    r"""Add the gradient of :math:`\gamma\Omega`; pairs of filters that share the maximum share its gradient.

    ``unit`` is workspace: a row for each filter, its unit vector and then its norm.
    """
    (alpha, filters, terms, unit, stride, _) = unpack(instruction, 6)
    theta, grad_theta, gamma = (
        floats_at(work, table[THETA]),
        floats_at(work, table[GRAD_THETA]),
        doubles_at(table[GAMMA]),
    )
    if gamma[0] == 0:
        return
    shortest = number(work, EPSILON)
    for p in range(filters):
        square = number(work, 0)
        for m in range(terms):
            square += theta[alpha + p * terms + m] * theta[alpha + p * terms + m]
        norm = max(math.sqrt(square), shortest)
        for m in range(terms):
            work[unit + p * stride + m] = theta[alpha + p * terms + m] / norm
        work[unit + p * stride + terms] = norm
    largest, ties = number(work, 0), 0
    for finding in (True, False):  # the maximum first, then its gradient
        if not finding and largest == 0:
            return
        for p in range(filters):
            for q in range(p + 1, filters):
                first, second, cosine = unit + p * stride, unit + q * stride, number(work, 0)
                for m in range(terms):
                    cosine += work[first + m] * work[second + m]
                if finding:
                    ties = 1 if abs(cosine) > largest else ties + (abs(cosine) == largest)
                    largest = max(largest, abs(cosine))
                elif abs(cosine) == largest:
                    share = number(work, gamma[0] * (1 if cosine > 0 else -1) / ties)
                    for one, other, at in ((first, second, p), (second, first, q)):
                        norm = work[one + terms]
                        # Too short to normalise: the divisor is a constant.
                        along = cosine if norm > shortest else number(work, 0)
                        for m in range(terms):
                            change = share * (work[other + m] - along * work[one + m]) / norm
                            grad_theta[alpha + at * terms + m] += change


CLIP_EPSILON = 1e-6  # as torch.nn.utils.clip_grad_norm_


class Adam(NamedTuple):
    """State and settings of ``torch.optim.Adam`` or, with ``decays``, of ``AdamW``. Every step changes the moments."""

    mean: NDArray[np.floating]  # (P,): moving mean of the gradients
    square: NDArray[np.floating]  # (P,): moving mean of the squared gradients
    step: int  # number of the next step, from 1
    learning_rate: float | NDArray[np.float64]  # (batches,) if each step of a call has its own
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float
    clip_norm: float | None = None  # largest norm of a gradient
    decays: NDArray[np.floating] | None = None  # (P,): 1 for what decays by itself, else 0; without it, an L2 penalty

    @property
    def settings(self) -> NDArray[np.float64]:
        """The settings, as the operations take them: the weight decay stands at the end if it is no L2 penalty."""
        coupled, decoupled = (self.weight_decay, 0.0) if self.decays is None else (0.0, self.weight_decay)
        return np.array([self.beta1, self.beta2, self.epsilon, coupled, self.clip_norm or 0.0, decoupled])

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What a step consists of."""
        clipped = () if self.clip_norm is None else (clip_gradient,)
        return (*clipped, *(() if self.decays is None else (decay_weights,)), adam_step)


@operation("")
def clip_gradient(instruction, table, work, parameters, gradients):
    """Scale the gradient of the vector so that its norm is not above the limit, as ``torch.nn.utils`` does."""
    gradient, settings = floats_at(work, table[GRAD_THETA]), doubles_at(table[ADAM_SETTINGS])
    squares = 0.0  # in double precision: squares of large gradients overflow a float
    for i in range(table[NUM_PARAMETERS]):
        squares += np.float64(gradient[i]) * np.float64(gradient[i])
    scale = settings[4] / (math.sqrt(squares) + CLIP_EPSILON)
    if scale >= 1:
        return
    factor = number(work, scale)  # NaN if the norm is
    for i in range(table[NUM_PARAMETERS]):
        gradient[i] *= factor


@operation("")
def decay_weights(instruction, table, work, parameters, gradients):
    """Shrink the parameters that decay, in proportion to the learning rate of the step."""
    theta, decays = floats_at(work, table[THETA]), floats_at(work, table[ADAM_DECAYS])
    rates, settings = doubles_at(table[ADAM_RATES]), doubles_at(table[ADAM_SETTINGS])
    amount = number(work, rates[table[ADAM_STEP] - table[ADAM_FIRST]] * settings[5])
    for i in range(table[NUM_PARAMETERS]):
        theta[i] -= amount * decays[i] * theta[i]


@operation("")
def adam_step(instruction, table, work, parameters, gradients):
    """Update all parameters and both moments, with the gradient of the vector; the step counts from 1."""
    theta, gradient = floats_at(work, table[THETA]), floats_at(work, table[GRAD_THETA])
    mean, square, settings = (
        floats_at(work, table[ADAM_MEAN]), floats_at(work, table[ADAM_SQUARE]), doubles_at(table[ADAM_SETTINGS]),
    )  # fmt: skip
    step, rates = float(table[ADAM_STEP]), doubles_at(table[ADAM_RATES])
    rate = number(work, rates[table[ADAM_STEP] - table[ADAM_FIRST]] / (1 - settings[0] ** step))
    correction = number(work, math.sqrt(1 - settings[1] ** step))
    beta1, rest1 = number(work, settings[0]), number(work, 1 - settings[0])
    beta2, rest2 = number(work, settings[1]), number(work, 1 - settings[1])
    epsilon, decay = number(work, settings[2]), number(work, settings[3])
    for i in range(table[NUM_PARAMETERS]):
        g = gradient[i] + decay * theta[i]
        m = beta1 * mean[i] + rest1 * g
        v = beta2 * square[i] + rest2 * g * g
        theta[i] -= rate * m / (math.sqrt(v) / correction + epsilon)
        mean[i] = m
        square[i] = v
