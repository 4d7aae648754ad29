r"""Encodings of where a node is in its graph, as further features of nodes, computed from the edges alone.

Each column is the diagonal of a polynomial of the shift :math:`\tilde L`: a number for each node that depends neither
on the order of the nodes nor on the choice of eigenvectors, also where eigenvalues are repeated. An encoding is a row
of :data:`ENCODINGS`: the Chebyshev coefficients of its polynomials. With :math:`u_i` and :math:`\lambda_i` the
eigenvectors and eigenvalues of the normalised Laplacian, the diagonal of a polynomial :math:`p` has the entries

.. math:: p(\tilde L)_{vv} = \sum_i u_i(v)^2 \, p(\lambda_i - 1).

A set holds the values as they are computed, and a spec, JSON: their names and, after :func:`fit`, the mean and the
deviation of each column in the training graphs, by which a network gets them. A model's file has the fitted spec.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data import GraphError
from bankgcn.messages import Message, Option, advise
from bankgcn.settings import pick

if TYPE_CHECKING:
    from bankgcn.data.graphs import GraphSet, Indices
    from bankgcn.spectral.shift import GraphShift

EncodingSpec = Mapping[str, Any]
Floats = NDArray[np.float64]

STEPS = 20  # of the random walk
BUMPS = 16  # over the spectrum
DEGREE = 31  # of the polynomials: with it, the bumps are not negative and their sum is 1
MAX_NODES = 20_000  # of one graph: the time grows with nodes times edges: 22 s for 40,000 edges
COLUMNS_AT_ONCE = 32  # of the identity matrix, as in the compiled twin
VALUES_AT_ONCE = 1 << 19  # of a piece: some stay in the cache
GRID = 2.0**24  # numbers up to 1 on this grid are exact in single precision
OFFSET = (math.sqrt(5) - 1) / 2  # irrational, so that no fraction that graphs have is where rounding changes
LEAST_DEVIATION = 1e-6  # a column that varies less is constant: its differences are rounding


def _return_probabilities() -> Floats:
    r"""The chance that a random walk is back after 1, 2, ..., 20 steps.

    :math:`(D^{-1}A)^k` has the diagonal of :math:`(-\tilde L)^k`; for a node without edges, it is 0.
    """
    from bankgcn.spectral.basis import BASES

    powers = BASES["monomial"].to_chebyshev(STEPS).numpy()
    return ((-1.0) ** np.arange(STEPS + 1)[:, None] * powers)[1:]


def _spectral_density() -> Floats:
    r"""The share of the spectrum around each of 16 frequencies, as the node sees it.

    The bump around :math:`\lambda_j = 1 + x_j`, with :math:`x_j` a Chebyshev node, is Jackson's approximation of a unit
    mass: :math:`\frac{1}{16} \sum_{k=0}^{31} g_k (2 - \delta_{k0}) T_k(x_j) T_k(x)`.
    """
    from bankgcn.spectral.basis import chebyshev_nodes, chebyshev_values

    terms = DEGREE + 1
    k, angle = np.arange(terms), math.pi / (terms + 1)
    jackson = ((terms - k + 1) * np.cos(k * angle) + np.sin(k * angle) / math.tan(angle)) / (terms + 1)
    values = chebyshev_values(chebyshev_nodes(BUMPS), DEGREE).numpy()
    return (values * (jackson * np.where(k == 0, 1, 2))[:, None]).T / BUMPS


ENCODINGS: dict[str, Callable[[], Floats]] = {"rwse": _return_probabilities, "laplacian": _spectral_density}
"""Each encoding: the Chebyshev coefficients of its columns, shape ``(columns, at most DEGREE + 1)``."""


@cache
def _coefficients(name: str) -> Floats:
    """The Chebyshev coefficients of an encoding, shape ``(columns, DEGREE + 1)``."""
    rows = pick(ENCODINGS, name, "encoding")()
    return np.pad(rows, ((0, 0), (0, DEGREE + 1 - rows.shape[1])))


def num_columns(spec: EncodingSpec) -> int:
    """Number of columns; 0 without encodings."""
    return sum(len(_coefficients(name)) for name in encoding_names(spec))


def encoding_names(spec: EncodingSpec) -> list[str]:
    """Names of the encodings."""
    return list(spec.get("names", ()))


def column_names(spec: EncodingSpec) -> list[str]:
    """Names of the columns, such as ``rwse 1``."""
    counted = ((name, len(_coefficients(name))) for name in encoding_names(spec))
    return [f"{name} {number}" for name, count in counted for number in range(1, count + 1)]


def with_encodings(graphs: GraphSet, names: Sequence[str]) -> GraphSet:
    """The graphs with these encodings of their nodes and no others; as computed, until :func:`fit` scales them.

    Args:
        graphs: The graphs.
        names: Names in :data:`ENCODINGS`.

    Raises:
        GraphError: A graph is too large.
    """
    if encoding_names(graphs.encoding_spec) == list(names):
        return graphs
    if not names:
        return replace(graphs, encodings=None, encoding_spec={})
    return replace(graphs, encodings=node_encodings(graphs, names), encoding_spec={"names": list(names)})


def fit(graphs: GraphSet, train: Indices) -> GraphSet:
    """The graphs with encodings that have mean 0 and deviation 1 over the nodes of the training graphs.

    A column that is constant there becomes 0 there.

    Args:
        graphs: The graphs; without encodings, they are returned unchanged.
        train: The training graphs.
    """
    if graphs.encodings is None:
        return graphs
    rows = graphs[train].encodings
    assert rows is not None
    numbers = rows.astype(np.float64)
    center, width = np.zeros(numbers.shape[1]), np.ones(numbers.shape[1])
    if len(numbers):
        center, deviation = numbers.mean(axis=0), numbers.std(axis=0)
        width = np.where(deviation > LEAST_DEVIATION, deviation, 1.0)
    names = encoding_names(graphs.encoding_spec)
    return replace(graphs, encoding_spec={"names": names, "center": center.tolist(), "width": width.tolist()})


def conform(graphs: GraphSet, expected: EncodingSpec) -> GraphSet:
    """The graphs with the encodings that a network expects: those of the fitted spec, and none if it is empty."""
    graphs = with_encodings(graphs, encoding_names(expected))
    return graphs if graphs.encoding_spec == expected else replace(graphs, encoding_spec=dict(expected))


def scaled(encodings: NDArray[np.float32], spec: EncodingSpec) -> NDArray[np.float32]:
    """The columns that a network gets; as they are, if the spec is not fitted."""
    if "center" not in spec:
        return encodings
    return ((encodings - np.asarray(spec["center"])) / np.asarray(spec["width"])).astype(np.float32)


def node_encodings(graphs: GraphSet, names: Sequence[str]) -> NDArray[np.float32]:
    """The encodings of all nodes, shape ``(N, columns)``, between 0 and 1.

    They are rounded to multiples of 2^-24. So nodes that a symmetry of the graph exchanges get the same bits, though
    sums over their neighbours are added in another order, and the compiled code merges them.

    Args:
        graphs: The graphs. Weights of edges count, as in the shift.
        names: Names in :data:`ENCODINGS`.

    Raises:
        GraphError: A graph has more than ``MAX_NODES`` nodes.
    """
    for graph in np.flatnonzero(graphs.num_nodes > MAX_NODES)[:1]:
        what = f"graph {graph} of {graphs.name or 'the set'} has {graphs.num_nodes[graph]:,} nodes"
        wrong = "{given}: {what}, more than the {limit} for which encodings are computed"
        advice = [advise("encoding", "none", "leaves them out")]
        given = Option("encoding", ",".join(names))
        raise GraphError(Message(wrong, given=given, what=what, limit=f"{MAX_NODES:,}", advice=advice))
    polynomials = np.concatenate([_coefficients(name) for name in names])
    result = np.empty((len(graphs.degree), len(polynomials)), np.float32)
    for chosen in _pieces(graphs.num_nodes):
        piece = graphs[chosen]
        diagonals, values = chebyshev_diagonals(piece, DEGREE), np.zeros((len(piece.degree), len(polynomials)))
        for k, column in enumerate(polynomials.T):  # a product of matrices may round a row by the number of rows
            values += diagonals[:, [k]] * column
        result[_nodes_of(graphs, chosen)] = np.floor(values * GRID + OFFSET) / GRID
    return result


def chebyshev_diagonals(graphs: GraphSet, degree: int) -> Floats:
    r"""The diagonals of :math:`T_0(\tilde L), \dots, T_{degree}(\tilde L)`, shape ``(N, degree + 1)``.

    As :math:`2 T_j T_k = T_{j+k} + T_{|j-k|}` and the matrices are symmetric, sums over the rows of products of two
    matrices give diagonals of twice the degree. Some columns of the matrices are computed at a time.
    """
    from bankgcn.kernels import fused_for

    shift, hops = _shift(graphs), (degree + 1) // 2
    sums = np.zeros((len(graphs.degree), 2 * hops + 1))
    add = partial(_add_row_sums, shift)
    if fused_for(shift.weight):
        from bankgcn.kernels.layer.diagonals import add_row_sums

        add = partial(add_row_sums, shift.csr)
    for first in range(0, graphs.largest, COLUMNS_AT_ONCE):
        add(graphs.node_ptr, first, hops, sums)
    diagonals = 2 * sums[:, : degree + 1]
    diagonals[:, ::2] -= 1  # T_0 is the identity; T_1 has the diagonal 0, as there are no self-loops
    return diagonals


def _add_row_sums(shift: GraphShift, node_ptr: NDArray[np.int64], first: int, hops: int, sums: Floats) -> None:
    """The plain twin of :func:`bankgcn.kernels.layer.diagonals.add_row_sums`."""
    import torch

    from bankgcn.spectral.chebyshev import polynomials

    column = np.arange(len(sums)) - np.repeat(node_ptr[:-1], np.diff(node_ptr)) - first
    rows = np.flatnonzero((column >= 0) & (column < COLUMNS_AT_ONCE))
    identity = torch.zeros(len(sums), COLUMNS_AT_ONCE, dtype=torch.float64)
    identity[rows, column[rows]] = 1
    before, total = identity, torch.from_numpy(sums)
    for k, now in enumerate(polynomials(shift, identity, hops)):
        total[:, 2 * k] += (now * now).sum(1)
        if k:
            total[:, 2 * k - 1] += (now * before).sum(1)
        before = now


def _shift(graphs: GraphSet) -> GraphShift:
    """The shift of all graphs in double precision."""
    import torch

    from bankgcn.data.batch import pointers
    from bankgcn.spectral.shift import GraphShift, normalize

    row = torch.from_numpy(np.repeat(np.arange(len(graphs.degree)), graphs.degree))
    first = np.repeat(graphs.node_ptr[:-1], graphs.num_directed_edges)
    col = torch.from_numpy(first + graphs.neighbor.astype(np.int64))
    weight = torch.ones(len(row), dtype=torch.float64)
    if graphs.edge_weight is not None:
        weight = torch.from_numpy(graphs.edge_weight.astype(np.float64))
    degree = weight.new_zeros(len(graphs.degree)).index_add(0, row, weight)
    rowptr = torch.from_numpy(pointers(graphs.degree.astype(np.int64)))
    return GraphShift(rowptr, col, normalize(row, col, weight, degree), row)


def _pieces(num_nodes: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Numbers of graphs of similar size, with a bounded number of nodes together."""
    order = np.argsort(num_nodes, kind="stable")
    piece = np.cumsum(num_nodes[order]) // (VALUES_AT_ONCE // COLUMNS_AT_ONCE)
    yield from (part for part in np.split(order, np.flatnonzero(np.diff(piece)) + 1) if len(part))


