"""From one vector of all parameters, in torch's order, to padded matrices, and the way back for the gradients."""

from __future__ import annotations

from bankgcn.kernels.jit.operation import operation, unpack
from bankgcn.kernels.jit.vector import floats_at, integers_at, number
from bankgcn.kernels.ops.block_table import BASES, COPIES, GRAD_THETA, NUM_PARAMETERS, PLACES, THETA


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
