"""Convert the arrays of a user to one type each, or raise an error that names the wrong value and its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bankgcn.data.errors import GraphError
from bankgcn.data.target_values import TargetError, encode_targets
from bankgcn.messages import Message

if TYPE_CHECKING:
    from torch import Tensor

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


def check_widths(labels: NDArray[np.unsignedinteger], widths: int | Sequence[int] | None) -> tuple[int, ...]:
    """Number of values of each column of labels; by default one more than the largest."""
    columns = labels.shape[1]
    needed = tuple(int(labels[:, column].max(initial=0)) + 1 for column in range(columns))
    if widths is None:
        return needed
    wanted = (widths,) * columns if isinstance(widths, int | np.integer) else tuple(int(width) for width in widths)
    if len(wanted) != columns:
        raise GraphError(f"there are {len(wanted)} label_widths for {columns} columns of labels")
    for column in range(columns):
        if needed[column] > wanted[column] and len(labels):
            node = int(labels[:, column].argmax())
            raise GraphError(
                f"labels: column {column} of node {node} is {needed[column] - 1}, "
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
