r"""Weisfeiler-Lehman colours of nodes, and how often each one that the training graphs have occurs in a graph.

The colour of a node at depth 0 is its category; at depth :math:`h + 1` it stands for its own colour and the multiset of
the colours of its neighbours at depth :math:`h`, each with the category of the edge. A colour is a hash of 64 bits of
all this, so that it means the same in every set of graphs, and a model stores no table of signatures: the multiset is
hashed by the sum of the hashes of its members, in any order. Among a million colours, two are equal by chance with a
probability of one in thirty million.

A category is what labels say, and attributes that are whole numbers in all training graphs. Other attributes are no
part of a colour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.graphs import GraphSet

Colors = NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
LARGEST_CATEGORY = 2**31  # an attribute beyond this is a number, not a category
MOST_DEPTH = 64  # of a stored vocabulary


def mix(values: Colors) -> Colors:
    """Each number as one that looks random: the last step of Steele's SplitMix64, which is invertible."""
    values = values + _ODD
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return values ^ (values >> np.uint64(31))


def colors_of(graphs: GraphSet, depth: int, nodes: tuple[int, ...], edges: tuple[int, ...]) -> Colors:
    """The colours of all nodes at each depth, shape ``(depth + 1, N)``.

    Args:
        graphs: The graphs.
        depth: The largest depth.
        nodes: The columns of the attributes of nodes that are categories.
        edges: The columns of the attributes of edges that are.
    """
    colors = np.empty((depth + 1, len(graphs.degree)), np.uint64)
    colors[0] = _categories(len(graphs.degree), graphs.labels, graphs.attributes, nodes)
    kinds = _categories(len(graphs.neighbor), graphs.edge_labels, graphs.edge_attributes, edges)
    neighbor = np.repeat(graphs.node_ptr[:-1], graphs.num_directed_edges) + graphs.neighbor
    ends = np.concatenate([[0], np.cumsum(graphs.degree, dtype=np.int64)])
    for h in range(depth):
        total = np.concatenate(
            [np.zeros(1, np.uint64), np.cumsum(mix(colors[h][neighbor] * _ODD + kinds), dtype=np.uint64)]
        )
        colors[h + 1] = mix(mix(colors[h]) * _ODD + (total[ends[1:]] - total[ends[:-1]]))  # modulo 2**64
    return colors


def _categories(count: int, labels: NDArray | None, attributes: NDArray | None, columns: tuple[int, ...]) -> Colors:
    """A hash of the labels and of some attributes of each row."""
    hashes = np.zeros(count, np.uint64)
    parts = [] if labels is None else list(labels.T)
    parts += [] if attributes is None else [attributes[:, column] for column in columns]
    for part in parts:
        hashes = mix(hashes * _ODD + _whole(part).astype(np.int64).view(np.uint64))
    return hashes


def _whole(values: NDArray) -> NDArray:
    """The values, those that are no category of training graphs as one that no graph of training has."""
    if values.dtype.kind != "f":
        return values
    is_category = (np.rint(values) == values) & (np.abs(values) < LARGEST_CATEGORY)
    return np.where(is_category, values, LARGEST_CATEGORY)


def _whole_columns(attributes: NDArray | None) -> tuple[int, ...]:
    """The columns whose values are all whole numbers."""
    if attributes is None:
        return ()
    whole = ((np.rint(attributes) == attributes) & (np.abs(attributes) < LARGEST_CATEGORY)).all(axis=0)
    return tuple(np.flatnonzero(whole).tolist())


