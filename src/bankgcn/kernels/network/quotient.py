r"""Quotient graphs: merges nodes that colour refinement cannot distinguish, so that a network runs on fewer nodes.

Example: the two sides of a phenyl ring have the same neighbourhoods, however far one looks. The quotient of a graph has
one node for each colour (:mod:`~bankgcn.kernels.network.coloring`). The weight between two colours is the sum of the
weights from one node of the first to all nodes of the second, and each node counts with its multiplicity, the number of
nodes it represents. The results change by the order of summation only. The quotients of NCI1 have about a
sixth fewer nodes.
"""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import jit_cached, jit_inner
from bankgcn.kernels.network.coloring import color_graphs
from bankgcn.kernels.network.flat_arrays import FlatArrays, NodeColors, read_only

MIN_NODES = 1 << 14  # of a whole set: an epoch of a smaller one takes milliseconds, compiling the refinement seconds
MIN_REDUCTION = 0.02  # share of the nodes that merging must remove, or the copy is not worth its memory


def quotient(arrays: FlatArrays, colors: NodeColors | None = None) -> FlatArrays:
    """The quotient of each graph; the given arrays themselves if merging removes hardly any node.

    Args:
        arrays: The graphs.
        colors: Colours that are already known; those of further graphs are added.
    """
    colors = NodeColors.unknown(arrays.node_ptr) if colors is None else colors
    color_graphs(arrays, colors)
    num_colors = colors.num_colors[colors.graphs]
    nodes = num_colors.sum()
    if nodes >= (1 - MIN_REDUCTION) * len(arrays.degree):
        return arrays
    merged = FlatArrays(
        node_ptr=np.append(0, np.cumsum(num_colors)),
        edge_ptr=np.zeros_like(arrays.edge_ptr),
        degree=np.empty(nodes, arrays.degree.dtype),
        neighbor=np.empty_like(arrays.neighbor),
        weight=np.empty(len(arrays.neighbor), np.float32),
        attributes=np.empty((nodes, arrays.attributes.shape[1]), arrays.attributes.dtype),
        labels=np.empty((nodes, arrays.labels.shape[1]), arrays.labels.dtype),
        label_start=arrays.label_start,
        multiplicity=np.zeros(nodes, np.float32),
    )
    edges = _merge(arrays, colors, np.full(num_colors.max(), -1), merged)
    used = merged._replace(neighbor=merged.neighbor[:edges].copy(), weight=merged.weight[:edges].copy())
    return FlatArrays(*(read_only(array) for array in used))


@jit_cached
def _merge(arrays, colors, place, merged):
    """Write the quotient of each graph, with the first node of each colour; return the number of edges.

    ``place`` is workspace, see :func:`_merge_edges`.
    """
    edges = np.int64(0)
    for graph in range(len(arrays.node_ptr) - 1):
        first, last, start = arrays.node_ptr[graph], arrays.node_ptr[graph + 1], merged.node_ptr[graph]
        number = colors.graphs[graph]
        own = colors.color[colors.node_ptr[number] : colors.node_ptr[number + 1]]
        node, e = start, arrays.edge_ptr[graph]
        for i in range(first, last):
            row = e
            e += arrays.degree[i]
            merged.multiplicity[start + own[i - first]] += 1
            if start + own[i - first] < node:  # the colour has its node already
                continue
            for k in range(arrays.attributes.shape[1]):
                merged.attributes[node, k] = arrays.attributes[i, k]
            for k in range(arrays.labels.shape[1]):
                merged.labels[node, k] = arrays.labels[i, k]
            end = _merge_edges(arrays, row, e, own, place, edges, merged)
            merged.degree[node] = end - edges
            edges = end
            node += 1
        merged.edge_ptr[graph + 1] = edges
    return edges


@jit_inner
def _merge_edges(arrays, row, row_end, colors, place, edges, merged):
    """Write the edges of one node, one edge to each colour, from ``edges`` on; return their end.

    ``place`` holds the position of the last edge written to each colour.
    """
    begin = edges
    for e in range(row, row_end):
        color, weight = colors[arrays.neighbor[e]], arrays.weight[e] if len(arrays.weight) else 1
        if place[color] < begin:
            place[color] = edges
            merged.neighbor[edges] = color
            merged.weight[edges] = weight
            edges += 1
        else:
            merged.weight[place[color]] += weight
    return edges
