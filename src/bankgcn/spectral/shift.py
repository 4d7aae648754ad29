r"""The graph shift :math:`\tilde L = L - I = -D^{-1/2} A D^{-1/2}`, built and checked once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from bankgcn.kernels.layer.filter_bank import ShiftArrays


class GraphShift:
    r"""The shifted normalised Laplacian :math:`\tilde L = L - I` in CSR form.

    Its spectrum is that of :math:`L`, moved from :math:`[0, 2]` to :math:`[-1, 1]`, so Chebyshev polynomials apply
    without an estimate of the largest eigenvalue. Its diagonal is zero: each entry is an edge of the graph. A batch of
    graphs is block diagonal.

    Conventions: self-loops are removed, the weights of duplicate edges are added, and an isolated node has a zero
    row (:math:`D^{-1/2} := 0`, hence :math:`\lambda = 1` there).

    Build it with :meth:`from_edges` or :meth:`of`; the constructor takes arrays that are already normalised. The edges
    of a shift are fixed; its weights can be replaced by the same number of weights.

    Args:
        rowptr: Index of the first entry of each row, shape ``(num_nodes + 1,)``.
        col: Column of each entry, shape ``(num_entries,)``.
        weight: Value of each entry of :math:`\tilde L`, shape ``(num_entries,)``.
        row: Row of each entry, shape ``(num_entries,)``; computed from ``rowptr`` at its first use.

    Raises:
        ValueError: The arrays do not have these shapes. Pointers and columns out of range raise it at their first use.
    """

    def __init__(self, rowptr: Tensor, col: Tensor, weight: Tensor, row: Tensor | None = None):
        if rowptr.dim() != 1 or col.dim() != 1 or not rowptr.numel():
            raise ValueError(
                f"rowptr and col have shapes {tuple(rowptr.shape)} and {tuple(col.shape)}, "
                "expected one dimension each, and num_nodes + 1 pointers"
            )
        if not are_integers(rowptr) or not are_integers(col):
            raise ValueError(f"rowptr and col have dtypes {rowptr.dtype} and {col.dtype}, expected integers")
        self._rowptr, self._col = rowptr, col
        self.weight = weight
        if row is not None:
            self._check_size("row", row)
        self._row = row

    @classmethod
    def of(
        cls,
        edge_index: Tensor | GraphShift,
        edge_weight: Tensor | None = None,
        *,
        num_nodes: int,
        dtype: torch.dtype | None = None,
    ) -> GraphShift:
        """The shift of edges in any supported form.

        Args:
            edge_index: A ``GraphShift`` (returned in ``dtype``), an edge list of shape ``(2, num_edges)``, PyG's
                ``EdgeIndex``, or a square ``torch.sparse`` adjacency whose values are the edge weights.
            edge_weight: One weight per edge of an edge list. ``None`` means 1 for each.
            num_nodes: Number of nodes, which an edge list does not contain.
            dtype: Precision of the result; by default that of ``edge_weight``, or torch's default.
        """
        if isinstance(edge_index, GraphShift):
            if edge_weight is not None:
                raise ValueError("a GraphShift already contains its weights: edge_weight must be None")
            return edge_index if dtype is None else edge_index.to(dtype)
        edge_index, edge_weight = edge_list(edge_index, edge_weight, num_nodes)
        return cls.from_edges(edge_index, edge_weight, num_nodes=num_nodes, dtype=dtype)

    @classmethod
    def from_edges(
        cls,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        *,
        num_nodes: int,
        dtype: torch.dtype | None = None,
    ) -> GraphShift:
        """The shift of an undirected edge list that contains every edge in both directions.

        Bad input raises a ``ValueError``: indices out of range, NaN, infinite or negative weights, an edge without its
        reverse, two directions of different weight, weights whose sum at a node is too large for their type. Inside
        ``torch.compile`` and ``torch.export`` the values are unknown, so these checks are skipped.
        """
        if edge_index.dim() != 2 or edge_index.size(0) != 2:
            raise ValueError(f"edge_index has shape {tuple(edge_index.shape)}, expected (2, num_edges)")
        if not are_integers(edge_index):
            raise ValueError(f"edge_index has dtype {edge_index.dtype}, expected integers")
        if edge_weight is not None and edge_weight.shape != edge_index.shape[1:]:
            raise ValueError(
                f"edge_weight has shape {tuple(edge_weight.shape)}, expected ({edge_index.size(1)},): one per edge"
            )
        if dtype is None:
            floating = edge_weight is not None and edge_weight.is_floating_point()
            dtype = edge_weight.dtype if edge_weight is not None and floating else torch.get_default_dtype()
        # Degrees are sums, computed at least in float32: half precision cannot even count to a thousand.
        working = torch.promote_types(dtype, torch.float32)
        row, col = edge_index.long().unbind()
        if edge_weight is None:
            weight = torch.ones(row.shape, dtype=working, device=row.device)
        else:
            weight = edge_weight.to(working)

        if torch.compiler.is_compiling():
            row, col, weight = _sort_entries(row, col, weight)
        else:
            check_edges(row, col, weight, num_nodes)
            row, col, weight = _merge(row, col, weight, num_nodes)
            check_symmetric(row, col, weight, num_nodes)

        degree = weight.new_zeros(num_nodes).index_add(0, row, weight)
        if not torch.compiler.is_compiling():
            check_degrees(degree)
        shifted = normalize(row, col, weight, degree)
        rowptr = torch.searchsorted(row, torch.arange(num_nodes + 1, device=row.device))
        return cls(rowptr, col, shifted.to(dtype), row)

    def __call__(self, x: Tensor) -> Tensor:
        r""":math:`\tilde L x`, the sum over the neighbours of each node; shape ``(num_nodes, channels)`` as ``x``."""
        messages = self.weight.unsqueeze(-1) * x[self.col]
        return torch.zeros_like(x, dtype=messages.dtype).index_add(0, self.row, messages)

    @property
    def rowptr(self) -> Tensor:
        """Index of the first entry of each row, shape ``(num_nodes + 1,)``."""
        return self._rowptr

    @property
    def col(self) -> Tensor:
        """Column of each entry, shape ``(num_entries,)``."""
        return self._col

    @property
    def weight(self) -> Tensor:
        r"""Value of each entry of :math:`\tilde L`, shape ``(num_entries,)``; can be set."""
        return self._weight

    @weight.setter
    def weight(self, weight: Tensor) -> None:
        self._check_size("weight", weight)
        self._weight = weight
        self._csr: ShiftArrays | None = None  # a copy for the compiled passes, weights included

    @property
    def row(self) -> Tensor:
        """Row of each entry, shape ``(num_entries,)``."""
        if self._row is None:
            if not torch.compiler.is_compiling() and not self.rowptr.is_meta:
                check_structure(self.rowptr, self.col)  # a wrong output_size would write out of range
            nodes = torch.arange(self.num_nodes, device=self.rowptr.device)
            self._row = nodes.repeat_interleave(self.rowptr.diff(), output_size=self.col.numel())
        return self._row

    @property
    def csr(self) -> ShiftArrays:
        """The same matrix in the form that the compiled passes take; built once."""
        if self._csr is None:
            from bankgcn.kernels.layer.filter_bank import shift_arrays

            self._csr = shift_arrays(self.rowptr, self.col, self.weight)
        return self._csr

    @property
    def num_nodes(self) -> int:
        """Number of nodes, of the whole batch if there are several graphs."""
        return self.rowptr.numel() - 1

    @property
    def num_entries(self) -> int:
        """Number of stored entries: two for every undirected edge."""
        return self.col.numel()

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the entries."""
        return self.weight.dtype

    @property
    def device(self) -> torch.device:
        """Device of the entries."""
        return self.weight.device

    def to(self, target: torch.dtype | torch.device | str) -> GraphShift:
        """The same shift in another precision or on another device."""
        weight = self.weight.to(target)
        if weight is self.weight:
            return self
        rowptr, col = self.rowptr.to(weight.device), self.col.to(weight.device)
        return GraphShift(rowptr, col, weight, None if self._row is None else self._row.to(weight.device))

    def to_dense(self) -> Tensor:
        r""":math:`\tilde L` as a dense matrix, shape ``(num_nodes, num_nodes)``."""
        dense = self.weight.new_zeros(self.num_nodes, self.num_nodes)
        return dense.index_put((self.row, self.col), self.weight, accumulate=True)

    def _check_size(self, name: str, values: Tensor) -> None:
        if values.shape != self.col.shape:
            raise ValueError(
                f"{name} has shape {tuple(values.shape)}, expected ({self.num_entries},): one for each entry of col"
            )

    def __repr__(self) -> str:
        return f"GraphShift(num_nodes={self.num_nodes}, num_entries={self.num_entries}, dtype={self.dtype})"


