"""Random sets of graphs, flat and one by one, for the tests of what handles many graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from bankgcn.data import GraphSet
from strategies import RandomGraph, graphs


@dataclass(frozen=True)
class RandomSet:
    """Graphs one by one, and the flat arrays that describe them together."""

    singles: list[RandomGraph]
    weighted: bool
    seed: int
    signals: bool = True  # or all nodes have the same

    @property
    def num_nodes(self) -> np.ndarray:
        return np.array([graph.num_nodes for graph in self.singles], dtype=np.int64)

    @property
    def starts(self) -> np.ndarray:
        return np.cumsum(self.num_nodes) - self.num_nodes

    @property
    def edge_index(self) -> np.ndarray:
        lists = [graph.edge_index.numpy() + start for graph, start in zip(self.singles, self.starts, strict=True)]
        return np.concatenate([np.zeros((2, 0), np.int64), *lists], axis=1)

    @property
    def edge_weight(self) -> np.ndarray | None:
        return np.concatenate([np.zeros(0), *(g.edge_weight.numpy() for g in self.singles)]) if self.weighted else None

    @property
    def attributes(self) -> np.ndarray:
        drawn = np.random.default_rng(self.seed).normal(size=(self.num_nodes.sum(), 2)).astype(np.float32)
        return drawn if self.signals else np.ones_like(drawn)

    @property
    def labels(self) -> np.ndarray:
        return np.random.default_rng(self.seed).integers(0, 3 if self.signals else 1, size=(self.num_nodes.sum(), 2))

    @property
    def edge_kinds(self) -> np.ndarray:
        """A kind of each edge, the same for both directions and all duplicates."""
        low, high = np.sort(self.edge_index, axis=0).astype(np.int64)
        return (low * 31 + high * 17 + self.seed) % (3 if self.signals else 1)

    @property
    def y(self) -> np.ndarray:
        return np.random.default_rng(self.seed).integers(0, 2, size=len(self.singles))

    def build(self, shuffle: bool = False, edge_features: bool = False) -> GraphSet:
        """The set, with its edges in order or all mixed up, and with or without features of them."""
        order = np.arange(self.edge_index.shape[1])
        if shuffle:
            np.random.default_rng(self.seed).shuffle(order)
        return GraphSet.from_edges(
            self.num_nodes,
            self.edge_index[:, order],
            edge_weight=None if self.edge_weight is None else self.edge_weight[order],
            attributes=self.attributes,
            labels=self.labels,
            label_widths=(3, 4),
            edge_labels=self.edge_kinds[order] if edge_features else None,
            edge_label_widths=3 if edge_features else None,
            edge_attributes=np.array([0.5, -1.25, 2.0])[self.edge_kinds[order]] if edge_features else None,
            y=self.y,
            classes=("no", "yes"),
        )


@st.composite
def graph_sets(draw: st.DrawFn, min_graphs: int = 0, max_graphs: int = 5) -> RandomSet:
    """Sets of no graph and up, with duplicated edges, self-loops, isolated nodes, and nodes that are alike."""
    weighted = draw(st.booleans())
    singles = draw(st.lists(graphs(max_nodes=6, weighted=weighted), min_size=min_graphs, max_size=max_graphs))
    return RandomSet(singles, weighted, draw(st.integers(0, 99)), draw(st.booleans()))
