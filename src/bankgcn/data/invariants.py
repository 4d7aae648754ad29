"""Checks of the arrays of every ``GraphSet``: compiled code uses them as indices and checks no bounds.

The cost for the 60,000 graphs of CIFAR-10 (7 million nodes, 68 million directed edges) is about 25 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.checks import check_targets, check_text, check_widths
from bankgcn.data.errors import GraphError

if TYPE_CHECKING:
    from bankgcn.data.graphs import GraphSet

TYPES = {"unsigned integers": np.unsignedinteger, "int64": np.int64, "float32": np.float32}


def check_invariants(graphs: GraphSet) -> None:
    """Raise an error unless the sizes of the arrays agree and all indices are in range.

    Values that are never used as an index, such as attributes and entries of the shift, are not read.

    Raises:
        GraphError: The message names the field, and the first graph or node that is wrong.
    """
    _check_pointers("node_ptr", graphs.node_ptr, len(graphs.node_ptr))
    _check_pointers("edge_ptr", graphs.edge_ptr, len(graphs.node_ptr))
    num_nodes, num_directed_edges = int(graphs.node_ptr[-1]), int(graphs.edge_ptr[-1])
    _check_array("degree", graphs.degree, num_nodes, "unsigned integers")
    _check_array("attributes", graphs.attributes, num_nodes, "float32", dimensions=2)
    _check_array("labels", graphs.labels, num_nodes, "unsigned integers", dimensions=2)
    _check_array("neighbor", graphs.neighbor, num_directed_edges, "unsigned integers")
    _check_array("shift", graphs.shift, num_directed_edges, "float32")
    _check_array("edge_weight", graphs.edge_weight, num_directed_edges, "float32")
    _check_array("edge_labels", graphs.edge_labels, num_directed_edges, "unsigned integers", dimensions=2)
    _check_edges(graphs)
    _check_widths(graphs)
    _check_targets(graphs)
    if graphs.names is not None and len(graphs.names) != len(graphs):
        raise GraphError(f"there are {len(graphs.names)} names for {len(graphs)} graphs")
    if graphs.ids is not None and len(graphs.ids) != len(graphs):
        raise GraphError(f"there are {len(graphs.ids)} ids for {len(graphs)} graphs")
    _check_encodable(graphs)


def check_values(graphs: GraphSet) -> None:
    """Raise an error unless all numbers that are not indices are finite, and weights not negative.

    Readers have checked them. A file may hold anything.
    """
    for name in ("shift", "edge_weight", "attributes"):
        array = getattr(graphs, name)
        if array is not None and not np.isfinite(array).all():
            raise GraphError(f"{name} holds a number that is not finite")
    if graphs.edge_weight is not None and (graphs.edge_weight < 0).any():
        raise GraphError("edge_weight holds a negative number")


def check_texts(graphs: GraphSet) -> None:
    """Raise an error unless names and notes are texts, and the feature spec is a table."""
    for name in ("classes", "targets", "names", "notes", "ids"):
        texts = getattr(graphs, name)
        if texts is not None and not (isinstance(texts, tuple) and all(isinstance(text, str) for text in texts)):
            raise GraphError(f"{name} are not texts")
    if not isinstance(graphs.name, str) or not isinstance(graphs.feature_spec, dict):
        raise GraphError("its name is no text, or its feature spec no table")
    for row, reason in graphs.skipped:
        if not isinstance(row, int) or row < 0 or not isinstance(reason, str):
            raise GraphError(f"skipped holds ({row!r}, {reason!r}), expected the number of a row and a reason")


def _check_encodable(graphs: GraphSet) -> None:
    """Raise an error if a file in UTF-8 could not keep a text of the set: now, not when a trained model is written."""
    check_text(graphs.classes, "the class")
    check_text(graphs.targets, "the target")
    check_text(graphs.name, "the name of the set")
    check_text(graphs.feature_spec, "the node data")
    if graphs.names is not None and not all(map(str.isascii, map(str, graphs.names))):
        check_text(graphs.names, "the name of a graph")


def _check_array(name: str, array: NDArray | None, rows: int, type_name: str, dimensions: int = 1) -> None:
    if array is None:
        return
    if array.ndim != dimensions or len(array) != rows or not np.issubdtype(array.dtype, TYPES[type_name]):
        raise GraphError(
            f"{name} has shape {array.shape} and dtype {array.dtype}, "
            f"expected {rows} rows in {dimensions} dimension(s) of {type_name}"
        )


def _check_pointers(name: str, ptr: NDArray[np.int64], rows: int) -> None:
    _check_array(name, ptr, rows, "int64")
    if not rows:
        raise GraphError(f"{name} has shape {ptr.shape}, expected at least one row")
    if ptr[0] != 0:
        raise GraphError(f"{name} begins with {ptr[0]}, expected 0")
    for graph in np.flatnonzero(ptr[1:] < ptr[:-1])[:1]:
        raise GraphError(f"{name} falls from {ptr[graph]} to {ptr[graph + 1]} at graph {graph}")


def _check_edges(graphs: GraphSet) -> None:
    """Raise an error unless the degrees of each graph add up to its edges, and all neighbours are in the graph."""
    edges = len(graphs.neighbor)
    for node in np.flatnonzero(graphs.degree > edges)[:1]:  # first, because the sums below could overflow
        raise GraphError(f"node {node} has degree {graphs.degree[node]}, but there are {edges} directed edges")
    degrees = _per_graph(np.add, graphs.degree, graphs.node_ptr, np.dtype(np.int64))
    for graph in np.flatnonzero(degrees != graphs.num_directed_edges)[:1]:
        raise GraphError(
            f"the degrees of graph {graph} add up to {degrees[graph]}, "
            f"but it has {graphs.num_directed_edges[graph]} directed edges"
        )
    largest = _per_graph(np.maximum, graphs.neighbor, graphs.edge_ptr, graphs.neighbor.dtype)
    for graph in np.flatnonzero((largest >= graphs.num_nodes) & (graphs.num_directed_edges > 0))[:1]:
        raise GraphError(
            f"graph {graph} has {graphs.num_nodes[graph]} nodes, but one of them has neighbour {largest[graph]}"
        )


def _per_graph(operation: np.ufunc, values: NDArray, ptr: NDArray[np.int64], dtype: np.dtype) -> NDArray:
    """Sum or maximum of the values of each graph; 0 for a graph without values."""
    result = np.zeros(len(ptr) - 1, dtype)
    filled = np.flatnonzero(ptr[1:] > ptr[:-1])  # reduceat takes an empty range for one of length 1
    if len(filled):
        result[filled] = operation.reduceat(values, ptr[filled], dtype=dtype)
    return result


def _check_widths(graphs: GraphSet) -> None:
    widths = graphs.label_widths
    if not isinstance(widths, tuple) or any(not isinstance(width, int) or width < 0 for width in widths):
        raise GraphError(f"label_widths are {widths!r}, expected a tuple of integers from 0")
    check_widths(np.empty((0, 0), np.uint8) if graphs.labels is None else graphs.labels, widths)


def _check_targets(graphs: GraphSet) -> None:
    if graphs.y is None:
        return
    real = graphs.y.dtype.kind == "f"
    if graphs.targets and not real:
        raise GraphError(f"y holds classes, but its columns are called {', '.join(graphs.targets)}")
    _check_array("y", graphs.y, len(graphs), "float32" if real else "int64", graphs.y.ndim if real else 1)
    check_targets(graphs.y, graphs.classes, len(graphs), graphs.targets)
