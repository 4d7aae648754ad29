"""Small graphs with labels of nodes and edges, and their Weisfeiler-Lehman colours, written from the definition."""

from __future__ import annotations

import numpy as np

from bankgcn.data.graphs import GraphSet


def signatures(graphs: GraphSet, depth: int, edges: bool) -> list[list[object]]:
    """The colour of each node at each depth as nested tuples."""
    assert graphs.labels is not None
    first = [0, *np.cumsum(graphs.degree.astype(int)).tolist()]
    graph = np.repeat(np.arange(len(graphs)), graphs.num_nodes)
    colors: list[list[object]] = [[tuple(row) for row in graphs.labels.tolist()]]
    for _ in range(depth):
        before, after = colors[-1], []
        for node in range(len(graphs.degree)):
            around = []
            for place in range(first[node], first[node + 1]):
                kind = tuple(graphs.edge_labels[place].tolist()) if edges and graphs.edge_labels is not None else ()
                around.append((kind, before[graphs.node_ptr[graph[node]] + graphs.neighbor[place]]))
            after.append((before[node], tuple(sorted(around, key=repr))))
        colors.append(after)
    return colors


def random_graphs(seed: int, count: int = 6, edge_labels: bool = True) -> GraphSet:
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 9, count)
    pairs, kinds = [], []
    for start, size in zip(np.cumsum([0, *sizes[:-1]]), sizes, strict=True):
        chosen = [(i, j) for i in range(size) for j in range(i) if random.random() < 0.4]
        pairs += [(start + i, start + j) for i, j in chosen]
        kinds += random.integers(0, 2, len(chosen)).tolist()
    both = np.array(pairs + [(j, i) for i, j in pairs], np.int64).reshape(-1, 2).T
    return GraphSet.from_edges(
        sizes,
        both,
        labels=random.integers(0, 3, sizes.sum()),
        label_widths=3,
        edge_labels=np.array(kinds * 2, np.int64) if edge_labels else None,
        edge_label_widths=2 if edge_labels else None,
        attributes=random.normal(size=(sizes.sum(), 2)).astype(np.float32),
        y=np.arange(count) % 2,
        classes=("a", "b"),
    )
