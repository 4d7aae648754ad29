"""Graphs without the weights of their edges, for networks that cannot use them."""

from __future__ import annotations

from dataclasses import replace

from bankgcn.data.edges import flatten_edges
from bankgcn.data.graphs import GraphSet


def without_weights(graphs: GraphSet) -> GraphSet:
    """The same graphs with weight 1 for every edge; the shift is normalised anew.

    Args:
        graphs: The graphs; if they have no weights, they are returned as they are.
    """
    if graphs.edge_weight is None:
        return graphs
    edges = flatten_edges(graphs.node_ptr, graphs.batch().edge_index.numpy(), None, None, "refuse")
    notes = (*graphs.notes, "the weights of the edges are ignored")
    return replace(graphs, edge_weight=None, shift=edges.shift, notes=notes)