def graph_of_nodes(graphs: GraphSet) -> NDArray[np.int64]:
    """The number of the graph of each node."""
    return np.repeat(np.arange(len(graphs)), graphs.num_nodes)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The colours that training graphs have: each has a column.

    Args:
        colors: The colours at each depth, sorted.
        nodes: The columns of the attributes of nodes that are categories.
        edges: The columns of the attributes of edges that are.
    """

    colors: tuple[Colors, ...]
    nodes: tuple[int, ...] = ()
    edges: tuple[int, ...] = ()

    @classmethod
    def of(cls, graphs: GraphSet, depth: int, least: int = 1, most: int | None = None) -> Vocabulary:
        """The colours of training graphs.

        Args:
            graphs: The training graphs.
            depth: The largest depth.
            least: Number of graphs that must have a colour.
            most: Largest number of colours; those of most graphs are kept.
        """
        nodes, edges = _whole_columns(graphs.attributes), _whole_columns(graphs.edge_attributes)
        graph = graph_of_nodes(graphs)
        found, counts = [], []
        for colors in colors_of(graphs, depth, nodes, edges):
            pairs = np.unique(np.stack([colors, graph.astype(np.uint64)]), axis=1)  # each colour once a graph
            values, of_graphs = np.unique(pairs[0], return_counts=True)
            found.append(values[of_graphs >= least])
            counts.append(of_graphs[of_graphs >= least])
        if most is not None and sum(map(len, found)) > most:
            order = np.argsort(-np.concatenate(counts), kind="stable")[:most]  # of equally frequent ones the shallower
            kept = np.zeros(sum(map(len, found)), np.bool_)
            kept[order] = True
            starts = np.cumsum([0, *map(len, found)])
            found = [each[kept[start:stop]] for each, start, stop in zip(found, starts, starts[1:], strict=False)]
        return cls(tuple(found), nodes, edges)

    @property
    def depth(self) -> int:
        """The largest depth."""
        return len(self.colors) - 1

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first column of each depth, and the number of columns."""
        return np.cumsum([0, *map(len, self.colors)])

    def all_colors(self, graphs: GraphSet) -> Colors:
        """The colours of all nodes at each depth, shape ``(depth + 1, N)``."""
        return colors_of(graphs, self.depth, self.nodes, self.edges)

    def places(self, colors: Colors) -> NDArray[np.int64]:
        """The column of each colour, or -1 for a colour that no training graph has; the shape stays."""
        places = np.full(colors.shape, -1, np.int64)
        for h, (known, start) in enumerate(zip(self.colors, self.starts, strict=False)):
            if len(known):
                place = np.minimum(np.searchsorted(known, colors[h]), len(known) - 1)
                places[h] = np.where(known[place] == colors[h], place + start, -1)
        return places

    def to_dict(self) -> dict[str, Any]:
        """What a file holds of it beside its colours."""
        return {"nodes": list(self.nodes), "edges": list(self.edges)}

    def arrays(self) -> dict[str, NDArray]:
        """The colours as a file holds them: safetensors and PyTorch prefer signed numbers."""
        return {f"colors.{h}": colors.view(np.int64) for h, colors in enumerate(self.colors)}

    @classmethod
    def stored(
        cls, values: Mapping[str, Any], arrays: Mapping[str, NDArray], attributes: int, edges: int
    ) -> Vocabulary:
        """The vocabulary of a file.

        Args:
            values: What :meth:`to_dict` wrote.
            arrays: What :meth:`arrays` wrote, and others.
            attributes: Number of attributes of the nodes of training graphs.
            edges: Number of attributes of their edges.

        Raises:
            ValueError: The values are not those of a vocabulary; the message names them.
        """
        columns = {}
        for name, width in (("nodes", attributes), ("edges", edges)):
            given = values.get(name)
            known = isinstance(given, list) and all(type(place) is int and 0 <= place < width for place in given)
            if not known or sorted(set(given or ())) != given:
                raise ValueError(f"the columns of {name} are {str(given)[:100]}, expected numbers below {width}")
            columns[name] = tuple(given)
        names = [name for name in arrays if name.startswith("colors.")]
        if not 1 <= len(names) <= MOST_DEPTH or set(names) != {f"colors.{h}" for h in range(len(names))}:
            raise ValueError(f"it has {len(names)} lists of colours, expected colors.0, colors.1, ...")
        lists = []
        for h in range(len(names)):
            array = arrays[f"colors.{h}"]
            if array.ndim != 1 or array.dtype != np.int64:
                raise ValueError(f"colors.{h} has shape {array.shape} and type {array.dtype}, expected 64-bit numbers")
            colors = np.ascontiguousarray(array).view(np.uint64)
            if (colors[1:] <= colors[:-1]).any():
                raise ValueError(f"colors.{h} is not sorted")
            lists.append(colors)
        return cls(tuple(lists), columns["nodes"], columns["edges"])
