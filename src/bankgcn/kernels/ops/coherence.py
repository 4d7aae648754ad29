r"""The gradient of the mutual coherence :math:`\Omega` (Eq. 18) of several filter banks."""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import jit_inner
from bankgcn.kernels.ops.graph_activation import EPSILON


@jit_inner
def add_coherence_gradient(banks, terms, theta, scale, gradient):
    r"""Add the gradient of ``scale`` times the sum of :math:`\Omega` over the banks.

    Args:
        banks: Offset of each bank's coefficients in ``theta``, and its number of filters: shape ``(banks, 2)``.
        terms: Number of coefficients of a filter.
        theta: All parameters; the coefficients of a bank are stored filter by filter.
        scale: Weight of the sum.
        gradient: Of the same length as ``theta``.
    """
    for number in range(banks.shape[0]):
        start, filters = banks[number]
        unit = np.empty((filters, terms), theta.dtype)
        norm = np.empty(filters, theta.dtype)
        for p in range(filters):
            square = theta.dtype.type(0)
            for m in range(terms):
                square += theta[start + p * terms + m] ** 2
            norm[p] = max(np.sqrt(square), EPSILON)
            for m in range(terms):
                unit[p, m] = theta[start + p * terms + m] / norm[p]
        cosine = np.zeros((filters, filters), theta.dtype)
        largest, ties = theta.dtype.type(0), 0
        for p in range(filters):
            for q in range(p + 1, filters):
                for m in range(terms):
                    cosine[p, q] += unit[p, m] * unit[q, m]
                size = abs(cosine[p, q])
                ties = 1 if size > largest else ties + (size == largest)
                largest = max(largest, size)
        if largest == 0:
            continue
        for p in range(filters):
            for q in range(p + 1, filters):
                if abs(cosine[p, q]) == largest:  # pairs that share the maximum share its gradient
                    share = scale * np.sign(cosine[p, q]) / ties
                    _add_cosine_gradient(unit, p, q, cosine[p, q], norm, share, gradient, start)
                    _add_cosine_gradient(unit, q, p, cosine[p, q], norm, share, gradient, start)


@jit_inner
def _add_cosine_gradient(unit, p, q, cosine, norm, share, gradient, start):
    """Add the gradient of ``share`` times the cosine between filters p and q, with respect to p."""
    terms = unit.shape[1]
    along = cosine if norm[p] > EPSILON else 0 * cosine  # too short to normalise: the divisor is a constant
    for m in range(terms):
        gradient[start + p * terms + m] += share * (unit[q, m] - along * unit[p, m]) / norm[p]
