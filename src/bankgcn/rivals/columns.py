"""What a forest is given of a graph: columns of numbers, the same for every graph.

Molecules have RDKit's descriptors in two dimensions and counts of Morgan's environments. Other graphs have counts of
Weisfeiler-Lehman colours, their numbers of nodes and edges, and sums and means of what nodes and edges carry. Features
of graphs come last. A number that is not finite has the mean of the training graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.features.descriptors import QUICK, descriptor_columns, have_smiles
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import DESCRIPTOR_NAMES
from bankgcn.rivals.colors import Vocabulary, graph_of_nodes

DEPTH = 3  # of the colours
LEAST_GRAPHS = 2  # a colour that one training graph has says nothing about others
MOST_COLORS, LEAST_COLORS = 8192, 256
MOST_CELLS = 1 << 27  # of the table of training graphs and colours, which is held in memory
AT_ONCE = 512  # graphs whose columns are made together
CACHED = 20_000  # molecules; each takes 3 kB


_known: dict[tuple[tuple[str, ...], str], NDArray[np.float32]] = {}
"""Descriptors of molecules that were computed before: runs that follow each other have the same molecules."""


def _descriptors(smiles: Sequence[str], families: tuple[str, ...]) -> NDArray[np.float32]:
    """The descriptors of molecules, a row for each."""
    new = [each for each in dict.fromkeys(smiles) if (families, each) not in _known]
    if len(_known) + len(new) > CACHED:
        _known.clear()
        new = list(dict.fromkeys(smiles))
    if new:
        rows = np.asarray(descriptor_columns(new, families).values, np.float32)
        _known.update({(families, each): row for each, row in zip(new, rows, strict=True)})
    return np.array([_known[families, each] for each in smiles], np.float32).reshape(len(smiles), -1)


@dataclass(frozen=True, eq=False)
class GraphColumns:
    """From graphs to columns, as the training graphs fix them.

    Args:
        families: The families of descriptors of molecules; empty for other graphs.
        names: Names of the descriptors, which another version of RDKit may not have.
        vocabulary: The colours with a column; ``None`` for molecules.
        fill: The mean of each column over the training graphs, shape ``(columns,)``.
        weighted: Whether the training graphs have edge weights: then others without have the weight 1, and without
            them, those of others do not count.
    """

    families: tuple[str, ...]
    names: tuple[str, ...]
    vocabulary: Vocabulary | None
    fill: NDArray[np.float32]
    weighted: bool = False

    @classmethod
    def of(cls, train: GraphSet, quick: bool = False) -> GraphColumns:
        """The columns of these training graphs and graphs like them; of molecules quick ones, if time is short."""
        families: tuple[str, ...] = ()
        names: tuple[str, ...] = ()
        vocabulary = None
        if have_smiles(train):
            present = train.graph_spec.get("descriptors", ())  # a user may have asked for some: once is enough
            wanted = (QUICK, *DESCRIPTOR_NAMES[1:]) if quick else DESCRIPTOR_NAMES
            families = tuple(family for family in wanted if family not in present)
            names = tuple(_names(families)) if families else ()
        else:
            most = min(MOST_COLORS, max(LEAST_COLORS, MOST_CELLS // max(len(train), 1)))
            vocabulary = Vocabulary.of(train, DEPTH, LEAST_GRAPHS, most)
        unfilled = cls(families, names, vocabulary, np.zeros(0, np.float32), train.edge_weight is not None)
        rows = unfilled.rows(train)
        finite = np.isfinite(rows)
        total = np.where(finite, rows, 0).sum(axis=0, dtype=np.float64)
        return replace(unfilled, fill=(total / np.maximum(finite.sum(axis=0), 1)).astype(np.float32))

    @property
    def words(self) -> str:
        """What the columns are, for a reader."""
        if self.vocabulary is None:
            return "RDKit's descriptors and counts of Morgan's environments"
        return f"counts of Weisfeiler-Lehman colours up to depth {self.vocabulary.depth}, sums and means"

    def __call__(self, graphs: GraphSet) -> NDArray[np.float32]:
        """The columns of graphs, all of them finite."""
        rows = self.rows(graphs)
        return np.where(np.isfinite(rows), rows, self.fill)

    def rows(self, graphs: GraphSet) -> NDArray[np.float32]:
        """The columns of graphs, as they are computed."""
        parts = [graphs[start : start + AT_ONCE] for start in range(0, len(graphs), AT_ONCE)] or [graphs]
        make = self._of_molecules if self.vocabulary is None else self._of_graphs
        with np.errstate(over="ignore"):  # too large for single precision is not finite
            return np.concatenate([np.concatenate([make(part), part.graph_signals()], axis=1) for part in parts])

    def _of_molecules(self, graphs: GraphSet) -> NDArray[np.float32]:
        if not have_smiles(graphs):
            raise ValueError(
                f"{graphs.name or 'the set'} has no SMILES, from which the forest computes descriptors: give molecules "
                "as SMILES"
            )
        if not self.families:
            return np.empty((len(graphs), 0), np.float32)
        names = _names(self.families)
        lacking = [name for name in self.names if name not in names]
        if lacking:
            raise ValueError(f"this version of RDKit has no descriptor {lacking[0]!r}, which the forest was trained on")
        assert graphs.names is not None
        found = _descriptors(graphs.names, self.families).reshape(len(graphs), len(names))
        return found if tuple(names) == self.names else found[:, [names.index(name) for name in self.names]]

    def _of_graphs(self, graphs: GraphSet) -> NDArray[np.float32]:
        assert self.vocabulary is not None
        width, graph = int(self.vocabulary.starts[-1]), graph_of_nodes(graphs)
        places = self.vocabulary.places(self.vocabulary.all_colors(graphs))
        cells = (graph * width + places)[places >= 0]
        counts = np.bincount(cells, minlength=len(graphs) * width).reshape(len(graphs), width)
        sums = np.array([*_sums_and_means(graphs, self.weighted)]).T
        return np.concatenate([counts, sums], axis=1).astype(np.float32)

    def to_dict(self) -> dict[str, Any]:
        """What a file holds of it beside its arrays."""
        colors = {} if self.vocabulary is None else {"colors": self.vocabulary.to_dict()}
        return {"families": list(self.families), "names": list(self.names), "weighted": self.weighted, **colors}

    def arrays(self) -> dict[str, NDArray]:
        """Its arrays as a file holds them."""
        return {"fill": self.fill, **({} if self.vocabulary is None else self.vocabulary.arrays())}

    @classmethod
    def stored(
        cls, values: Mapping[str, Any], arrays: Mapping[str, NDArray], attributes: int, edge_attributes: int
    ) -> GraphColumns:
        """The columns of a file.

        Args:
            values: What :meth:`to_dict` wrote.
            arrays: What :meth:`arrays` wrote, and others.
            attributes: Number of attributes of the nodes of training graphs.
            edge_attributes: Number of attributes of their edges.

        Raises:
            ValueError: The values are not those of columns; the message names them.
        """
        families, names = values.get("families"), values.get("names")
        if not isinstance(families, list) or any(family not in DESCRIPTOR_NAMES for family in families):
            raise ValueError(f"its families of descriptors are {str(families)[:100]}")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"its names of descriptors are {str(names)[:100]}")
        vocabulary = None
        if "colors" in values:
            vocabulary = Vocabulary.stored(values["colors"], arrays, attributes, edge_attributes)
        fill = arrays["fill"]
        if fill.ndim != 1 or fill.dtype != np.float32 or not np.isfinite(fill).all():
            raise ValueError("its means of columns are no finite numbers in single precision")
        weighted = values.get("weighted")
        if not isinstance(weighted, bool):
            raise ValueError(f"weighted is {str(weighted)[:100]}, expected true or false")
        return cls(tuple(families), tuple(names), vocabulary, fill, weighted)


@lru_cache
def _names(families: tuple[str, ...]) -> list[str]:
    """Names of the descriptors, in the order of their columns."""
    spec = descriptor_columns(["C"], families).spec
    return [*spec["numbers"], *spec["counts"]]


def _sums_and_means(graphs: GraphSet, weighted: bool) -> Iterator[NDArray[np.float64]]:
    """The numbers of nodes and edges, and sums and means over them, of each graph: one column after another.

    Every sum goes from the first node of a graph to the last, whatever other graphs there are.
    """
    of_nodes, of_edges = graph_of_nodes(graphs), np.repeat(np.arange(len(graphs)), graphs.num_directed_edges)
    yield graphs.num_nodes.astype(np.float64)
    yield graphs.num_edges.astype(np.float64)
    numbers = [(of_nodes, graphs.attributes), (of_edges, graphs.edge_signals() if graphs.num_edge_features else None)]
    if weighted:
        ones = np.ones(len(graphs.neighbor), np.float32)
        numbers.append((of_edges, (ones if graphs.edge_weight is None else graphs.edge_weight)[:, None]))
    for graph, values in numbers:
        if values is not None:
            counts = np.maximum(np.bincount(graph, minlength=len(graphs)), 1)
            for column in values.T:
                total = np.bincount(graph, weights=column, minlength=len(graphs)).astype(np.float64, copy=False)
                yield total
                yield total / counts
