"""Quotient graphs: merges nodes that colour refinement cannot distinguish, so that a network runs on fewer nodes.

Example: the two sides of a phenyl ring have the same neighbourhoods, however far one looks. The quotient of a graph has
one node for each colour. The weight between two colours is the sum of the weights from one node of the first to all
nodes of the second, and each node counts with its multiplicity, the number of nodes it represents. The results change
by the order of summation only. The quotients of NCI1 have about a sixth fewer nodes.

Nodes of a colour have the same signal and, toward the nodes of each colour, the same sum of edge weights: the colours
are an *equitable partition*. So they have the same degree, and the partition is equitable for every operator that
follows from weights and degrees. A network computes the same values and the same gradients for all nodes of a colour.
Where edges have features, the sums are equal for each kind of edge, and the quotient has an edge for each kind.

Each round of the refinement looks one hop further. A graph that needs more than ``MAX_ROUNDS`` rounds keeps all its
nodes, so that the time is linear in the size of a graph: a chain of equal nodes needs half as many rounds as it has
nodes.
"""

from __future__ import annotations

import threading

import numpy as np

from bankgcn.kernels.jit.compiler import ODD, jit_cached, jit_inner, mix
from bankgcn.kernels.network.flat_arrays import FlatArrays, NodeColors, read_only

MAX_ROUNDS = 128  # the graphs of NCI1 need at most 28, those of ogbg-molhiv 38
MAX_DEGREE = 256  # of nodes whose kinds of edges are compared, each with each
WORK_PER_CALL = 2**24  # nodes and edges that one call visits, about 0.1 s: compiled code cannot be interrupted
_LOCK = threading.Lock()  # subsets share colours, which are not final before all rounds of a graph are done


def color_graphs(arrays: FlatArrays, colors: NodeColors) -> None:
    """Colour the graphs that are not coloured yet, in one thread at a time."""
    attribute_bits, weight_bits = (array.view(f"u{array.itemsize}") for array in (arrays.attributes, arrays.weight))
    graph = 0
    with _LOCK:
        while graph < len(colors.graphs):
            graph = _color(arrays, attribute_bits, weight_bits, graph, colors)


@jit_cached
def _color(arrays, attribute_bits, weight_bits, graph, colors):
    """Colour the graphs from this one on, except those that have colours; return the next graph to colour.

    Returns after ``WORK_PER_CALL``, or when all graphs are coloured.
    """
    last, largest, work = len(colors.graphs), 0, 0
    for k in range(graph, last):
        largest = max(largest, arrays.node_ptr[k + 1] - arrays.node_ptr[k])
    rowptr, sums, representative = np.empty(largest + 1, np.int64), np.zeros(largest), np.empty(largest, np.int64)
    values, slots = np.empty((2, largest), np.uint64), np.empty(4 * largest + 1, np.int64)
    while graph < last and work < WORK_PER_CALL:
        first, number = arrays.node_ptr[graph], colors.graphs[graph]
        nodes = arrays.node_ptr[graph + 1] - first
        rowptr[0] = arrays.edge_ptr[graph]
        graph += 1
        if colors.num_colors[number] >= 0:
            continue
        for i in range(nodes):
            rowptr[i + 1] = rowptr[i] + arrays.degree[first + i]
            values[0, i] = _hash_signal(arrays.labels, attribute_bits, first + i)
        own = colors.color[colors.node_ptr[number] : colors.node_ptr[number + 1]]
        distinct, rounds = _refine(values, nodes, rowptr, arrays.neighbor, weight_bits, arrays.edge_kind, own, slots)
        if distinct < nodes and not _is_equitable(arrays, first, rowptr, own, representative[:distinct], sums):
            distinct = nodes  # too few rounds, equal hashes of different nodes, or sums that differ by rounding
            for i in range(nodes):
                own[i] = i
        colors.num_colors[number] = distinct
        work += (rounds + 1) * (nodes + rowptr[nodes] - rowptr[0])
    return graph


@jit_inner
def _refine(values, nodes, rowptr, neighbor, weight_bits, edge_kind, colors, slots):
    """Refine the colours, starting from the first row of values; return the number of colours and of rounds."""
    before, distinct, rounds = 0, _number_distinct(values[0], nodes, colors, slots), 0
    while before < distinct < nodes and rounds < MAX_ROUNDS:
        now, following = values[rounds % 2], values[(rounds + 1) % 2]
        for i in range(nodes):
            following[i] = _hash_neighborhood(now, i, rowptr, neighbor, weight_bits, edge_kind)
        rounds += 1
        before, distinct = distinct, _number_distinct(following, nodes, colors, slots)
    return distinct, rounds


@jit_inner
def _hash_signal(labels, attribute_bits, node):
    """A hash of a node's labels and attributes."""
    value = ODD
    for k in range(attribute_bits.shape[1]):
        value = mix(value + ODD + np.uint64(attribute_bits[node, k]))
    for k in range(labels.shape[1]):
        value = mix(value + ODD + np.uint64(labels[node, k]))
    return value


