"""Checks of graphs: of the arrays that a user gives, and of those that a ``GraphSet`` holds.

The first convert arrays to one type each, and name a wrong value and its place. The others keep what compiled code
relies on, which uses the arrays as indices and checks no bounds. Their cost for the 60,000 graphs of CIFAR-10
(7 million nodes, 68 million directed edges) is about 25 ms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bankgcn.data import GraphError
from bankgcn.data.features.encodings import check_encodings
from bankgcn.data.features.graph_features import check_columns
from bankgcn.data.target_values import TargetError, encode_targets
from bankgcn.messages import Message

if TYPE_CHECKING:
    from torch import Tensor

    from bankgcn.data.graphs import GraphSet

FEW_CLASSES = 100  # so many may be empty without a question: a few graphs of a larger set need not have all classes


def as_array(values: ArrayLike | Tensor) -> NDArray:
    """A numpy array of a tensor, a list or an array."""
    from torch import Tensor

    if isinstance(values, Tensor):
        return values.detach().cpu().numpy()
    try:
        return np.asarray(values)
    except ValueError as error:
        raise GraphError(f"the rows of a list are of different lengths: {error}") from error


def check_rows(name: str, array: NDArray, count: int, what: str) -> None:
    """Raise an error unless the array has ``count`` rows."""
    if array.ndim < 1 or len(array) != count:
        raise GraphError(f"{name} has shape {array.shape}, expected ({count}, ...): one row per {what}")


def check_text(value: object, what: str) -> None:
    r"""Raise an error if a text cannot be written to a file in UTF-8; of lists and tables, look at all texts.

    JSON can write half a character, as in ``"\ud800"``. Python reads it, and fails when it writes it.

    Args:
        value: A text, a list or a table of them, or anything else.
        what: What the message calls the text.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            half = value[error.start]
            raise GraphError(
                f"{what} {value[:40]!r} holds {half!r}, half a character, which no file can keep: correct the text"
            ) from error
    elif isinstance(value, Mapping):
        check_text([*value, *value.values()], what)
    elif isinstance(value, list | tuple):
        for each in value:
            check_text(each, what)


def check_num_nodes(num_nodes: ArrayLike | Tensor) -> NDArray[np.int64]:
    """Number of nodes of each graph."""
    counts = _integers("num_nodes", as_array(num_nodes))
    if counts.ndim != 1:
        raise GraphError(f"num_nodes has shape {counts.shape}, expected (num_graphs,)")
    for graph in np.flatnonzero(counts < 0)[:1]:
        raise GraphError(f"graph {graph} has {counts[graph]} nodes")
    return counts.astype(np.int64, copy=False)


def check_edge_index(edge_index: ArrayLike | Tensor, name: str = "edge_index") -> NDArray[np.integer]:
    """The edge list as integers; ``flatten_edges`` checks that the nodes exist."""
    edges = _integers(name, as_array(edge_index))
    if edges.ndim != 2 or len(edges) != 2:
        raise GraphError(f"{name} has shape {edges.shape}, expected (2, num_edges)")
    return edges


def check_weights(edge_weight: ArrayLike | Tensor, edge_index: NDArray[np.integer]) -> NDArray[np.float32]:
    """Weights of edges as float32, finite and not negative, shape ``(E,)``."""
    values = as_array(edge_weight)
    if values.shape != edge_index.shape[1:] or values.dtype.kind not in "biuf":
        raise GraphError(
            f"edge_weight has shape {values.shape} and dtype {values.dtype}, "
            f"expected ({edge_index.shape[1]},) numbers: one per edge"
        )
    with np.errstate(over="ignore"):  # too large for float32 is found below
        weight = values.astype(np.float32, copy=False)
    for edge in np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[:1]:
        i, j = edge_index[:, edge]
        raise GraphError(f"edge {edge} ({i}, {j}) has weight {values[edge]}: weights must be finite and not negative")
    return weight


def check_edge_attributes(attributes: ArrayLike | Tensor, edge_index: NDArray[np.integer]) -> NDArray[np.float32]:
    """Attributes of the edges as float32, finite, shape ``(E, m)``."""
    values = as_array(attributes)
    check_rows("edge_attributes", values, edge_index.shape[1], "edge")
    if values.ndim > 2 or values.dtype.kind not in "biuf":
        raise GraphError(
            f"edge_attributes have shape {values.shape} and dtype {values.dtype}, expected numbers (edges, m)"
        )
    with np.errstate(over="ignore"):  # too large for float32 is found below
        numbers = np.ascontiguousarray(_columns(values), dtype=np.float32)
    for edge, column in np.argwhere(~np.isfinite(numbers))[:1]:
        raise GraphError(
            f"attribute {column} of edge {edge} ({edge_index[0, edge]}, {edge_index[1, edge]}) "
            f"is {_columns(values)[edge, column]}: expected a finite float32"
        )
    return numbers


