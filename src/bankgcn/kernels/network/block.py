r"""What happens to a few small graphs at a time on their way through a network and back, in compiled code.

A block of graphs, about a hundred nodes, stays in the cache. Inside it all rows are padded to whole vectors, and a gap
follows them; both are zero and stay zero.

What is called for each graph is called from the function that holds the arrays: numba counts references to them in
every function between, and for a graph of thirty nodes that is noticeable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import compiled, part
from bankgcn.kernels.jit.vector import (
    ROW,
    fma,
    higher,
    lanes,
    load,
    over,
    pair_of,
    plus,
    rectified,
    row_of,
    store,
    strip_of,
    times,
    total,
    where_equal,
    where_positive,
)
from bankgcn.kernels.layer.activation import AFTER, BEFORE, EPSILON, NONE
from bankgcn.kernels.network.parameters import GAP, ROWS, padded_widths, round_up
from bankgcn.kernels.ops.filter_rows import filter_rows, room_for_hops

NODES_AT_ONCE = 96  # graphs are taken together up to this number of nodes
SUMMED_AT_ONCE = 128  # nodes whose sum is taken by itself: a single sum over thousands loses digits in float32


class Space(NamedTuple):
    """Room for what a block of graphs needs on its way there and back.

    There are the projected signals ``r`` of each layer, the filtered ones ``h`` and the activated ones ``x``.
    """

    attributes: NDArray[np.floating]
    r: NDArray[np.floating]
    h: NDArray[np.floating]
    x: NDArray[np.floating]
    factor: NDArray[np.floating]
    hops: NDArray[np.floating]
    read: NDArray[np.floating]
    logits: NDArray[np.floating]
    grad: NDArray[np.floating]
    grad_r: NDArray[np.floating]
    grad_read: NDArray[np.floating]


@part
def _width(array):
    """Number of columns that are computed with; a gap follows, so that rows do not compete for places in the cache."""
    return array.shape[1] - GAP // array.itemsize


@part
def room_for_block(shape, attributes, nodes, graphs, learn, dtype):
    """Room for blocks of up to so many nodes and graphs."""
    wide = padded_widths(shape, dtype)[1]
    nodes = round_up(nodes, ROWS)
    kept = shape.layers if learn else 2  # the way back needs all layers, the way there the last two
    return Space(
        attributes=np.zeros((nodes, round_up(attributes, ROWS)), dtype),
        r=np.zeros((kept, nodes, wide), dtype),
        h=np.zeros((kept, nodes, wide), dtype),
        x=np.zeros((kept, nodes, wide), dtype),
        factor=np.zeros((kept, nodes), dtype),
        hops=room_for_hops(shape.order, nodes, ROW // np.empty(0, dtype).itemsize, dtype),
        read=np.zeros((graphs * shape.layers * shape.parts, wide), dtype),
        logits=np.zeros((1, shape.classes), dtype),
        grad=np.zeros((nodes if learn else 0, wide), dtype),
        grad_r=np.zeros((nodes if learn else 0, wide), dtype),
        grad_read=np.zeros((graphs * shape.layers * shape.parts, wide), dtype),
    )


@compiled
def block_end(graph_ptr, begin, last):
    """The graph after the last one that is taken together with ``begin``, up to ``last``."""
    end = begin + 1
    while end < last and end - begin < NODES_AT_ONCE and graph_ptr[end + 1] - graph_ptr[begin] <= NODES_AT_ONCE:
        end += 1
    return end


@part
def largest_block(graph_ptr, cuts):
    """Most nodes and most graphs of a block."""
    nodes, graphs = np.int64(0), np.int64(1)
    for step in range(cuts.shape[0] - 1):
        begin = cuts[step]
        while begin < cuts[step + 1]:
            end = block_end(graph_ptr, begin, cuts[step + 1])
            nodes = max(nodes, graph_ptr[end] - graph_ptr[begin])
            graphs = max(graphs, end - begin)
            begin = end
    return nodes, graphs


@part
def product(a, b, rows, inner, bias, at, out):
    """``out = a b + bias[at]`` for the first rows, tile by tile; rows up to the end of the last tile are written."""
    pair = pair_of(a.dtype.type(0))
    for j in range(0, _width(out), lanes(pair)):
        start = load(pair, bias, at, j)
        for i in range(0, rows, ROWS):
            c0 = c1 = c2 = c3 = start
            for q in range(inner):
                v = load(pair, b, q, j)
                c0 = fma(a[i, q], v, c0)
                c1 = fma(a[i + 1, q], v, c1)
                c2 = fma(a[i + 2, q], v, c2)
                c3 = fma(a[i + 3, q], v, c3)
            store(out, i, j, c0)
            store(out, i + 1, j, c1)
            store(out, i + 2, j, c2)
            store(out, i + 3, j, c3)


@part
def add_outer(a, b, rows, out):
    """``out += a^T b`` over the first rows: the gradient of a matrix."""
    pair = pair_of(a.dtype.type(0))
    for j in range(0, _width(out), lanes(pair)):
        for i in range(0, out.shape[0], ROWS):
            c0 = c1 = c2 = c3 = pair
            for q in range(rows):
                v = load(pair, b, q, j)
                c0 = fma(a[q, i], v, c0)
                c1 = fma(a[q, i + 1], v, c1)
                c2 = fma(a[q, i + 2], v, c2)
                c3 = fma(a[q, i + 3], v, c3)
            store(out, i, j, plus(c0, load(pair, out, i, j)))
            store(out, i + 1, j, plus(c1, load(pair, out, i + 1, j)))
            store(out, i + 2, j, plus(c2, load(pair, out, i + 2, j)))
            store(out, i + 3, j, plus(c3, load(pair, out, i + 3, j)))


@part
def _lookround_up(labels, first, rows, table, out):
    """Add the rows of the table that the labels name: the product with their one-hot columns."""
    strip = strip_of(table.dtype.type(0))
    for i in range(rows):
        for column in range(labels.shape[1]):
            label = labels[first + i, column]
            for j in range(0, _width(out), lanes(strip)):
                store(out, i, j, plus(load(strip, out, i, j), load(strip, table, label, j)))


@part
def _spread_out(labels, first, rows, gradient, table):
    """Add each row of the gradient to the rows of the table that its labels name."""
    strip = strip_of(table.dtype.type(0))
    for i in range(rows):
        for column in range(labels.shape[1]):
            label = labels[first + i, column]
            for j in range(0, _width(table), lanes(strip)):
                store(table, label, j, plus(load(strip, table, label, j), load(strip, gradient, i, j)))


@part
def _count_alike(alike, rows, x):
    """Multiply each row by the number of nodes that it stands for, so that a sum over rows is one over nodes."""
    strip = strip_of(x.dtype.type(0))
    for i in range(rows):
        if alike[i] != 1:
            for j in range(0, _width(x), lanes(strip)):
                store(x, i, j, times(alike[i], load(strip, x, i, j)))


@part
def activate_graph(h, start, rows, alike, mode, with_max, factor, x, read, at):
    """Activate the rows of a graph; write their mean and maximum to ``read[at]`` and ``read[at + 1]``."""
    row, strip, nodes = row_of(h.dtype.type(0)), strip_of(h.dtype.type(0)), h.dtype.type(0)
    for i in range(start, start + rows):
        nodes += alike[i]
        factor[i] = 1
        if mode != NONE:
            squares = row
            for j in range(0, _width(h), lanes(row)):
                v = load(row, h, i, j)
                if mode == AFTER:
                    v = rectified(v)
                squares = fma(v, v, squares)
            factor[i] = h.dtype.type(1) / max(np.sqrt(total(squares)), h.dtype.type(EPSILON))
    share = 1 / max(nodes, h.dtype.type(1))
    for j in range(0, _width(h), lanes(strip)):
        highest = sums = strip
        for first in range(start, start + rows, SUMMED_AT_ONCE):
            some = strip
            for i in range(first, min(first + SUMMED_AT_ONCE, start + rows)):
                active = rectified(times(factor[i], load(strip, h, i, j)))
                store(x, i, j, active)
                some = fma(alike[i], active, some)
                highest = higher(active, highest)
            sums = plus(sums, some)
        store(read, at, j, times(share, sums))
        if with_max:
            store(read, at + 1, j, highest)


@part
def activate_graph_back(h, x, start, rows, alike, mode, with_max, factor, read, grad_read, at, above, grad):
    """Turn ``grad`` from the gradient of a graph's rows after the activation into that of its rows before it.

    The gradient of its readout adds to the former; without layers ``above`` there is nothing else.
    """
    strip, one = strip_of(x.dtype.type(0)), x.dtype.type(1)
    limit = one / x.dtype.type(EPSILON)
    nodes = x.dtype.type(0)
    for i in range(start, start + rows):
        nodes += alike[i]
    share = 1 / max(nodes, one)
    for j in range(0, _width(x), lanes(strip)):
        store(grad_read, at, j, times(share, load(strip, grad_read, at, j)))
        if with_max:
            ties, highest = strip, load(strip, read, at + 1, j)
            for i in range(start, start + rows):
                ties = plus(ties, where_equal(load(strip, x, i, j), highest, alike[i]))
            store(grad_read, at + 1, j, over(load(strip, grad_read, at + 1, j), ties))  # no tie: the maximum is NaN
    for i in range(start, start + rows):
        along = strip
        for j in range(0, _width(x), lanes(strip)):
            v, g = load(strip, x, i, j), load(strip, grad_read, at, j)
            if with_max:
                g = fma(where_equal(v, load(strip, read, at + 1, j), one), load(strip, grad_read, at + 1, j), g)
            if above:
                g = plus(g, load(strip, grad, i, j))
            g = where_positive(v, g)
            along = fma(g, v, along)
            store(grad, i, j, g)
        if mode == NONE:
            continue
        across = -total(along)
        if factor[i] >= limit:  # too short to normalise: the divisor is a constant
            across = x.dtype.type(0)
        for j in range(0, _width(x), lanes(strip)):
            if mode == BEFORE:
                g = fma(across * factor[i], load(strip, h, i, j), load(strip, grad, i, j))
            else:
                g = fma(across, load(strip, x, i, j), load(strip, grad, i, j))
            store(grad, i, j, times(factor[i], g))


@part
def take_forward(graphs, shape, net, space, begin, end):
    """Take the graphs from ``begin`` to ``end`` through all layers.

    Between products each graph is filtered and activated by itself, while its rows are in the first cache.
    """
    first = graphs.ptr[begin]
    rows = graphs.ptr[end] - first
    for i in range(rows):
        for k in range(graphs.attributes.shape[1]):
            space.attributes[i, k] = graphs.attributes[first + i, k]
    ptr, rowptr, col, weight, alike = graphs.ptr, graphs.rowptr, graphs.col, graphs.weight, graphs.alike[first:]
    hops, read, kept, nothing = space.hops, space.read, space.x.shape[0], net.c[0, :0]
    row, with_max = row_of(hops.dtype.type(0)), shape.parts > 1
    for layer in range(shape.layers):
        r, h, x, factor = (
            space.r[layer % kept],
            space.h[layer % kept],
            space.x[layer % kept],
            space.factor[layer % kept],
        )
        if layer == 0:
            product(space.attributes, net.entry, rows, graphs.attributes.shape[1], net.bias, layer, r)
            _lookround_up(graphs.labels, first, rows, net.entry, r)
        else:
            product(space.x[(layer - 1) % kept], net.onward[layer], rows, _width(r), net.bias, layer, r)
        c = net.c[layer]
        for graph in range(begin, end):
            start, size = ptr[graph] - first, ptr[graph + 1] - ptr[graph]
            at = ((graph - begin) * shape.layers + layer) * shape.parts
            for j in range(0, _width(r), lanes(row)):
                filter_rows(row, rowptr, col, weight, first, start, size, r, j, c, hops, h, r, nothing)
            activate_graph(h, start, size, alike, shape.mode, with_max, factor, x, read, at)


@part
def take_back(graphs, shape, net, gradient, space, begin, end):
    """Take the gradients of the readouts of these graphs back through all layers, and add up those of the network."""
    first = graphs.ptr[begin]
    rows = graphs.ptr[end] - first
    ptr, rowptr, col, weight, alike = graphs.ptr, graphs.rowptr, graphs.col, graphs.weight, graphs.alike[first:]
    hops, read, grad_read, grad, grad_r = space.hops, space.read, space.grad_read, space.grad, space.grad_r
    row, strip, with_max = row_of(grad.dtype.type(0)), strip_of(grad.dtype.type(0)), shape.parts > 1
    for layer in range(shape.layers - 1, -1, -1):
        r, h, x, factor = space.r[layer], space.h[layer], space.x[layer], space.factor[layer]
        c, grad_c, above = net.c[layer], gradient.c[layer], layer < shape.layers - 1
        _count_alike(alike, rows, r)
        for graph in range(begin, end):
            start, size = ptr[graph] - first, ptr[graph + 1] - ptr[graph]
            at = ((graph - begin) * shape.layers + layer) * shape.parts
            activate_graph_back(
                h, x, start, size, alike, shape.mode, with_max, factor, read, grad_read, at, above, grad
            )
            for j in range(0, _width(r), lanes(row)):
                filter_rows(row, rowptr, col, weight, first, start, size, grad, j, c, hops, grad_r, r, grad_c)
        if layer > 0:
            product(grad_r, net.back[layer], rows, _width(r), net.bias, shape.layers, grad)
        _count_alike(alike, rows, grad_r)
        for j in range(0, _width(grad_r), lanes(strip)):
            s = strip
            for i in range(rows):
                s = plus(s, load(strip, grad_r, i, j))
            store(gradient.bias, layer, j, plus(s, load(strip, gradient.bias, layer, j)))
        if layer == 0:
            add_outer(space.attributes, grad_r, rows, gradient.entry[: space.attributes.shape[1]])
            _spread_out(graphs.labels, first, rows, grad_r, gradient.entry)
        else:
            add_outer(grad_r, space.x[layer - 1], rows, gradient.back[layer])


@part
def classify(shape, net, gradient, space, y, begin, end, share):
    """Cross-entropy of the graphs, and its gradient with respect to their readouts and the last layer."""
    strip = strip_of(space.r.dtype.type(0))
    rows = shape.layers * shape.parts
    loss = 0.0
    logits = space.logits[0]
    for graph in range(begin, end):
        at = (graph - begin) * rows
        highest = -np.inf
        for k in range(shape.classes):
            s = strip
            for row in range(rows):
                for j in range(0, _width(space.read), lanes(strip)):
                    s = fma(load(strip, net.head, k * rows + row, j), load(strip, space.read, at + row, j), s)
            logits[k] = total(s) + net.head_bias[0, k]
            highest = max(highest, logits[k])
        exponentials = 0.0
        for k in range(shape.classes):
            exponentials += np.exp(logits[k] - highest)
        loss += highest + np.log(exponentials) - logits[y[graph]]
        for row in range(rows):
            for j in range(0, _width(space.read), lanes(strip)):
                store(space.grad_read, at + row, j, strip)
        for k in range(shape.classes):
            g = np.exp(logits[k] - highest) / exponentials
            if k == y[graph]:
                g -= 1
            g *= share
            gradient.head_bias[0, k] += g
            v = space.r.dtype.type(g)
            for row in range(rows):
                line = k * rows + row
                for j in range(0, _width(space.read), lanes(strip)):
                    read, head = load(strip, space.read, at + row, j), load(strip, net.head, line, j)
                    store(gradient.head, line, j, fma(v, read, load(strip, gradient.head, line, j)))
                    store(space.grad_read, at + row, j, fma(v, head, load(strip, space.grad_read, at + row, j)))
    return loss