def normalize(row: Tensor, col: Tensor, weight: Tensor, degree: Tensor) -> Tensor:
    r"""The entries of :math:`-D^{-1/2} A D^{-1/2}`, given those of :math:`A` and the degree of each node."""
    connected = degree > 0
    inv_sqrt = torch.where(connected, degree, 1).rsqrt() * connected  # D^{-1/2} := 0 for an isolated node
    return -inv_sqrt[row] * weight * inv_sqrt[col]  # diag(L - I) = 0, hence no self-loops


def edge_list(edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int) -> tuple[Tensor, Tensor | None]:
    """Edge list and weights of an ``EdgeIndex``, a sparse adjacency, or an edge list itself."""
    if hasattr(edge_index, "as_tensor"):  # PyG's EdgeIndex, without importing PyG
        return edge_index.as_tensor(), edge_weight
    if edge_index.layout == torch.strided:
        return edge_index, edge_weight
    if edge_weight is not None:
        raise ValueError("the values of a sparse adjacency are the edge weights: edge_weight must be None")
    if edge_index.shape != (num_nodes, num_nodes):
        raise ValueError(f"the adjacency has shape {tuple(edge_index.shape)}, but x has num_nodes={num_nodes} rows")
    coo = edge_index.to_sparse_coo().coalesce()
    return coo.indices(), coo.values()


