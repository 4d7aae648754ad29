r"""Kinds of nodes: nodes for which the first layer of a network computes the same row, in whichever graph they are.

If nodes have labels alone, the first layer's projection selects rows of its weights, and one hop adds up a few of them:
the result depends on a node's label and on the labels around it. 64 graphs of NCI1 have about 1,600 nodes (of quotient
graphs) but only about 90 such neighbourhoods; with the factors that GCN's operator takes from degrees, 230. Up to the
second hop, a network computes with one row for each kind in a batch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.kernels.jit.compiler import jit_cached
from bankgcn.kernels.network.collate import CollatedGraphs

MIN_NODES = 1 << 16  # of a set: smaller ones train faster than the operations of kinds are compiled
MIN_NODES_OF_KIND = 8  # nodes of the set for each kind, on average; the graphs of DD have hardly any equal ones


class Kinds(NamedTuple):
    """The kinds of N nodes in batches; C kinds of all batches, one batch after another."""

    kind: NDArray[np.int64]  # (N,): of each node, counted within its batch
    example: NDArray[np.int64]  # (C,): the first node of each kind
    members_ptr: NDArray[np.int64]  # (C + 1,): start of each kind's members
    members: NDArray[np.int64]  # (N,): nodes of each kind, counted within their batch
    batch_ptr: NDArray[np.int64]  # (batches + 1,): start of each batch's kinds

    @classmethod
    def none(cls, batches: int) -> Kinds:
        """Batches in which kinds are not used."""
        empty, start = np.empty(0, np.int64), np.zeros(1, np.int64)
        return cls(empty, empty, start, empty, np.zeros(batches + 1, np.int64))


def number_kinds(graphs: CollatedGraphs) -> NDArray[np.int64] | None:
    """The kind of each node, counted from 0; ``None`` if nodes have attributes, or if there are too many kinds.

    Two nodes are of a kind if their labels, their entries on the operator's diagonal and the labels and weights of
    their edges agree, bit for bit and in any order.
    """
    nodes = len(graphs.diagonal)
    if graphs.attributes.shape[1] or not graphs.labels.shape[1]:
        return None
    label = np.unique(graphs.labels, axis=0, return_inverse=True)[1].reshape(-1)
    row = np.arange(nodes).repeat(np.diff(graphs.rowptr))
    weight = graphs.weight.view(f"i{graphs.weight.itemsize}")
    order = np.lexsort((weight, label[graphs.col], row))
    edges = np.stack([label[graphs.col], weight], axis=1)[order]
    own = np.stack([label, graphs.diagonal.view(weight.dtype)], axis=1)
    known: dict[bytes, int] = {}
    kinds = np.empty(nodes, np.int64)
    most = nodes // MIN_NODES_OF_KIND
    starts = graphs.rowptr.tolist()
    for node in range(nodes):
        key = own[node].tobytes() + edges[starts[node] : starts[node + 1]].tobytes()
        kinds[node] = known.setdefault(key, len(known))
        if len(known) > most:
            return None
    return kinds


def kinds_in_batches(kinds: NDArray[np.int64], node_ptr: NDArray[np.int64]) -> Kinds:
    """The kinds of each batch.

    Args:
        kinds: Kind of each node, as :func:`number_kinds` counts them.
        node_ptr: Start of each batch's nodes, then their number.
    """
    nodes, batches = len(kinds), len(node_ptr) - 1
    kind, example, members = np.empty((3, nodes), np.int64)
    found = Kinds(kind, example, np.zeros(nodes + 1, np.int64), members, np.zeros(batches + 1, np.int64))
    count = _number_in_batches(kinds, node_ptr, np.full(kinds.max(initial=-1) + 1, -1), *found)
    return found._replace(example=found.example[:count], members_ptr=found.members_ptr[: count + 1])


@jit_cached
def _number_in_batches(kinds, node_ptr, place, kind, example, members_ptr, members, batch_ptr):
    """Write the fields of :class:`Kinds`; return the number of kinds. ``place`` is workspace, -1 everywhere."""
    count = 0
    for batch in range(len(node_ptr) - 1):
        start, begin, end = count, node_ptr[batch], node_ptr[batch + 1]
        for node in range(begin, end):
            if place[kinds[node]] < start:
                place[kinds[node]] = count
                example[count] = node
                count += 1
                members_ptr[count] = 0
            number = place[kinds[node]]
            kind[node] = number - start
            members_ptr[number + 1] += 1
        for number in range(start, count):
            members_ptr[number + 1] += members_ptr[number]
        for node in range(end - 1, begin - 1, -1):  # backward: the end of each kind moves to its start
            number = start + kind[node]
            members_ptr[number + 1] -= 1
            members[members_ptr[number + 1]] = node - begin
        for number in range(start, count):  # and is one place too far
            members_ptr[number] = members_ptr[number + 1]
        members_ptr[count] = end
        batch_ptr[batch + 1] = count
    return count
