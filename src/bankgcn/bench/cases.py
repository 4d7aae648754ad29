"""What is measured on: real datasets where they are, else generated graphs of the same size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bankgcn.choices import pick
from bankgcn.data.catalog import CATALOG
from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import find_dataset, locate


@dataclass(frozen=True, kw_only=True)
class Case:
    """A set of graphs to train on.

    Args:
        dataset: Its name in the catalogue.
        graphs: Number of graphs to take, from ``first`` on.
        batch_size: Graphs per step, as the paper has it.
        first: Number of the first graph.
    """

    dataset: str
    graphs: int
    batch_size: int
    first: int = 0

    def load(self, data_root: str | Path | None = None) -> GraphSet:
        """The graphs; generated ones are called by the name of the set they stand in for, with a note."""
        entry = CATALOG[self.dataset]
        if locate(entry, data_root) is not None:
            return find_dataset(self.dataset, data_root).load()[self.first : self.first + self.graphs]
        published = entry.published
        assert published is not None
        return random_graphs(
            self.graphs, published.nodes, published.edges, published.features, published.classes, name=self.dataset
        )


CASES: dict[str, Case] = {
    "NCI1": Case(dataset="NCI1", graphs=3288, batch_size=64),  # as many as a split of 8:1:1 trains on
    "ENZYMES": Case(dataset="ENZYMES", graphs=480, batch_size=64),
    "DD": Case(dataset="DD", graphs=942, batch_size=64),
    "CIFAR-10": Case(dataset="CIFAR-10", graphs=1000, batch_size=256, first=5000),  # the first 5,000 validate
    "ogbg-molhiv": Case(dataset="ogbg-molhiv", graphs=8000, batch_size=256),
}


def case_named(name: str) -> Case:
    """The case of that name, in upper or lower case."""
    by_lower = {known.lower(): known for known in CASES}
    return pick(CASES, by_lower.get(name.lower(), name), "case")


def random_graphs(
    num_graphs: int, nodes: float, edges: float, features: int, classes: int, *, name: str = "", seed: int = 0
) -> GraphSet:
    """Random trees with further random edges, of the given mean size, with random signals and classes.

    Args:
        num_graphs: Number of graphs.
        nodes: Mean number of nodes.
        edges: Mean number of edges.
        features: Number of node categories.
        classes: Number of classes.
        name: Name of the set.
        seed: What they are drawn with.
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
