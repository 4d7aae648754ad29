"""Graphs that join each point to the points nearest to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.batch import pointers

CELLS_AT_ONCE = 1 << 23  # of adjacency matrices: eight megabytes beside the result


def nearest(positions: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """The nearest other points of each point, nearest first; equally near points in order of their numbers.

    Args:
        positions: Shape ``(n, dimensions)``.
        count: Number of points to find.

    Returns:
        Shape ``(n, count)``, or ``(n, n - 1)`` if there are fewer points.

    Example:
        >>> nearest(np.array([[0.0], [1.0], [3.0]]), 1).tolist()
        [[1], [0], [1]]
    """
    positions = np.asarray(positions, np.float64)
    distance = ((positions[:, None] - positions) ** 2).sum(-1)
    np.fill_diagonal(distance, np.inf)  # a point is not its own neighbour
    return np.argsort(distance, axis=1, kind="stable")[:, : min(count, max(len(positions) - 1, 0))]


def undirected_edges(
    num_nodes: NDArray[np.integer],
    num_edges: NDArray[np.integer],
    source: NDArray[np.integer],
    target: NDArray[np.integer],
) -> NDArray[np.integer]:
    """Both directions of each edge, once, from a list in which some edges have one direction only.

    Uses small dense adjacency matrices instead of sorting: 60,000 graphs take a few seconds, and little more memory
    than the result.

    Args:
        num_nodes: Number of nodes of each graph, shape ``(G,)``. A graph of n nodes takes n * n bytes for a moment.
        num_edges: Number of edges of each graph in ``source`` and ``target``, shape ``(G,)``.
        source: Node where each edge starts, counted within its graph, shape ``(E,)``; graph by graph.
        target: Node where each edge ends.

    Returns:
        An edge list for ``GraphSet.from_edges``, sorted, with nodes counted over the whole set.

    Example:
        >>> undirected_edges(np.array([1, 2]), np.array([0, 1]), np.array([1]), np.array([0]))
        array([[1, 2],
               [2, 1]], dtype=int32)
    """
    node_ptr, edge_ptr = pointers(num_nodes), pointers(num_edges)
    dtype = np.int32 if node_ptr[-1] <= np.iinfo(np.int32).max else np.int64
    edges = np.empty((2, 2 * len(source)), dtype)  # the largest possible size; unwritten pages take no memory
    filled = 0
    size = int(num_nodes.max(initial=1))
    step = max(1, CELLS_AT_ONCE // size**2)
    for first in range(0, len(num_nodes), step):
        last = min(first + step, len(num_nodes))
        chosen = slice(edge_ptr[first], edge_ptr[last])
        graph = np.repeat(np.arange(last - first), num_edges[first:last])
        adjacent = np.zeros((last - first, size, size), bool)
        adjacent[graph, source[chosen], target[chosen]] = True
        adjacent[graph, target[chosen], source[chosen]] = True
        graph, row, col = adjacent.nonzero()
        end = filled + len(graph)
        edges[0, filled:end] = row + node_ptr[first + graph]
        edges[1, filled:end] = col + node_ptr[first + graph]
        filled = end
    return edges[:, :filled]
