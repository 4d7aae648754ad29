"""Nodes of one graph that no network can tell apart, and equal shares for them.

Equivalent atoms of a molecule, such as those of benzene, have equal signals in every layer, but for rounding. An
explanation must not tell them apart either.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.data.graphs import GraphSet

MAX_ROUNDS = 128  # a long chain needs half as many rounds as it has nodes: its nodes stay apart


def node_classes(graph: GraphSet) -> NDArray[np.int64]:
    """The class of each node of one graph by colour refinement.

    Nodes of a class have equal features and, in each class, equally many neighbours with equal edge weights. In a graph
    that needs more than ``MAX_ROUNDS`` rounds, each node is a class of its own.

    Args:
        graph: A set with one graph.
    """
    batch = graph.batch()
    sources, targets = batch.edge_index.tolist()
    weights = [1.0] * len(sources) if batch.edge_weight is None else batch.edge_weight.tolist()
    classes = _numbered(_features(graph))
    for _ in range(MAX_ROUNDS):
        around: list[list[tuple[int, float]]] = [[] for _ in classes]
        for source, target, weight in zip(sources, targets, weights, strict=True):
            around[target].append((classes[source], weight))
        refined = _numbered([(own, tuple(sorted(found))) for own, found in zip(classes, around, strict=True)])
        if refined == classes:  # numbered by first appearance: the same partition has the same numbers
            return np.array(classes, np.int64)
        classes = refined
    return np.arange(len(classes))


def share_equally(contributions: Tensor, classes: NDArray[np.int64]) -> Tensor:
    """Each node gets the mean over the nodes of its class: sums over all nodes stay.

    Args:
        contributions: Shape ``(num_nodes, out_channels)``.
        classes: Class of each node.
    """
    place = torch.from_numpy(classes)
    number = int(place.max()) + 1 if len(place) else 0
    total = contributions.new_zeros(number, contributions.size(1)).index_add(0, place, contributions)
    return (total / place.bincount(minlength=number).clamp(min=1)[:, None])[place]


def _features(graph: GraphSet) -> list[Hashable]:
    """What each node carries, as a value that can be compared."""
    parts = [part for part in (graph.labels, graph.attributes) if part is not None]
    return [tuple(part[node].tobytes() for part in parts) for node in range(graph.largest)]


def _numbered(values: Sequence[Hashable]) -> list[int]:
    """The number of each value, in the order of first appearance."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]
