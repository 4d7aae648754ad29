"""The five numbers in a paper's table of datasets."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bankgcn.data.graphs import GraphSet


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Number and size of the graphs of a set, rounded as in papers.

    Args:
        graphs: Number of graphs.
        nodes: Mean number of nodes of a graph, to two decimals.
        edges: Mean number of undirected edges, to two decimals.
        features: Width of the node signals.
        classes: Number of classes; 0 if the targets are not classes.
    """

    graphs: int
    nodes: float
    edges: float
    features: int
    classes: int

    @classmethod
    def of(cls, graphs: GraphSet) -> Statistics:
        """The statistics of a set."""
        return cls(
            graphs=len(graphs),
            nodes=round(float(graphs.num_nodes.mean()), 2) if len(graphs) else 0.0,
            edges=round(float(graphs.num_edges.mean()), 2) if len(graphs) else 0.0,
            features=graphs.num_features,
            classes=graphs.num_classes,
        )

    def differing(self, other: Statistics) -> list[str]:
        """Names of the fields in which two statistics differ."""
        return [field.name for field in fields(self) if getattr(self, field.name) != getattr(other, field.name)]
