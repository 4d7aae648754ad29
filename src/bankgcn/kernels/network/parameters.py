"""The parameters of a network as its pass takes them: padded to whole vectors, a gap behind each row, both zero."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import part
from bankgcn.kernels.jit.vector import STRIP

GAP = 192  # bytes behind each row: an odd number of lines of the cache, and what a row of registers may reach beyond
ROWS = 4  # of a tile of a matrix product: with two registers each, enough to keep the processor busy


class Parameters(NamedTuple):
    """Parameters of a network, or gradients of them, padded.

    ``entry`` is the first matrix, input by output; ``back`` are the others, output by input, as torch has them, and
    ``onward`` their transposes. The last row of ``bias`` is zero.
    """

    entry: NDArray[np.floating]
    onward: NDArray[np.floating]
    back: NDArray[np.floating]
    bias: NDArray[np.floating]
    c: NDArray[np.floating]
    head: NDArray[np.floating]
    head_bias: NDArray[np.floating]


@part
def round_up(count, multiple):
    """The next multiple that is not less."""
    return (count + multiple - 1) // multiple * multiple


@part
def padded_widths(shape, dtype):
    """Columns of a row without and with the gap behind them."""
    itemsize = np.empty(0, dtype).itemsize
    width = round_up(shape.hidden, STRIP // itemsize)
    return width, width + GAP // itemsize


@part
def room_for_parameters(shape, dtype):
    """Parameters that are zero."""
    width, wide = padded_widths(shape, dtype)
    return Parameters(
        entry=np.zeros((round_up(shape.inputs, ROWS), wide), dtype),
        onward=np.zeros((shape.layers, width, wide), dtype),
        back=np.zeros((shape.layers, width, wide), dtype),
        bias=np.zeros((shape.layers + 1, wide), dtype),
        c=np.zeros((shape.layers, shape.order + 1, wide), dtype),
        head=np.zeros((shape.classes * shape.layers * shape.parts, wide), dtype),
        head_bias=np.zeros((1, shape.classes), dtype),
    )


@part
def read_parameters(shape, banks, basis, theta, net):
    """Lay the parameters out as the passes take them, from all of them one after another, in torch's order."""
    hidden, at = shape.hidden, 0
    for layer in range(shape.layers):
        terms, share = basis.shape[0], hidden // banks[layer, 1]
        for j in range(hidden):
            alpha = at + j // share * terms
            for k in range(shape.order + 1):
                net.c[layer, k, j] = 1 if k == 0 and shape.shortcut else 0
                for m in range(terms):
                    net.c[layer, k, j] += theta[alpha + m] * basis[m, k]
        at += banks[layer, 1] * terms
        inner = shape.inputs if layer == 0 else hidden
        for j in range(hidden):
            for q in range(inner):
                value = theta[at + j * inner + q]
                if layer == 0:
                    net.entry[q, j] = value
                else:
                    net.onward[layer, q, j] = value
                    net.back[layer, j, q] = value
        at += hidden * inner
        if shape.bias:
            for j in range(hidden):
                net.bias[layer, j] = theta[at + j]
            at += hidden
    rows = shape.classes * shape.layers * shape.parts
    for row in range(rows):
        for j in range(hidden):
            net.head[row, j] = theta[at + row * hidden + j]
    at += rows * hidden
    for k in range(shape.classes):
        net.head_bias[0, k] = theta[at + k]


@part
def write_gradient(shape, banks, basis, gradient, out):
    """Add the gradients to those of all parameters one after another."""
    hidden, at = shape.hidden, 0
    for layer in range(shape.layers):
        terms, share = basis.shape[0], hidden // banks[layer, 1]
        for j in range(hidden):
            alpha = at + j // share * terms
            for m in range(terms):
                for k in range(shape.order + 1):
                    out[alpha + m] += gradient.c[layer, k, j] * basis[m, k]
        at += banks[layer, 1] * terms
        inner = shape.inputs if layer == 0 else hidden
        for j in range(hidden):
            for q in range(inner):
                out[at + j * inner + q] += gradient.entry[q, j] if layer == 0 else gradient.back[layer, j, q]
        at += hidden * inner
        if shape.bias:
            for j in range(hidden):
                out[at + j] += gradient.bias[layer, j]
            at += hidden
    rows = shape.classes * shape.layers * shape.parts
    for row in range(rows):
        for j in range(hidden):
            out[at + row * hidden + j] += gradient.head[row, j]
    at += rows * hidden
    for k in range(shape.classes):
        out[at + k] += gradient.head_bias[0, k]


@part
def clear(gradient):
    """Set gradients to zero."""
    gradient.entry[:] = 0
    gradient.back[:] = 0
    gradient.bias[:] = 0
    gradient.c[:] = 0
    gradient.head[:] = 0
    gradient.head_bias[:] = 0
