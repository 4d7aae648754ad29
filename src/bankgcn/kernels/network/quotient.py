r"""Nodes that no network can tell apart are taken together, and computed with once.

The two sides of a phenyl ring have the same surroundings, however far one looks; whatever a network of filter banks
computes for an atom of one side, it computes for that of the other, and so it is with their gradients. Colour
refinement finds such nodes: nodes of a colour have the same signal and, toward the nodes of each other colour, the same
sum of shift entries (an *equitable partition*). Then one node stands for all of its colour, and is joined to each other
one by that sum. This changes nothing but the order of summation. About a sixth of the atoms of NCI1 can be left out.

Each round of the refinement looks one hop further. A graph that needs more than ``ROUNDS`` of them is left as it is, so
that the time is linear in the size of a graph: a chain of equal nodes needs half as many rounds as it has nodes.
"""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.jit.compiler import compiled, part
from bankgcn.kernels.network.flat_arrays import FlatArrays, NodeColors, read_only

ROUNDS = 128  # the graphs of NCI1 need at most 28, those of ogbg-molhiv 38
WORK_AT_ONCE = 2**24  # nodes and entries looked at in one call of compiled code, which cannot be interrupted: 0.1 s
WORTH = 0.02  # share of the nodes that must be alike to others, or a second copy of a set does not pay

_FIRST, _SECOND, _ODD = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15)


def fold(arrays: FlatArrays, colors: NodeColors | None = None) -> FlatArrays:
    """The same graphs with one node for all that are alike; the given arrays if hardly any are.

    Args:
        arrays: The graphs.
        colors: What is known of their colours; what is found out is added to it.
    """
    colors = NodeColors.unknown(arrays.node_ptr) if colors is None else colors
    attribute_bits, shift_bits = (array.view(f"u{array.itemsize}") for array in (arrays.attributes, arrays.shift))
    graph = 0
    while graph < len(colors.graphs):
        graph = _color(arrays, attribute_bits, shift_bits, graph, colors)
    num_colors = colors.num_colors[colors.graphs]
    nodes = num_colors.sum()
    if nodes >= (1 - WORTH) * len(arrays.degree):
        return arrays
    folded = FlatArrays(
        node_ptr=np.append(0, np.cumsum(num_colors)),
        entry_ptr=np.zeros_like(arrays.entry_ptr),
        degree=np.empty(nodes, arrays.degree.dtype),
        neighbor=np.empty_like(arrays.neighbor),
        shift=np.empty_like(arrays.shift),
        attributes=np.empty((nodes, arrays.attributes.shape[1]), arrays.attributes.dtype),
        labels=np.empty((nodes, arrays.labels.shape[1]), arrays.labels.dtype),
        label_start=arrays.label_start,
        alike=np.zeros(nodes, arrays.shift.dtype),
    )
    entries = _join(arrays, colors, np.full(num_colors.max(), -1), folded)
    used = folded._replace(neighbor=folded.neighbor[:entries].copy(), shift=folded.shift[:entries].copy())
    return FlatArrays(*map(read_only, used))


@compiled
def _color(arrays, attribute_bits, shift_bits, graph, colors):
    """Color the graphs from this one on, except those whose colors are known; return where to go on.

    It returns when it has done ``WORK_AT_ONCE``, or when all graphs are colored.
    """
    last, largest, work = len(colors.graphs), 0, 0
    for k in range(graph, last):
        largest = max(largest, arrays.node_ptr[k + 1] - arrays.node_ptr[k])
    rowptr, sums, standing = np.empty(largest + 1, np.int64), np.zeros(largest), np.empty(largest, np.int64)
    values, slots = np.empty((2, largest), np.uint64), np.empty(4 * largest + 1, np.int64)
    while graph < last and work < WORK_AT_ONCE:
        first, nodes, number = (
            arrays.node_ptr[graph],
            arrays.node_ptr[graph + 1] - arrays.node_ptr[graph],
            colors.graphs[graph],
        )
        rowptr[0] = arrays.entry_ptr[graph]
        graph += 1
        if colors.num_colors[number] >= 0:
            continue
        for i in range(nodes):
            rowptr[i + 1] = rowptr[i] + arrays.degree[first + i]
            values[0, i] = _hash_signal(arrays.labels, attribute_bits, first + i)
        own = colors.color[colors.node_ptr[number] : colors.node_ptr[number + 1]]
        distinct, rounds = _refine(values, nodes, rowptr, arrays.neighbor, shift_bits, own, slots)
        if distinct < nodes and not _is_equitable(arrays, first, rowptr, own, standing[:distinct], sums):
            distinct = nodes  # rounds were too few, two hashes were equal by chance, or sums differ by their rounding
            for i in range(nodes):
                own[i] = i
        colors.num_colors[number] = distinct
        work += (rounds + 1) * (nodes + rowptr[nodes] - rowptr[0])
    return graph