@jit_inner
def _hash_neighborhood(colors, node, rowptr, neighbor, weight_bits, edge_kind):
    """A hash of a node's colour and of its edges and neighbours' colours, independent of their order."""
    value = np.uint64(0)
    for e in range(rowptr[node], rowptr[node + 1]):
        edge = np.uint64(weight_bits[e] if len(weight_bits) else 1)
        if len(edge_kind):
            edge = mix(edge + ODD * np.uint64(edge_kind[e] + 1))
        value += mix(colors[neighbor[e]] + ODD * edge)
    return mix(colors[node] * ODD + value)


@jit_inner
def _number_distinct(values, nodes, colors, slots):
    """Number the distinct values in the order of first appearance, with a hash table; return their number."""
    size = 1
    while size < 2 * nodes:
        size *= 2
    for slot in range(size):
        slots[slot] = -1
    count = 0
    for i in range(nodes):
        slot = np.int64(values[i] & np.uint64(size - 1))
        while slots[slot] >= 0 and values[slots[slot]] != values[i]:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot], colors[i] = i, count
            count += 1
        else:
            colors[i] = colors[slots[slot]]
    return count


@jit_inner
def _is_equitable(arrays, first, rowptr, colors, representative, sums):
    """Whether all nodes of a colour have equal signals, and equal sums of edge weights toward each colour.

    ``representative`` is workspace, one entry for each colour; ``sums`` are zero before and after.
    """
    for color in range(len(representative)):
        representative[color] = -1
    for i in range(len(colors)):
        if representative[colors[i]] < 0:
            representative[colors[i]] = i
            continue
        other = representative[colors[i]]
        for k in range(arrays.labels.shape[1]):
            if arrays.labels[first + i, k] != arrays.labels[first + other, k]:
                return False
        for k in range(arrays.attributes.shape[1]):
            if arrays.attributes[first + i, k] != arrays.attributes[first + other, k]:
                return False
        for e in range(rowptr[i], rowptr[i + 1]):
            sums[colors[arrays.neighbor[e]]] += arrays.weight[e] if len(arrays.weight) else 1
        for e in range(rowptr[other], rowptr[other + 1]):
            sums[colors[arrays.neighbor[e]]] -= arrays.weight[e] if len(arrays.weight) else 1
        same = True
        for node in (i, other):
            for e in range(rowptr[node], rowptr[node + 1]):
                color = colors[arrays.neighbor[e]]
                same = same and sums[color] == 0
                sums[color] = 0
        if not same or (len(arrays.edge_kind) and not _have_equal_edges(arrays, rowptr, colors, i, other)):
            return False
    return True


@jit_inner
def _have_equal_edges(arrays, rowptr, colors, i, other):
    """Whether two nodes have equal sums of weights toward each colour for each kind of edge."""
    if rowptr[i + 1] - rowptr[i] > MAX_DEGREE or rowptr[other + 1] - rowptr[other] > MAX_DEGREE:
        return False
    for node in (i, other):
        for edge in range(rowptr[node], rowptr[node + 1]):
            color, kind, difference = colors[arrays.neighbor[edge]], arrays.edge_kind[edge], 0.0
            for e in range(rowptr[i], rowptr[i + 1]):
                if colors[arrays.neighbor[e]] == color and arrays.edge_kind[e] == kind:
                    difference += arrays.weight[e] if len(arrays.weight) else 1
            for e in range(rowptr[other], rowptr[other + 1]):
                if colors[arrays.neighbor[e]] == color and arrays.edge_kind[e] == kind:
                    difference -= arrays.weight[e] if len(arrays.weight) else 1
            if difference != 0:
                return False
    return True


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
        edge_kind=np.empty_like(arrays.edge_kind),
        edge_features=arrays.edge_features,
    )
    edges = _merge(arrays, colors, np.full(num_colors.max(), -1), np.empty_like(arrays.edge_kind), merged)
    used = merged._replace(
        neighbor=merged.neighbor[:edges].copy(),
        weight=merged.weight[:edges].copy(),
        edge_kind=merged.edge_kind[:edges].copy(),
    )
    return FlatArrays(*(read_only(array) for array in used))


@jit_cached
def _merge(arrays, colors, place, before, merged):
    """Write the quotient of each graph, with the first node of each colour; return the number of edges.

    ``place`` and ``before`` are workspace, see :func:`_merge_edges`.
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
            end = _merge_edges(arrays, row, e, own, place, before, edges, merged)
            merged.degree[node] = end - edges
            edges = end
            node += 1
        merged.edge_ptr[graph + 1] = edges
    return edges


@jit_inner
def _merge_edges(arrays, row, row_end, colors, place, before, edges, merged):
    """Write the edges of one node, one edge of each kind to each colour, from ``edges`` on; return their end.

    ``place`` holds the position of the last edge written to each colour, ``before`` that of the one before it.
    """
    begin, has_kinds = edges, len(arrays.edge_kind) > 0
    for e in range(row, row_end):
        color, weight = colors[arrays.neighbor[e]], arrays.weight[e] if len(arrays.weight) else 1
        at = place[color]
        if has_kinds:
            while at >= begin and merged.edge_kind[at] != arrays.edge_kind[e]:
                at = before[at]
        if at >= begin:
            merged.weight[at] += weight
            continue
        if has_kinds:
            merged.edge_kind[edges] = arrays.edge_kind[e]
            before[edges] = place[color]
        place[color] = edges
        merged.neighbor[edges] = color
        merged.weight[edges] = weight
        edges += 1
    return edges
