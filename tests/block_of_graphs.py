"""A block in the middle of some random graphs, for the tests of operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bankgcn.kernels.ops import blocks as entry

SIZES = (3, 5, 1, 0, 7, 2)  # nodes of each graph; the block is all but the first and the last


@dataclass(frozen=True)
class Block:
    """Some graphs of a call.

    Args:
        node_ptr: Start of each graph's nodes, for all graphs of the call.
        matrix: The operator of all graphs without its diagonal, dense; the pattern is symmetric.
        diagonal: The diagonal of the operator.
        multiplicity: Number of nodes that each node represents.
        first: The first graph of the block.
        last: The graph after the last one.
    """

    node_ptr: np.ndarray
    matrix: np.ndarray
    diagonal: np.ndarray
    multiplicity: np.ndarray
    first: int
    last: int

    @property
    def nodes(self) -> slice:
        """The nodes of the block."""
        return slice(int(self.node_ptr[self.first]), int(self.node_ptr[self.last]))

    @property
    def rows(self) -> int:
        """Number of nodes of the block."""
        return self.nodes.stop - self.nodes.start

    @property
    def graphs(self) -> int:
        """Number of graphs of the block."""
        return self.last - self.first

    @property
    def operator(self) -> np.ndarray:
        """The operator of the block, dense."""
        return (self.matrix + np.diag(self.diagonal))[self.nodes, self.nodes]

    @property
    def counts(self) -> np.ndarray:
        """Multiplicity of each node of the block."""
        return self.multiplicity[self.nodes]

    @property
    def graph_of_node(self) -> np.ndarray:
        """Graph of each node of the block, from 0."""
        return np.arange(self.graphs).repeat(np.diff(self.node_ptr)[self.first : self.last])

    @property
    def num_edges(self) -> int:
        """Number of directed edges of the block."""
        return int(np.count_nonzero(self.matrix[self.nodes]))

    def table(self, dtype: np.dtype) -> dict[int, Any]:
        """The entries of the block's table."""
        row, col = np.nonzero(self.matrix)
        return {
            entry.FIRST_NODE: self.nodes.start,
            entry.ROWS: self.rows,
            entry.FIRST_GRAPH: self.first,
            entry.GRAPHS: self.graphs,
            entry.NODE_PTR: self.node_ptr,
            entry.ROWPTR: np.append(0, np.cumsum(np.bincount(row, minlength=len(self.matrix)))),
            entry.COL: np.ascontiguousarray(col),
            entry.WEIGHT: self.matrix[row, col].astype(dtype),
            entry.ADJOINT_WEIGHT: self.matrix[col, row].astype(dtype),
            entry.DIAGONAL: self.diagonal.astype(dtype),
            entry.MULTIPLICITY: self.multiplicity.astype(dtype),
        }


def random_block(seed: int = 0, *, symmetric: bool = False, merged: bool = True) -> Block:
    """A block of random graphs, of which one has no nodes and one no edges.

    Args:
        seed: Seed of all random numbers.
        symmetric: Whether the operator is symmetric.
        merged: Whether nodes have multiplicities.
    """
    random = np.random.default_rng(seed)
    node_ptr = np.append(0, np.cumsum(SIZES))
    graph = np.arange(len(SIZES)).repeat(SIZES)
    n = len(graph)
    pattern = np.triu((graph[:, None] == graph) & (random.random((n, n)) < 0.6), 1)
    weight = random.uniform(0.2, 1, (n, n))
    matrix = (pattern | pattern.T) * ((weight + weight.T) / 2 if symmetric else weight)
    multiplicity = random.integers(1, 4, n).astype(np.float64) if merged else np.ones(n)
    return Block(node_ptr, matrix, random.normal(size=n), multiplicity, 1, len(SIZES) - 1)
