"""Graphs without the weights of their edges, for networks that cannot use them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bankgcn.data.edges import normalized_shift
from bankgcn.data.graphs import GraphSet


def without_weights(graphs: GraphSet) -> GraphSet:
    """The same graphs with weight 1 for every edge, and the shift that follows from it.

    Args:
        graphs: The graphs; a set without weights is returned unchanged.
    """
    if graphs.edge_weight is None:
        return graphs
    row, col = graphs.batch().edge_index.numpy()
    shift = normalized_shift(row, col, np.ones_like(graphs.edge_weight), len(graphs.degree))
    return replace(graphs, edge_weight=None, shift=shift, notes=(*graphs.notes, "the weights of the edges are ignored"))
