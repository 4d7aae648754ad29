"""The fused filter bank equals the plain recurrence: values, gradients, awkward graphs, any width and order."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bankgcn.kernels import fused_for, use_kernels
from bankgcn.spectral import GraphShift, chebyshev
from refusals import refused
from strategies import RandomGraph, disjoint_union, graphs, ring, signals


def filtered(shift: GraphShift, dtype: torch.dtype, order: int, channels: int, filters: int) -> list[torch.Tensor]:
    """Values and gradients of a filter."""
    x = signals(shift.num_nodes, channels).to(dtype).requires_grad_()
    c = signals(order + 1, filters, seed=1).to(dtype).requires_grad_()
    out = chebyshev.apply(shift, x, c)
    g = signals(shift.num_nodes, channels, seed=2).to(dtype)
    return [out.detach(), *torch.autograd.grad(out, (x, c), g)]


def compare(shift: GraphShift, order: int, channels: int, filters: int) -> None:
    for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 1e-5)):
        typed = shift.to(dtype)
        with use_kernels(True):
            fused = filtered(typed, dtype, order, channels, filters)
        with use_kernels(False):
            plain = filtered(typed, dtype, order, channels, filters)
        for one, other in zip(fused, plain, strict=True):
            scale = max(1.0, other.abs().max().item()) if other.numel() else 1.0
            torch.testing.assert_close(one, other, rtol=0, atol=tolerance * scale)


@given(graph=graphs(), order=st.integers(0, 6), filters=st.integers(1, 5), width=st.integers(1, 7))
def test_fused_equals_plain(graph: RandomGraph, order: int, filters: int, width: int) -> None:
    shift = GraphShift.from_edges(graph.edge_index, graph.edge_weight, num_nodes=graph.num_nodes)
    compare(shift, order, filters * width, filters)


@settings(max_examples=15)
@given(st.lists(graphs(max_nodes=30), min_size=1, max_size=6), st.integers(0, 4), st.sampled_from([16, 64, 100, 120]))
def test_fused_equals_plain_on_batches(batch: list[RandomGraph], order: int, channels: int) -> None:
    sizes = [graph.num_nodes for graph in batch]
    edges, _ = disjoint_union([graph.edge_index for graph in batch], sizes)
    weight = torch.cat([graph.edge_weight for graph in batch])
    compare(GraphShift.from_edges(edges, weight, num_nodes=sum(sizes)), order, channels, 4)


def test_large_degrees_and_no_nodes() -> None:
    leaves = torch.arange(1, 40)
    star = torch.stack([torch.cat([leaves * 0, leaves]), torch.cat([leaves, leaves * 0])])
    compare(GraphShift.from_edges(star, num_nodes=40), 3, 33, 3)
    compare(GraphShift.from_edges(torch.empty(2, 0, dtype=torch.long), num_nodes=0), 2, 4, 2)


def test_blocks_are_cut_where_no_edge_crosses() -> None:
    sizes = [20, 3, 4, 30, 17]
    edges, _ = disjoint_union([ring(n) for n in sizes], sizes)
    assert GraphShift.from_edges(edges, num_nodes=74).csr.block_ptr.tolist() == [0, 20, 57, 74]


def test_a_layer_used_twice_in_one_graph_adds_its_gradients() -> None:
    shift, c = GraphShift.from_edges(ring(5), num_nodes=5), signals(3, 2).requires_grad_()
    x = signals(5, 2).requires_grad_()
    twice = {}
    for on in (True, False):
        with use_kernels(on):
            out = chebyshev.apply(shift, chebyshev.apply(shift, x, c), c)
            twice[on] = torch.autograd.grad(out.square().sum(), (x, c))
    for one, other in zip(twice[True], twice[False], strict=True):
        torch.testing.assert_close(one, other)


def test_first_and_second_derivatives_pass_gradcheck() -> None:
    shift = GraphShift.from_edges(ring(5), num_nodes=5)
    x, c = signals(5, 4).requires_grad_(), signals(4, 2, seed=1).requires_grad_()
    with use_kernels(True):
        assert torch.autograd.gradcheck(lambda x, c: chebyshev.apply(shift, x, c), (x, c))
        assert torch.autograd.gradgradcheck(lambda x, c: chebyshev.apply(shift, x, c), (x, c))


def test_signals_need_not_be_contiguous() -> None:
    shift, c = GraphShift.from_edges(ring(6), num_nodes=6), signals(3, 4)
    x = signals(4, 6).T
    with use_kernels(False):
        expected = chebyshev.apply(shift, x, c)
    torch.testing.assert_close(chebyshev.apply(shift, x, c), expected)


def test_nan_stays_nan() -> None:
    shift = GraphShift.from_edges(ring(6), num_nodes=6)
    x = signals(6, 4)
    x[2, 1] = float("nan")
    out = chebyshev.apply(shift, x, torch.ones(2, 4))
    assert out.isnan().nonzero().tolist() == [[1, 1], [2, 1], [3, 1]]


@pytest.mark.parametrize(
    ("rowptr", "col"), [([0, 1, 2], [1, 2]), ([0, 1, 2], [1, -1]), ([0, 3, 2], [1, 0]), ([0, 1, 1], [1, 0])]
)
def test_a_broken_shift_is_refused_rather_than_followed(rowptr: list[int], col: list[int]) -> None:
    shift = GraphShift(torch.tensor(rowptr), torch.tensor(col), torch.ones(2))
    with refused(ValueError, "0 to 1"):
        chebyshev.apply(shift, torch.ones(2, 3), torch.ones(2, 3))


def test_kernels_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.ones(2)
    assert fused_for(x)
    with use_kernels(False):
        assert not fused_for(x)
        with use_kernels(True):
            assert fused_for(x)
    monkeypatch.setenv("BANKGCN_KERNELS", "off")
    assert not fused_for(x)
    with use_kernels(True):
        assert fused_for(x)


@pytest.mark.parametrize("tensor", [torch.ones(2, dtype=torch.bfloat16), torch.ones(2, device="meta")])
def test_kernels_are_for_single_and_double_precision_on_the_cpu(tensor: torch.Tensor) -> None:
    assert not fused_for(tensor)


@pytest.mark.parametrize("order", [0, 2])
def test_no_channels(order: int) -> None:
    compare(GraphShift.from_edges(ring(5), num_nodes=5), order, 0, 2)


@pytest.mark.parametrize("order", [0, 2])
def test_gradients_of_the_coefficients_are_exact_for_a_million_nodes(order: int) -> None:
    nodes, channels, terms = 1_000_000, 9, []
    shift = GraphShift.from_edges(torch.zeros(2, 0, dtype=torch.long), num_nodes=nodes)
    for dtype in (torch.float32, torch.float64):
        x, g = torch.full((nodes, channels), 0.7, dtype=dtype), torch.full((nodes, channels), 0.3, dtype=dtype)
        c = torch.ones(order + 1, channels, dtype=dtype, requires_grad=True)
        terms.append(torch.autograd.grad(chebyshev.apply(shift.to(dtype), x, c), c, g)[0].double())
    torch.testing.assert_close(*terms, rtol=6e-5, atol=0)
