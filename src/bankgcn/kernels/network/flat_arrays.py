"""A set of graphs as compiled passes take it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class FlatArrays(NamedTuple):
    """The fields of a ``GraphSet`` that a network looks at; ``label_start`` is the first column of each one-hot block.

    ``alike`` says how many nodes each one stands for: it is empty if that is always one. A field that a set lacks is
    empty. All are read-only, so that it makes no difference for the compiler whether they lie in a file or in memory.
    """

    node_ptr: NDArray[np.int64]
    entry_ptr: NDArray[np.int64]
    degree: NDArray[np.unsignedinteger]
    neighbor: NDArray[np.unsignedinteger]
    shift: NDArray[np.float32]
    attributes: NDArray[np.float32]
    labels: NDArray[np.unsignedinteger]
    label_start: NDArray[np.int64]
    alike: NDArray[np.float32]


class NodeColors(NamedTuple):
    """The colours of the nodes of a set, which its subsets share: each graph is coloured once, when it is first needed.

    ``graphs`` are the numbers of a subset's graphs in the set; all other fields are those of the set.
    """

    node_ptr: NDArray[np.int64]  # (G + 1,): where the nodes of each graph start
    color: NDArray[np.int32]  # (N,): from 0 in the order of a graph's nodes
    num_colors: NDArray[np.int64]  # (G,): -1 if the graph has not been coloured yet
    graphs: NDArray[np.int64]

    @classmethod
    def unknown(cls, node_ptr: NDArray[np.int64]) -> NodeColors:
        """No graph of the set has been coloured yet."""
        graphs = np.arange(len(node_ptr) - 1)
        return cls(read_only(node_ptr), np.empty(node_ptr[-1], np.int32), np.full_like(graphs, -1), graphs)

    def of(self, chosen: NDArray[np.int64]) -> NodeColors:
        """Those of a subset."""
        return self._replace(graphs=self.graphs[chosen])


def read_only(array: NDArray) -> NDArray:
    """A view of the array that cannot be written to."""
    view = np.ascontiguousarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view