def _sort_entries(row: Tensor, col: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Entries sorted by row, with weight 0 for self-loops; their number does not change, as a traced shape requires.

    Duplicates are not merged. The matrix is the same, because all uses add up its entries.
    """
    row, order = row.sort()
    col, weight = col[order], weight[order]
    return row, col, weight.masked_fill(row == col, 0)


def _merge(row: Tensor, col: Tensor, weight: Tensor, num_nodes: int) -> tuple[Tensor, Tensor, Tensor]:
    """Entries sorted by row, then column, without self-loops and with the weights of duplicates added."""
    proper = row != col
    key = (row * num_nodes + col)[proper]
    key, inverse = key.unique(return_inverse=True)
    weight = weight.new_zeros(key.numel()).index_add(0, inverse, weight[proper])
    return key // max(num_nodes, 1), key % max(num_nodes, 1), weight


UNDIRECT = "torch_geometric.utils.to_undirected(edge_index, edge_weight) makes a graph undirected"


def are_integers(values: Tensor) -> bool:
    """Whether the values are integers, so that they can be used as an index."""
    return not (values.is_floating_point() or values.is_complex() or values.dtype == torch.bool)


def check_structure(rowptr: Tensor, col: Tensor) -> None:
    """Raise if the row pointers of a CSR matrix do not ascend, or a column is out of range."""
    num_nodes = rowptr.numel() - 1
    ascending = rowptr[0] == 0 and rowptr[-1] == col.numel() and bool((rowptr.diff() >= 0).all())
    if not ascending or bool(((col < 0) | (col >= num_nodes)).any()):
        raise ValueError(f"the shift has columns outside 0 to {num_nodes - 1}, or pointers that do not ascend")


def check_edges(row: Tensor, col: Tensor, weight: Tensor, num_nodes: int) -> None:
    """Raise if a node is out of range, or a weight is negative or not finite."""
    for edge in torch.nonzero((row < 0) | (row >= num_nodes) | (col < 0) | (col >= num_nodes))[:1].flatten().tolist():
        raise ValueError(
            f"edge {edge} is ({row[edge].item()}, {col[edge].item()}): out of range for num_nodes={num_nodes}"
        )
    for edge in torch.nonzero(~(weight.isfinite() & (weight >= 0)))[:1].flatten().tolist():
        raise ValueError(
            f"edge {edge} ({row[edge].item()}, {col[edge].item()}) has weight {weight[edge].item()}: "
            "weights must be finite and not negative"
        )


def check_degrees(degree: Tensor) -> None:
    """Raise if a degree is infinite: the node would get a zero row, as if it were isolated."""
    for node in torch.nonzero(~degree.isfinite())[:1].flatten().tolist():
        raise ValueError(
            f"the weights of node {node} add up to more than {str(degree.dtype).removeprefix('torch.')} can hold: "
            "divide all weights by the same number, which does not change the shift"
        )


def check_symmetric(row: Tensor, col: Tensor, weight: Tensor, num_nodes: int) -> None:
    """Raise unless the matrix is symmetric. The entries must be sorted by row and column, without duplicates."""
    key, mirrored = row * num_nodes + col, col * num_nodes + row
    mirrored, order = mirrored.sort()
    if not torch.equal(key, mirrored):
        alone = torch.nonzero(~torch.isin(key, mirrored)).flatten()
        i, j = row[alone[0]].item(), col[alone[0]].item()
        raise ValueError(
            f"the graph is directed: edge ({i}, {j}) has no reverse ({j}, {i}), and {alone.numel() - 1} "
            f"others have none; {UNDIRECT}"
        )
    # With a tolerance: sums of duplicates in another order, and poolings, round the two directions differently.
    differs = torch.nonzero(~torch.isclose(weight, weight[order], rtol=torch.finfo(weight.dtype).eps ** 0.5, atol=0))
    for edge in differs[:1].flatten().tolist():
        i, j = row[edge].item(), col[edge].item()
        raise ValueError(
            f"the weights are asymmetric: edge ({i}, {j}) weighs {weight[edge].item()}, "
            f"its reverse ({j}, {i}) {weight[order[edge]].item()}; {UNDIRECT}"
        )
