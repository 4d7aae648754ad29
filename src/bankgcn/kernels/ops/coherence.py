r"""The mutual coherence :math:`\Omega` of several filter banks, and its gradient, without a record of the steps."""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import part
from bankgcn.kernels.layer.activation import EPSILON


@part
def add_coherence_gradient(banks, terms, theta, scale, gradient):
    r"""Add the gradient of ``scale`` times the sum of :math:`\Omega` over some banks to what is there.

    Args:
        banks: For each bank, where its coefficients start and the number of its filters: shape ``(banks, 2)``.
        terms: Number of coefficients of a filter.
        theta: Where the coefficients are, filter by filter.
        scale: What the sum is multiplied by.
        gradient: As long as ``theta``.
    """
    for number in range(banks.shape[0]):
        start, filters = banks[number]
        unit = np.empty((filters, terms), theta.dtype)
        divisor = np.empty(filters, theta.dtype)
        for p in range(filters):
            square = theta.dtype.type(0)
            for m in range(terms):
                square += theta[start + p * terms + m] ** 2
            divisor[p] = max(np.sqrt(square), EPSILON)
            for m in range(terms):
                unit[p, m] = theta[start + p * terms + m] / divisor[p]
        cosine = np.zeros((filters, filters), theta.dtype)
        highest, ties = theta.dtype.type(0), 0
        for p in range(filters):
            for q in range(p + 1, filters):
                for m in range(terms):
                    cosine[p, q] += unit[p, m] * unit[q, m]
                size = abs(cosine[p, q])
                ties = 1 if size > highest else ties + (size == highest)
                highest = max(highest, size)
        if highest == 0:
            continue
        for p in range(filters):
            for q in range(p + 1, filters):
                if abs(cosine[p, q]) == highest:
                    share = scale * np.sign(cosine[p, q]) / ties
                    _turn(unit, p, q, cosine[p, q], divisor, share, gradient, start)
                    _turn(unit, q, p, cosine[p, q], divisor, share, gradient, start)


@part
def _turn(unit, p, q, cosine, divisor, share, gradient, start):
    """Add the gradient of ``share`` times the cosine between filters p and q, with respect to p."""
    terms = unit.shape[1]
    along = cosine if divisor[p] > EPSILON else 0 * cosine  # too short to normalise: the divisor is a constant
    for m in range(terms):
        gradient[start + p * terms + m] += share * (unit[q, m] - along * unit[p, m]) / divisor[p]
