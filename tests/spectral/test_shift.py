"""The shift equals the dense formula; its conventions, the forms of edges it takes, and its errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from torch_geometric import EdgeIndex

from bankgcn.kernels import use_kernels
from bankgcn.spectral import GraphShift, Spectrum, chebyshev
from refusals import refused
from strategies import RandomGraph, graphs, ring, signals


@given(graphs())
def test_shift_equals_the_dense_formula(graph: RandomGraph) -> None:
    shift = GraphShift.from_edges(graph.edge_index, graph.edge_weight, num_nodes=graph.num_nodes)
    expected = graph.laplacian - np.eye(graph.num_nodes)
    np.testing.assert_allclose(shift.to_dense(), expected, atol=1e-12)
    x = signals(graph.num_nodes, 3)
    np.testing.assert_allclose(shift(x), expected @ x.numpy(), atol=1e-12)


@given(graphs())
def test_rows_are_sorted_merged_and_without_diagonal(graph: RandomGraph) -> None:
    shift = GraphShift.from_edges(graph.edge_index, graph.edge_weight, num_nodes=graph.num_nodes)
    entries = list(zip(shift.row.tolist(), shift.col.tolist(), strict=True))
    assert entries == sorted({(i, j) for i, j in graph.edges if i != j})
    assert shift.rowptr.tolist() == [sum(i < n for i, _ in entries) for n in range(graph.num_nodes + 1)]
    rebuilt = GraphShift(shift.rowptr, shift.col, shift.weight)  # computes its rows from the pointers
    assert torch.equal(rebuilt.row, shift.row)


def test_isolated_nodes_have_a_zero_row_and_frequency_one() -> None:
    shift = GraphShift.from_edges(torch.tensor([[0, 1], [1, 0]]), num_nodes=3)
    assert torch.equal(shift.to_dense()[2], torch.zeros(3))
    torch.testing.assert_close(Spectrum.of(shift).lam, torch.tensor([0.0, 1.0, 2.0]))


@pytest.mark.parametrize("n", [3, 8, 11])
def test_spectrum_of_a_ring(n: int) -> None:
    expected = sorted(1 - math.cos(2 * math.pi * j / n) for j in range(n))
    lam = Spectrum.of(GraphShift.from_edges(ring(n), num_nodes=n)).lam
    torch.testing.assert_close(lam, torch.tensor(expected), atol=1e-12, rtol=0)


@pytest.mark.parametrize("n", [2, 5, 9])
def test_spectrum_of_a_complete_graph(n: int) -> None:
    edges = torch.tensor([(i, j) for i in range(n) for j in range(n) if i != j]).T
    lam = Spectrum.of(GraphShift.from_edges(edges, num_nodes=n)).lam
    torch.testing.assert_close(lam, torch.tensor([0.0] + [n / (n - 1)] * (n - 1)), atol=1e-12, rtol=0)


@pytest.mark.parametrize(("a", "b"), [(1, 4), (3, 3), (2, 5)])
def test_spectrum_of_a_complete_bipartite_graph_reaches_two(a: int, b: int) -> None:
    pairs = [(i, a + j) for i in range(a) for j in range(b)]
    edges = torch.tensor(pairs + [(j, i) for i, j in pairs]).T
    lam = Spectrum.of(GraphShift.from_edges(edges, num_nodes=a + b)).lam
    expected = torch.tensor([0.0] + [1.0] * (a + b - 2) + [2.0])
    torch.testing.assert_close(lam, expected, atol=1e-12, rtol=0)


def test_every_form_of_the_edges_gives_the_same_shift() -> None:
    n, edges = 6, ring(6)
    weight = torch.tensor([1.0, 2, 3, 4, 5, 6] * 2)
    expected = GraphShift.from_edges(edges, weight, num_nodes=n).to_dense()
    coo = torch.sparse_coo_tensor(edges, weight, (n, n), check_invariants=True)
    forms = {
        "EdgeIndex": (EdgeIndex(edges, sparse_size=(n, n)), weight),
        "COO": (coo, None),
        "CSR": (coo.to_sparse_csr(), None),
        "CSC": (coo.to_sparse_csc(), None),
        "int32": (edges.int(), weight),
        "shift": (GraphShift.from_edges(edges, weight, num_nodes=n), None),
    }
    for name, (edge_index, edge_weight) in forms.items():
        shift = GraphShift.of(edge_index, edge_weight, num_nodes=n)
        torch.testing.assert_close(shift.to_dense(), expected, msg=lambda text, name=name: f"{name}: {text}")


def test_half_precision_counts_degrees_exactly() -> None:
    n = 1025  # a star: bfloat16 cannot count its centre's 1024 neighbours one by one
    leaves = torch.arange(1, n)
    edges = torch.stack([torch.cat([torch.zeros_like(leaves), leaves]), torch.cat([leaves, torch.zeros_like(leaves)])])
    shift = GraphShift.from_edges(edges, num_nodes=n, dtype=torch.bfloat16)
    assert shift.weight.unique().tolist() == [-1 / 32]


def test_converting_a_shift_keeps_its_values() -> None:
    shift = GraphShift.from_edges(ring(5), num_nodes=5)
    assert shift.to(torch.float64) is shift
    single = shift.to(torch.float32)
    assert single.dtype == torch.float32
    assert single.device == torch.device("cpu")
    assert torch.equal(single.to_dense(), shift.to_dense().float())
    assert repr(single) == "GraphShift(num_nodes=5, num_entries=10, dtype=torch.float32)"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"weight": torch.ones(3)}, ("weight", (3,), (10,), "col")),
        ({"weight": torch.ones(10, 1)}, ("weight", (10, 1), (10,))),
        ({"row": torch.zeros(9).long()}, ("row", (9,), (10,))),
        ({"col": torch.zeros(5, 2).long()}, ("rowptr", "col", (6,), (5, 2))),
        ({"rowptr": torch.zeros(0).long()}, ("rowptr", "col", (0,), (10,))),
        ({"rowptr": torch.zeros(6)}, ("rowptr", "col", "torch.float32", "torch.int64")),
    ],
)
def test_arrays_of_wrong_shapes_raise(changes: dict[str, torch.Tensor], named: tuple) -> None:
    shift = GraphShift.from_edges(ring(5), num_nodes=5)
    arrays = {"rowptr": shift.rowptr, "col": shift.col, "weight": shift.weight, "row": shift.row} | changes
    with refused(ValueError, *named):
        GraphShift(**arrays)


def test_new_weights_are_used_by_the_compiled_pass_and_must_have_the_same_shape() -> None:
    shift, x = GraphShift.from_edges(ring(5), num_nodes=5), signals(5, 4)
    before = chebyshev.apply(shift, x, torch.tensor([0.0, 1.0]))
    shift.weight = 3 * shift.weight
    torch.testing.assert_close(chebyshev.apply(shift, x, torch.tensor([0.0, 1.0])), 3 * before)
    with refused(ValueError, "weight", (3,), (10,)):
        shift.weight = shift.weight[:3]


@pytest.mark.parametrize(
    ("rowptr", "col"),
    [
        ([0, 1, 2], [1, 2]),
        ([0, 1, 2], [1, -1]),
        ([0, 3, 2], [1, 0]),
        ([0, 1, 1], [1, 0]),
        ([1, 2, 3], [1, 0]),
        ([0, 1, 900], [1, 0]),
    ],
)
@pytest.mark.parametrize("fused", [True, False])
def test_pointers_and_columns_out_of_range_raise(rowptr: list[int], col: list[int], fused: bool) -> None:
    shift = GraphShift(torch.tensor(rowptr), torch.tensor(col), torch.ones(2))
    message = "the shift has columns outside 0 to 1, or pointers that do not ascend"
    with use_kernels(fused), pytest.raises(ValueError, match=message):
        chebyshev.apply(shift, torch.ones(2, 3), torch.ones(2, 3))


@pytest.mark.parametrize("fused", [True, False])
def test_a_backward_pass_uses_the_weights_of_its_forward_pass(fused: bool) -> None:
    shift, x = GraphShift.from_edges(ring(5), num_nodes=5), signals(5, 4).requires_grad_()
    dense = shift.to_dense()
    with use_kernels(fused):
        out = chebyshev.apply(shift, x, torch.tensor([0.0, 1.0]))
        shift.weight = torch.zeros(10)
        out.sum().backward()
    torch.testing.assert_close(x.grad, dense @ torch.ones(5, 4))


@pytest.mark.parametrize("name", ["rowptr", "col"])
def test_the_edges_of_a_shift_cannot_be_replaced(name: str) -> None:
    shift = GraphShift.from_edges(ring(5), num_nodes=5)
    with pytest.raises(AttributeError, match=name):
        setattr(shift, name, torch.zeros(1).long())


def test_weights_whose_sum_is_infinite_raise() -> None:
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    weight = torch.full((4,), 2e38, dtype=torch.float32)
    with pytest.raises(ValueError, match=r"weights of node 1 add up to more than float32 can hold.*divide all weights"):
        GraphShift.from_edges(edges, weight, num_nodes=3)
    double = GraphShift.from_edges(edges, weight.double(), num_nodes=3)
    torch.testing.assert_close(double.to_dense()[1], torch.tensor([-(0.5**0.5), 0, -(0.5**0.5)]))
    with refused(ValueError, "node 0", "float32"):  # duplicates are added
        GraphShift.from_edges(torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0]]), weight, num_nodes=2)


def test_edge_weights_get_a_gradient() -> None:
    pairs = torch.rand(6, requires_grad=True)

    def dense(weight: torch.Tensor) -> torch.Tensor:
        return GraphShift.from_edges(ring(6), torch.cat([weight, weight]), num_nodes=6).to_dense()

    assert torch.autograd.gradcheck(dense, pairs)


EDGE = torch.tensor([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("edge_index", "edge_weight", "named"),
    [
        (torch.tensor([[0, 3], [3, 0]]), None, ("edge 0", (0, 3), "num_nodes=3")),
        (torch.tensor([[0, -1], [-1, 0]]), None, ("edge 0", (0, -1), "num_nodes=3")),
        (torch.tensor([[0, 1, 1], [1, 0, 2]]), None, ((1, 2), (2, 1), "to_undirected")),
        (EDGE, torch.tensor([1.0, 2.0]), ((0, 1), 1.0, (1, 0), 2.0, "to_undirected")),
        (EDGE, torch.tensor([1.0, math.nan]), ("edge 1", (1, 0), "nan")),
        (EDGE, torch.tensor([math.inf, 1.0]), ("edge 0", (0, 1), "inf")),
        (EDGE, torch.tensor([-0.5, -0.5]), ("edge 0", (0, 1), -0.5)),
        (EDGE, torch.ones(3), ("edge_weight", (3,), (2,))),
        (EDGE, torch.ones(2, 1), ("edge_weight", (2, 1), (2,))),
        (torch.zeros(3, 2).long(), None, ("edge_index", (3, 2))),
        (EDGE.double(), None, ("edge_index", "torch.float64")),
    ],
)
def test_bad_edges_are_named(edge_index: torch.Tensor, edge_weight: torch.Tensor | None, named: tuple) -> None:
    with refused(ValueError, *named):
        GraphShift.of(edge_index, edge_weight, num_nodes=3)


def test_weights_given_twice_raise() -> None:
    adjacency = torch.sparse_coo_tensor(EDGE, torch.ones(2), (2, 2), check_invariants=True)
    with pytest.raises(ValueError, match="edge_weight must be None"):
        GraphShift.of(adjacency, torch.ones(2), num_nodes=2)
    with pytest.raises(ValueError, match="edge_weight must be None"):
        GraphShift.of(GraphShift.of(EDGE, num_nodes=2), torch.ones(2), num_nodes=2)


def test_an_adjacency_of_the_wrong_size_raises() -> None:
    adjacency = torch.sparse_coo_tensor(EDGE, torch.ones(2), (2, 2), check_invariants=True)
    with refused(ValueError, "adjacency", (2, 2), num_nodes=3):
        GraphShift.of(adjacency, num_nodes=3)


def test_duplicates_summed_in_another_order_still_count_as_symmetric() -> None:
    weight = torch.tensor([0.1, 0.2, 0.3, 0.3, 0.2, 0.1])
    edges = torch.tensor([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
    assert GraphShift.from_edges(edges, weight, num_nodes=2).num_entries == 2