def check_attributes(attributes: ArrayLike | Tensor, node_ptr: NDArray[np.int64]) -> NDArray[np.float32]:
    """Node attributes as float32, finite, shape ``(N, d)``."""
    values = as_array(attributes)
    check_rows("attributes", values, int(node_ptr[-1]), "node")
    if values.ndim > 2 or values.dtype.kind not in "biuf":
        raise GraphError(f"attributes have shape {values.shape} and dtype {values.dtype}, expected numbers (nodes, d)")
    with np.errstate(over="ignore"):  # too large for float32 is found below
        numbers = np.ascontiguousarray(_columns(values), dtype=np.float32)
    if not np.isfinite(numbers).all():
        node, column = np.argwhere(~np.isfinite(numbers))[0]
        graph = int(np.searchsorted(node_ptr, node, side="right")) - 1
        raise GraphError(
            f"attribute {column} of node {node} (node {node - node_ptr[graph]} of graph {graph}) "
            f"is {_columns(values)[node, column]}: expected a finite float32"
        )
    return numbers


def check_labels(name: str, labels: ArrayLike | Tensor, count: int, what: str) -> NDArray[np.unsignedinteger]:
    """Integer labels in the smallest type that holds them, shape ``(count, c)``."""
    values = _integers(name, as_array(labels))
    check_rows(name, values, count, what)
    if values.ndim > 2:
        raise GraphError(f"{name} have shape {values.shape}, expected ({count},) or ({count}, columns)")
    values = _columns(values)
    for row, column in np.argwhere(values < 0)[:1]:
        raise GraphError(f"{name}: column {column} of {what} {row} is {values[row, column]}: expected 0 or more")
    return values.astype(np.min_scalar_type(values.max(initial=0)))


def check_widths(
    labels: NDArray[np.unsignedinteger], widths: int | Sequence[int] | None, name: str = "labels", what: str = "node"
) -> tuple[int, ...]:
    """Number of values of each column of labels; by default one more than the largest."""
    columns = labels.shape[1]
    needed = tuple(int(labels[:, column].max(initial=0)) + 1 for column in range(columns))
    if widths is None:
        return needed
    wanted = (widths,) * columns if isinstance(widths, int | np.integer) else tuple(int(width) for width in widths)
    if len(wanted) != columns:
        raise GraphError(f"there are {len(wanted)} {name.removesuffix('s')}_widths for {columns} columns of {name}")
    for column in range(columns):
        if needed[column] > wanted[column] and len(labels):
            row = int(labels[:, column].argmax())
            raise GraphError(
                f"{name}: column {column} of {what} {row} is {needed[column] - 1}, "
                f"expected 0 to {wanted[column] - 1} by its width"
            )
    return wanted


def check_targets(
    y: ArrayLike | Tensor | None, classes: Sequence[str] | None, num_graphs: int, targets: Sequence[str] = ()
) -> tuple[NDArray | None, tuple[str, ...]]:
    """Classes as int64, or numbers as float32 with a column for each of the targets; and the names of the classes.

    Words are classes in alphabetical order, or in the order of ``classes``.
    """
    names = () if classes is None else tuple(map(str, classes))
    if y is None:
        return None, names
    values = as_array(y)
    check_rows("y", values, num_graphs, "graph")
    if values.dtype.kind in "OTU" and not len(targets):
        values, classes = _encoded(values, classes)
        names = names if classes is None else tuple(classes)
    if values.dtype.kind == "f" or len(targets):
        return _numbers(values, names, tuple(targets)), ()
    values = _integers("y", values)
    if values.ndim != 1:
        raise GraphError(f"y has shape {values.shape}, expected ({num_graphs},) for classes; float for several targets")
    for graph in np.flatnonzero(values < 0)[:1]:
        raise GraphError(f"graph {graph} has class {values[graph]}: classes are numbered from 0")
    if classes is None:
        names = _numbered_classes(values)
    for graph in np.flatnonzero(values >= len(names))[:1]:
        raise GraphError(f"graph {graph} has class {values[graph]}, but there are {len(names)}: {', '.join(names)}")
    return values.astype(np.int64), names


def _encoded(words: NDArray, classes: Sequence[str] | None) -> tuple[NDArray, Sequence[str] | None]:
    """Targets that are words, or objects of any kind, as numbers, and the names of the classes."""
    try:
        encoded = encode_targets(words.tolist(), classes=classes)
    except TargetError as error:
        where = "" if error.graph is None else f"graph {error.graph}: "
        raise GraphError(Message("{where}{what}", where=where, what=error.message)) from error
    assert encoded.y is not None
    return encoded.y, encoded.classes


