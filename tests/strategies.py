"""Random undirected graphs for Hypothesis, including the awkward ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import strategies as st

import oracles


@dataclass(frozen=True)
class RandomGraph:
    """An edge list with both directions of every edge, in any order, and what it means."""

    num_nodes: int
    edges: list[tuple[int, int]]
    weights: list[float]

    @property
    def edge_index(self) -> torch.Tensor:
        return torch.tensor(self.edges, dtype=torch.long).reshape(-1, 2).T

    @property
    def edge_weight(self) -> torch.Tensor:
        return torch.tensor(self.weights, dtype=torch.float64)

    @property
    def adjacency(self) -> np.ndarray:
        return oracles.adjacency(self.num_nodes, self.edges, self.weights)

    @property
    def laplacian(self) -> np.ndarray:
        return oracles.laplacian(self.adjacency)


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 9, weighted: bool = True) -> RandomGraph:
    """Graphs of one node and up: edgeless, disconnected, with isolated nodes, duplicated edges and self-loops."""
    num_nodes = draw(st.integers(1, max_nodes))
    node = st.integers(0, num_nodes - 1)
    weight = st.floats(0.125, 8, width=32) if weighted else st.just(1.0)
    pairs = draw(st.lists(st.tuples(node, node, weight), max_size=3 * num_nodes))
    entries = [(i, j, w) for i, j, w in pairs] + [(j, i, w) for i, j, w in pairs if i != j]
    entries = draw(st.permutations(entries))
    return RandomGraph(num_nodes, [(i, j) for i, j, _ in entries], [w for *_, w in entries])


def signals(num_nodes: int, channels: int, seed: int = 0) -> torch.Tensor:
    """Normal signals in float64."""
    return torch.randn(num_nodes, channels, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def ring(num_nodes: int) -> torch.Tensor:
    """Edge list of a ring, both directions."""
    here = torch.arange(num_nodes)
    there = (here + 1) % num_nodes
    return torch.stack([torch.cat([here, there]), torch.cat([there, here])])


def disjoint_union(edge_indices: list[torch.Tensor], sizes: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Edge list of several graphs as one, and the graph of each node."""
    offsets = np.cumsum([0, *sizes[:-1]]).tolist()
    edges = torch.cat([edges + offset for edges, offset in zip(edge_indices, offsets, strict=True)], dim=1)
    return edges, torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))


def edge_features(graph: RandomGraph, edge_dim: int, seed: int = 0, distinct: int = 3) -> torch.Tensor:
    """Features of the edges, the same for both directions, some of them shared by several edges."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(distinct, edge_dim))
    of_pair: dict[tuple[int, int], int] = {}
    for i, j in graph.edges:
        of_pair.setdefault((min(i, j), max(i, j)), int(random.integers(distinct)))
    chosen = [of_pair[min(i, j), max(i, j)] for i, j in graph.edges]
    return torch.from_numpy(rows[chosen].reshape(-1, edge_dim))