def _nodes_of(graphs: GraphSet, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of the nodes of some graphs, in the order of the graphs."""
    from bankgcn.data.batch import pointers, spans

    counts = graphs.num_nodes[chosen]
    return spans(graphs.node_ptr[chosen], counts, pointers(counts))


def check_encodings(encodings: Any, spec: Any, num_nodes: int) -> None:
    """Raise unless an array holds the encodings of a spec, for this number of nodes."""
    if encodings is None and not spec:
        return
    check_encoding_spec(spec)
    shape = (num_nodes, num_columns(spec))
    if encodings is None or encodings.shape != shape or encodings.dtype != np.float32:
        found = "none" if encodings is None else f"shape {encodings.shape} and dtype {encodings.dtype}"
        raise GraphError(f"encodings have {found}, expected {shape} in float32 for {', '.join(encoding_names(spec))}")


def check_encoding_spec(spec: Any, fitted: bool = False) -> None:
    """Raise unless a value of a file is a spec of encodings.

    Args:
        spec: The value.
        fitted: Whether it must have a scale.

    Raises:
        ValueError: The message names the entry and its value.
    """
    names = spec.get("names") if isinstance(spec, Mapping) else None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise GraphError(f"encodings are {spec!r}, expected names")
    for name in names:
        pick(ENCODINGS, name, "encoding")
    if len(set(names)) < len(names):
        raise GraphError(f"encodings are {names!r}: one is there twice")
    if not fitted and "center" not in spec and "width" not in spec:
        return
    for entry in ("center", "width"):
        values = spec.get(entry)
        numbers = isinstance(values, list) and all(type(value) in (int, float) for value in values)
        if not numbers or len(values) != num_columns(spec) or not np.isfinite(values).all():
            raise GraphError(f"{entry} of the encodings is {values!r}, expected {num_columns(spec)} finite numbers")
    if min(spec["width"]) <= 0:
        raise GraphError(f"width of the encodings is {spec['width']!r}, expected positive numbers")