def _numbered_classes(y: NDArray[np.integer]) -> tuple[str, ...]:
    """The class numbers from 0 to the largest as names, if they are not mostly numbers of no graph."""
    count = int(y.max()) + 1 if len(y) else 0
    distinct = len(np.unique(y))
    if count > max(FEW_CLASSES, 2 * distinct):
        raise GraphError(
            f"y has {distinct} different classes, but the largest is {count - 1}, which leaves {count - distinct} "
            "classes empty: number the classes from 0 without gaps, or name all of them by classes=[...]"
        )
    return tuple(map(str, range(count)))


def _numbers(values: NDArray, classes: tuple[str, ...], targets: tuple[str, ...]) -> NDArray[np.float32]:
    if classes and targets:
        raise GraphError(f"y has classes {', '.join(classes)} and targets {', '.join(targets)}: expected one of them")
    if classes or values.dtype.kind not in "biuf":
        expected = "but classes are given: expected integers" if classes else "expected numbers"
        raise GraphError(f"y has dtype {values.dtype}, {expected}")
    if values.ndim > 2:
        raise GraphError(f"y has shape {values.shape}, expected (num_graphs,) or (num_graphs, num_targets)")
    if targets and len(targets) != _columns(values).shape[1]:
        raise GraphError(f"y has shape {values.shape}, but there are {len(targets)} targets: {', '.join(targets)}")
    with np.errstate(over="ignore"):  # too large for float32 is found below
        numbers = values.astype(np.float32, copy=False)
    for place in np.argwhere(np.isinf(numbers))[:1]:
        raise GraphError(f"the target of graph {place[0]} is {values[tuple(place)]}")
    return numbers


def _integers(name: str, values: NDArray) -> NDArray[np.integer]:
    if values.size == 0:
        return values.astype(np.int64)
    if values.dtype.kind == "b":
        return values.astype(np.uint8)
    if values.dtype.kind not in "iu":
        raise GraphError(f"{name} has dtype {values.dtype}, expected integers")
    return values


def _columns(values: NDArray) -> NDArray:
    return values[:, None] if values.ndim == 1 else values


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
    _check_array("edge_attributes", graphs.edge_attributes, num_directed_edges, "float32", dimensions=2)
    _check_edges(graphs)
    _check_widths(graphs)
    _check_targets(graphs)
    check_columns(graphs.graph_features, graphs.graph_spec, len(graphs))
    check_encodings(graphs.encodings, graphs.encoding_spec, num_nodes)
    if graphs.names is not None and len(graphs.names) != len(graphs):
        raise GraphError(f"there are {len(graphs.names)} names for {len(graphs)} graphs")
    if graphs.ids is not None and len(graphs.ids) != len(graphs):
        raise GraphError(f"there are {len(graphs.ids)} ids for {len(graphs)} graphs")
    _check_encodable(graphs)


def check_values(graphs: GraphSet) -> None:
    """Raise an error unless all numbers that are not indices are finite, and weights not negative.

    Readers have checked them. A file may hold anything.
    """
    for name in ("shift", "edge_weight", "edge_attributes", "attributes", "encodings"):
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
    if not isinstance(graphs.edge_spec, dict):
        raise GraphError("the feature spec of its edges is no table")
    for row, reason in graphs.skipped:
        if not isinstance(row, int) or row < 0 or not isinstance(reason, str):
            raise GraphError(f"skipped holds ({row!r}, {reason!r}), expected the number of a row and a reason")


def _check_encodable(graphs: GraphSet) -> None:
    """Raise an error if a file in UTF-8 could not keep a text of the set: now, not when a trained model is written."""
    check_text(graphs.classes, "the class")
    check_text(graphs.targets, "the target")
    check_text(graphs.name, "the name of the set")
    check_text(graphs.feature_spec, "the node data")
    check_text(graphs.graph_spec, "the features of graphs")
    check_text(graphs.edge_spec, "the edge data")
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
    nothing = np.empty((0, 0), np.uint8)
    for name, labels, what in (("label", graphs.labels, "node"), ("edge_label", graphs.edge_labels, "edge")):
        widths = getattr(graphs, f"{name}_widths")
        if not isinstance(widths, tuple) or any(not isinstance(width, int) or width < 0 for width in widths):
            raise GraphError(f"{name}_widths are {widths!r}, expected a tuple of integers from 0")
        columns = 0 if labels is None else labels.shape[1]
        if len(widths) != columns:
            raise GraphError(f"there are {len(widths)} {name}_widths for {columns} columns of {name}s")
        check_widths(nothing if labels is None else labels, widths, f"{name}s", what)


def _check_targets(graphs: GraphSet) -> None:
    if graphs.y is None:
        return
    real = graphs.y.dtype.kind == "f"
    if graphs.targets and not real:
        raise GraphError(f"y holds classes, but its columns are called {', '.join(graphs.targets)}")
    _check_array("y", graphs.y, len(graphs), "float32" if real else "int64", graphs.y.ndim if real else 1)
    check_targets(graphs.y, graphs.classes, len(graphs), graphs.targets)
