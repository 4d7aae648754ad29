r"""The gradient of the mutual coherence :math:`\Omega` (Eq. 18) of a filter bank."""

from __future__ import annotations

import math

from bankgcn.kernels.jit.operation import operation, unpack
from bankgcn.kernels.jit.vector import doubles_at, floats_at, number
from bankgcn.kernels.ops.block_table import GAMMA, GRAD_THETA, THETA
from bankgcn.kernels.ops.normalize import EPSILON


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
