r"""A block of small graphs through all layers of a network, forward and backward.

A block has about a hundred nodes, so that its workspace stays in the cache. Rows have padding and gap, both filled with
zeros; every step keeps them zero.

Functions that run once for each graph are called from the function that holds the arrays: numba counts references to
arrays in every function in between, and for a graph of thirty nodes that time is noticeable.
"""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import jit_cached, jit_inner
from bankgcn.kernels.jit.vector import broadcast8, lanes
from bankgcn.kernels.ops.filter_rows import filter_rows
from bankgcn.kernels.ops.graph_activation import activate_graph, activate_graph_adjoint
from bankgcn.kernels.ops.label_rows import add_label_rows, scatter_add_label_rows
from bankgcn.kernels.ops.linear import add_bias_gradient, add_weight_gradient, linear
from bankgcn.kernels.ops.multiplicity import scale_by_multiplicity
from bankgcn.kernels.ops.padding import width

MAX_BLOCK_NODES = 96  # a graph with more nodes is a block by itself


@jit_cached
def block_end(node_ptr, begin, last):
    """The end of the block that starts with graph ``begin``: at most ``last``."""
    end = begin + 1
    while end < last and end - begin < MAX_BLOCK_NODES and node_ptr[end + 1] - node_ptr[begin] <= MAX_BLOCK_NODES:
        end += 1
    return end


@jit_inner
def largest_block(node_ptr, batch_ptr):
    """The largest number of nodes and the largest number of graphs in a block."""
    nodes, graphs = np.int64(0), np.int64(1)
    for batch in range(batch_ptr.shape[0] - 1):
        begin = batch_ptr[batch]
        while begin < batch_ptr[batch + 1]:
            end = block_end(node_ptr, begin, batch_ptr[batch + 1])
            nodes = max(nodes, node_ptr[end] - node_ptr[begin])
            graphs = max(graphs, end - begin)
            begin = end
    return nodes, graphs


@jit_inner
def forward_block(graphs, shape, parameters, workspace, begin, end):
    """Take the graphs from ``begin`` to ``end`` through all layers, and write their readouts.

    The product with a weight matrix is one for the whole block; then each graph is filtered and activated by itself,
    while its rows are in the first-level cache.
    """
    first = graphs.node_ptr[begin]
    rows, attributes = graphs.node_ptr[end] - first, graphs.attributes.shape[1]
    for i in range(rows):
        for k in range(attributes):
            workspace.attributes[i, k] = graphs.attributes[first + i, k]
    node_ptr, rowptr, col, weight = graphs.node_ptr, graphs.rowptr, graphs.col, graphs.weight
    multiplicity, hops, readout = graphs.multiplicity[first:], workspace.hops, workspace.readout
    zero, with_max, no_gradient = broadcast8(hops.dtype.type(0)), shape.num_readouts > 1, parameters.coefficients[0, :0]
    stored = workspace.x.shape[0]
    for layer in range(shape.num_layers):
        slot, before = layer % stored, (layer - 1) % stored
        r, h, x, scale = workspace.r[slot], workspace.h[slot], workspace.x[slot], workspace.scale[slot]
        if layer == 0:
            linear(workspace.attributes, parameters.input_weight, rows, attributes, parameters.bias, layer, r)
            add_label_rows(graphs.labels, first, rows, parameters.input_weight, r)
        else:
            linear(workspace.x[before], parameters.weight_t[layer], rows, width(r), parameters.bias, layer, r)
        c = parameters.coefficients[layer]
        for graph in range(begin, end):
            start, size = node_ptr[graph] - first, node_ptr[graph + 1] - node_ptr[graph]
            at = ((graph - begin) * shape.num_layers + layer) * shape.num_readouts
            for j in range(0, width(r), lanes(zero)):
                filter_rows(zero, rowptr, col, weight, first, start, size, r, j, c, hops, h, r, no_gradient)
            activate_graph(h, start, size, multiplicity, shape.normalize, with_max, scale, x, readout, at)


@jit_inner
def backward_block(graphs, shape, parameters, gradient, workspace, begin, end):
    """Take the gradients of the block's readouts back through all layers, and add those of the parameters."""
    first = graphs.node_ptr[begin]
    rows = graphs.node_ptr[end] - first
    node_ptr, rowptr, col, weight = graphs.node_ptr, graphs.rowptr, graphs.col, graphs.weight
    multiplicity, hops, mode = graphs.multiplicity[first:], workspace.hops, shape.normalize
    readout, grad_readout = workspace.readout, workspace.grad_readout
    grad, grad_r = workspace.grad, workspace.grad_r
    zero, with_max, last = broadcast8(grad.dtype.type(0)), shape.num_readouts > 1, shape.num_layers - 1
    for layer in range(last, -1, -1):
        r, h, x, scale = workspace.r[layer], workspace.h[layer], workspace.x[layer], workspace.scale[layer]
        c, grad_c = parameters.coefficients[layer], gradient.coefficients[layer]
        scale_by_multiplicity(multiplicity, rows, r)
        for graph in range(begin, end):
            start, size = node_ptr[graph] - first, node_ptr[graph + 1] - node_ptr[graph]
            at = ((graph - begin) * shape.num_layers + layer) * shape.num_readouts
            activate_graph_adjoint(
                h, x, start, size, multiplicity, mode, with_max, scale, readout, grad_readout, at, layer == last, grad
            )
            for j in range(0, width(r), lanes(zero)):
                filter_rows(zero, rowptr, col, weight, first, start, size, grad, j, c, hops, grad_r, r, grad_c)
        if layer > 0:
            linear(grad_r, parameters.weight[layer], rows, width(r), parameters.bias, shape.num_layers, grad)
        scale_by_multiplicity(multiplicity, rows, grad_r)
        add_bias_gradient(grad_r, rows, gradient.bias, layer)
        if layer == 0:
            columns = workspace.attributes.shape[1]
            add_weight_gradient(workspace.attributes, grad_r, rows, gradient.input_weight[:columns])
            scatter_add_label_rows(graphs.labels, first, rows, grad_r, gradient.input_weight)
        else:
            add_weight_gradient(grad_r, workspace.x[layer - 1], rows, gradient.weight[layer])
