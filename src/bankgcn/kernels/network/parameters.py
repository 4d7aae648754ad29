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
    """Copy all parameters from ``theta`` to their padded matrices."""
    hidden, at = shape.hidden_channels, 0
    for layer in range(shape.num_layers):
        _expand_alpha(shape, banks[layer, 1], basis, theta[at:], parameters.coefficients[layer])
        at += banks[layer, 1] * basis.shape[0]
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
    rows = shape.num_classes * shape.num_layers * shape.num_readouts
    for row in range(rows):
        for j in range(hidden):
            parameters.classifier[row, j] = theta[at + row * hidden + j]
    at += rows * hidden
    for k in range(shape.num_classes):
        parameters.classifier_bias[0, k] = theta[at + k]


@jit_inner
def _expand_alpha(shape, filters, basis, alpha, coefficients):
    """Write the Chebyshev coefficients of each channel; ``alpha`` holds those of each filter in the learned basis."""
    terms, channels = basis.shape[0], shape.hidden_channels // filters
    for j in range(shape.hidden_channels):
        for k in range(shape.order + 1):
            coefficients[k, j] = 1 if k == 0 and shape.shortcut else 0
            for m in range(terms):
                coefficients[k, j] += alpha[j // channels * terms + m] * basis[m, k]


@jit_inner
def add_packed_gradient(shape, banks, basis, gradient, grad_theta):
    """Add the gradients to those of ``theta``: the transpose of :func:`unpack_parameters`."""
    hidden, at = shape.hidden_channels, 0
    for layer in range(shape.num_layers):
        _add_alpha_gradient(shape, banks[layer, 1], basis, gradient.coefficients[layer], grad_theta[at:])
        at += banks[layer, 1] * basis.shape[0]
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
    rows = shape.num_classes * shape.num_layers * shape.num_readouts
    for row in range(rows):
        for j in range(hidden):
            grad_theta[at + row * hidden + j] += gradient.classifier[row, j]
    at += rows * hidden
    for k in range(shape.num_classes):
        grad_theta[at + k] += gradient.classifier_bias[0, k]


@jit_inner
def _add_alpha_gradient(shape, filters, basis, grad_coefficients, grad_alpha):
    """The adjoint of :func:`_expand_alpha`."""
    terms, channels = basis.shape[0], shape.hidden_channels // filters
    for j in range(shape.hidden_channels):
        for m in range(terms):
            for k in range(shape.order + 1):
                grad_alpha[j // channels * terms + m] += grad_coefficients[k, j] * basis[m, k]


@jit_inner
def zero_gradient(gradient):
    """Set the gradients to 0."""
    gradient.input_weight[:] = 0
    gradient.weight[:] = 0
    gradient.bias[:] = 0
    gradient.coefficients[:] = 0
    gradient.classifier[:] = 0
    gradient.classifier_bias[:] = 0
