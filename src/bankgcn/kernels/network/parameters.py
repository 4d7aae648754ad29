"""The parameters of a network as padded matrices, and as one vector ``theta`` in torch's order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import jit_inner
from bankgcn.kernels.ops.padding import TILE_ROWS, allocated_width, padded_width, round_up


class Parameters(NamedTuple):
    """Padded parameters of a network, or their gradients.

    L layers, K order, R readouts of a layer; rows have padding and gap, see :mod:`bankgcn.kernels.ops.padding`.
    """

    input_weight: NDArray[np.floating]  # (in_channels, hidden): of the first layer
    weight: NDArray[np.floating]  # (L, hidden out, hidden in): of the others, as torch stores them
    weight_t: NDArray[np.floating]  # (L, hidden in, hidden out): transposed; unused in gradients
    bias: NDArray[np.floating]  # (L + 1, hidden): the last row is 0
    coefficients: NDArray[np.floating]  # (L, K + 1, hidden): Chebyshev coefficients of each channel
    classifier: NDArray[np.floating]  # (classes * L * R, hidden)
    classifier_bias: NDArray[np.floating]  # (1, classes): not padded


@jit_inner
def allocate_parameters(shape, dtype):
    """Parameters filled with 0."""
    layers, padded = shape.num_layers, padded_width(shape.hidden_channels, dtype)
    columns = allocated_width(shape.hidden_channels, dtype)
    return Parameters(
        input_weight=np.zeros((round_up(shape.in_channels, TILE_ROWS), columns), dtype),
        weight=np.zeros((layers, padded, columns), dtype),
        weight_t=np.zeros((layers, padded, columns), dtype),
        bias=np.zeros((layers + 1, columns), dtype),
        coefficients=np.zeros((layers, shape.order + 1, columns), dtype),
        classifier=np.zeros((shape.num_classes * layers * shape.num_readouts, columns), dtype),
        classifier_bias=np.zeros((1, shape.num_classes), dtype),
    )


@jit_inner
def unpack_parameters(shape, banks, basis, theta, parameters):
    """Copy all parameters from ``theta``; expand those of the filters to Chebyshev coefficients of each channel."""
    hidden, terms, at = shape.hidden_channels, basis.shape[0], 0
    for layer in range(shape.num_layers):
        channels = hidden // banks[layer, 1]
        for j in range(hidden):
            alpha = at + j // channels * terms
            for k in range(shape.order + 1):
                parameters.coefficients[layer, k, j] = 1 if k == 0 and shape.shortcut else 0
                for m in range(terms):
                    parameters.coefficients[layer, k, j] += theta[alpha + m] * basis[m, k]
        at += banks[layer, 1] * terms
        inner = shape.in_channels if layer == 0 else hidden
        for j in range(hidden):
            for q in range(inner):
                value = theta[at + j * inner + q]
                if layer == 0:
                    parameters.input_weight[q, j] = value
                else:
                    parameters.weight_t[layer, q, j] = value
                    parameters.weight[layer, j, q] = value
        at += hidden * inner
        if shape.bias:
            for j in range(hidden):
                parameters.bias[layer, j] = theta[at + j]
            at += hidden
    rows = parameters.classifier.shape[0]
    for row in range(rows):
        for j in range(hidden):
            parameters.classifier[row, j] = theta[at + row * hidden + j]
    for k in range(shape.num_classes):
        parameters.classifier_bias[0, k] = theta[at + rows * hidden + k]


@jit_inner
def add_packed_gradient(shape, banks, basis, gradient, grad_theta):
    """Add the gradients to those of ``theta``: the transpose of :func:`unpack_parameters`."""
    hidden, terms, at = shape.hidden_channels, basis.shape[0], 0
    for layer in range(shape.num_layers):
        channels = hidden // banks[layer, 1]
        for j in range(hidden):
            alpha = at + j // channels * terms
            for m in range(terms):
                for k in range(shape.order + 1):
                    grad_theta[alpha + m] += gradient.coefficients[layer, k, j] * basis[m, k]
        at += banks[layer, 1] * terms
        inner = shape.in_channels if layer == 0 else hidden
        for j in range(hidden):
            for q in range(inner):
                value = gradient.input_weight[q, j] if layer == 0 else gradient.weight[layer, j, q]
                grad_theta[at + j * inner + q] += value
        at += hidden * inner
        if shape.bias:
            for j in range(hidden):
                grad_theta[at + j] += gradient.bias[layer, j]
            at += hidden
    rows = gradient.classifier.shape[0]
    for row in range(rows):
        for j in range(hidden):
            grad_theta[at + row * hidden + j] += gradient.classifier[row, j]
    for k in range(shape.num_classes):
        grad_theta[at + rows * hidden + k] += gradient.classifier_bias[0, k]


@jit_inner
def zero_gradient(gradient):
    """Set the gradients to 0."""
    gradient.input_weight[:] = 0
    gradient.weight[:] = 0
    gradient.bias[:] = 0
    gradient.coefficients[:] = 0
    gradient.classifier[:] = 0
    gradient.classifier_bias[:] = 0
