"""Checks of edge lists and matrices before a shift is built; each error names the edge or the node."""

from __future__ import annotations

import torch
from torch import Tensor

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
