"""Graphs for the measurements: datasets on this machine, or generated graphs of the same size in their place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from bankgcn.data.catalog import CATALOG, USUAL_FOLDERS, DataFolders, Statistics
from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import find_dataset
from bankgcn.settings import pick
from bankgcn.spectral import GraphShift


@dataclass(frozen=True, kw_only=True)
class Case:
    """A set of graphs to train on.

    Args:
        dataset: Name in the catalogue.
        graphs: Number of graphs to take, starting with ``first``.
        batch_size: Graphs per step, as in the paper.
        first: Index of the first graph.
    """

    dataset: str
    graphs: int
    batch_size: int
    first: int = 0

    def load(self, folders: DataFolders = USUAL_FOLDERS) -> GraphSet:
        """The graphs. Generated ones have the name of the dataset that they replace, and a note."""
        entry = CATALOG[self.dataset]
        if folders.locate(entry) is not None:
            return find_dataset(self.dataset, folders).load()[self.first : self.first + self.graphs]
        published = self._published
        return random_graphs(
            self.graphs, published.nodes, published.edges, published.features, published.classes, name=self.dataset
        )

    @property
    def size(self) -> float:
        """Number of nodes and edges, by the published means."""
        return self.graphs * (self._published.nodes + self._published.edges)

    @property
    def _published(self) -> Statistics:
        published = CATALOG[self.dataset].published
        assert published is not None, self.dataset
        return published


CASES: dict[str, Case] = {
    "NCI1": Case(dataset="NCI1", graphs=3288, batch_size=64),  # the size of the training part of an 8:1:1 split
    "ENZYMES": Case(dataset="ENZYMES", graphs=480, batch_size=64),
    "DD": Case(dataset="DD", graphs=942, batch_size=64),
    "CIFAR-10": Case(
        dataset="CIFAR-10", graphs=1000, batch_size=256, first=5000
    ),  # the first 5,000 are validation graphs
    "ogbg-molhiv": Case(dataset="ogbg-molhiv", graphs=8000, batch_size=256),
}


def case_named(name: str) -> Case:
    """The case of that name; upper and lower case are equal."""
    by_lower = {case.lower(): case for case in CASES}
    return pick(CASES, by_lower.get(name.lower(), name), "case")


def random_graphs(
    num_graphs: int, nodes: float, edges: float, features: int, classes: int, *, name: str = "", seed: int = 0
) -> GraphSet:
    """Random trees with additional random edges, of the given mean size, with random node labels and classes.

    Args:
        num_graphs: Number of graphs.
        nodes: Mean number of nodes.
        edges: Mean number of edges.
        features: Number of node categories.
        classes: Number of classes.
        name: Name of the set.
        seed: Seed of the random numbers.
    """
    random = np.random.default_rng(seed)
    num_nodes = random.poisson(nodes - 2, num_graphs) + 2
    start = np.cumsum(num_nodes) - num_nodes
    graph = np.repeat(np.arange(num_graphs), num_nodes)
    place = np.arange(len(graph)) - start[graph]
    child = np.flatnonzero(place > 0)
    parent = start[graph[child]] + random.integers(0, place[child])
    more = random.integers(0, num_graphs, max(0, round(num_graphs * (edges - nodes + 1))))
    ends = start[more] + random.integers(0, num_nodes[more], (2, len(more)))
    once = np.concatenate([[child, parent], ends[:, ends[0] != ends[1]]], axis=1)
    once = np.unique(np.sort(once, axis=0), axis=1)
    return GraphSet.from_edges(
        num_nodes,
        np.concatenate([once, once[::-1]], axis=1),
        labels=random.integers(0, features, len(graph)),
        label_widths=features,
        y=random.integers(0, classes, num_graphs),
        classes=tuple(map(str, range(classes))),
        name=name,
        notes=("generated, with the statistics of the dataset of this name",),
    )


def random_shift(num_edges: int, degree: int = 8, seed: int = 0) -> GraphShift:
    """The shift of one random graph whose neighbours have near indices, as in a mesh or a road network."""
    num_nodes = num_edges // degree
    random = np.random.default_rng(seed)
    node = np.arange(num_nodes).repeat(degree // 2)
    other = (node + random.integers(1, 100, node.shape)) % num_nodes
    edges = torch.from_numpy(np.stack([np.concatenate([node, other]), np.concatenate([other, node])]))
    return GraphShift.from_edges(edges, num_nodes=num_nodes, dtype=torch.float32)