@part
def _refine(values, nodes, rowptr, neighbor, shift_bits, colors, slots):
    """Refine the colors, which start from the first row of values; return their number and that of the rounds."""
    before, distinct, rounds = 0, _number(values[0], nodes, colors, slots), 0
    while before < distinct < nodes and rounds < ROUNDS:
        now, following = values[rounds % 2], values[(rounds + 1) % 2]
        for i in range(nodes):
            following[i] = _hash_surroundings(now, i, rowptr, neighbor, shift_bits)
        rounds += 1
        before, distinct = distinct, _number(following, nodes, colors, slots)
    return distinct, rounds


@part
def _mix(value):
    """A hash of 64 bits: the last step of the generator splitmix64."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@part
def _hash_signal(labels, attribute_bits, node):
    value = _ODD
    for k in range(attribute_bits.shape[1]):
        value = _mix(value + _ODD + np.uint64(attribute_bits[node, k]))
    for k in range(labels.shape[1]):
        value = _mix(value + _ODD + np.uint64(labels[node, k]))
    return value


@part
def _hash_surroundings(colors, node, rowptr, neighbor, shift_bits):
    """A hash of a node's color and of those of its neighbours, in whatever order."""
    value = np.uint64(0)
    for e in range(rowptr[node], rowptr[node + 1]):
        value += _mix(colors[neighbor[e]] + _ODD * np.uint64(shift_bits[e]))
    return _mix(colors[node] * _ODD + value)


@part
def _number(values, nodes, colors, slots):
    """Number the values in the order of their first appearance, by a table of hashes; return how many there are."""
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


@part
def _is_equitable(arrays, first, rowptr, colors, standing, sums):
    """Whether nodes of a color have equal signals, and equal sums of shift entries toward each color.

    ``standing`` is room for a node of each color; ``sums`` are zero before and after.
    """
    for color in range(len(standing)):
        standing[color] = -1
    for i in range(len(colors)):
        if standing[colors[i]] < 0:
            standing[colors[i]] = i
            continue
        other = standing[colors[i]]
        for k in range(arrays.labels.shape[1]):
            if arrays.labels[first + i, k] != arrays.labels[first + other, k]:
                return False
        for k in range(arrays.attributes.shape[1]):
            if arrays.attributes[first + i, k] != arrays.attributes[first + other, k]:
                return False
        for e in range(rowptr[i], rowptr[i + 1]):
            sums[colors[arrays.neighbor[e]]] += arrays.shift[e]
        for e in range(rowptr[other], rowptr[other + 1]):
            sums[colors[arrays.neighbor[e]]] -= arrays.shift[e]
        same = True
        for node in (i, other):
            for e in range(rowptr[node], rowptr[node + 1]):
                color = colors[arrays.neighbor[e]]
                same = same and sums[color] == 0
                sums[color] = 0
        if not same:
            return False
    return True


@compiled
def _join(arrays, colors, place, folded):
    """Write the first node of each color as the one that stands for all; return the number of entries.

    ``place`` is room for where the entry toward each color stands in the row that is being made.
    """
    entries = 0
    for graph in range(len(arrays.node_ptr) - 1):
        first, last, start = arrays.node_ptr[graph], arrays.node_ptr[graph + 1], folded.node_ptr[graph]
        number = colors.graphs[graph]
        own = colors.color[colors.node_ptr[number] : colors.node_ptr[number + 1]]
        made, e = start, arrays.entry_ptr[graph]
        for i in range(first, last):
            row = e
            e += arrays.degree[i]
            folded.alike[start + own[i - first]] += 1
            if start + own[i - first] < made:
                continue
            for k in range(arrays.attributes.shape[1]):
                folded.attributes[made, k] = arrays.attributes[i, k]
            for k in range(arrays.labels.shape[1]):
                folded.labels[made, k] = arrays.labels[i, k]
            begin = entries
            for old in range(row, e):
                color = own[arrays.neighbor[old]]
                if place[color] < begin:
                    place[color] = entries
                    folded.neighbor[entries] = color
                    folded.shift[entries] = arrays.shift[old]
                    entries += 1
                else:
                    folded.shift[place[color]] += arrays.shift[old]
            folded.degree[made] = entries - begin
            made += 1
        folded.entry_ptr[graph + 1] = entries
    return entries
