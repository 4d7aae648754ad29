"""The recurrence equals exact filtering, its reach is the order, and its hand-written gradient equals autograd's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracles
from bankgcn.kernels import use_kernels
from bankgcn.spectral import BASES, GraphShift, chebyshev
from refusals import refused
from strategies import RandomGraph, graphs, ring, signals


@pytest.fixture(autouse=True)
def _plain() -> Iterator[None]:
    """Test the plain recurrence; tests/kernels compares the compiled passes with it."""
    with use_kernels(False):
        yield


POLYNOMIAL_BASES = [name for name in BASES if name != "pulses"]


@pytest.mark.parametrize("basis", POLYNOMIAL_BASES)
@given(graph=graphs(), order=st.integers(0, 6))
def test_recurrence_equals_exact_filtering(basis: str, graph: RandomGraph, order: int) -> None:
    x, alpha = signals(graph.num_nodes, 3), signals(3, order + 1, seed=1)
    shift = GraphShift.from_edges(graph.edge_index, graph.edge_weight, num_nodes=graph.num_nodes)
    out = chebyshev.apply(shift, x, (alpha @ BASES[basis].to_chebyshev(order)).T)

    lam, u = oracles.fourier(graph.laplacian)
    g = oracles.response(alpha.numpy(), lam, basis)
    expected = np.stack([u @ np.diag(g[c]) @ u.T @ x.numpy()[:, c] for c in range(3)], axis=1)
    np.testing.assert_allclose(out, expected, atol=1e-10)


def test_one_filter_can_apply_to_all_channels() -> None:
    shift, x, c = GraphShift.from_edges(ring(7), num_nodes=7), signals(7, 4), signals(4, 1).flatten()
    out = chebyshev.apply(shift, x, c)
    torch.testing.assert_close(out, chebyshev.apply(shift, x, c.unsqueeze(-1).expand(-1, 4)))


def test_channels_are_divided_among_the_filters_in_blocks() -> None:
    shift, x, c = GraphShift.from_edges(ring(7), num_nodes=7), signals(7, 6), signals(4, 2)
    blocks = [chebyshev.apply(shift, x[:, :3], c[:, 0]), chebyshev.apply(shift, x[:, 3:], c[:, 1])]
    torch.testing.assert_close(chebyshev.apply(shift, x, c), torch.cat(blocks, dim=1))


def test_first_coefficient_alone_is_the_identity() -> None:
    x = signals(7, 2)
    out = chebyshev.apply(GraphShift.from_edges(ring(7), num_nodes=7), x, torch.tensor([1.0, 0, 0, 0]))
    assert torch.equal(out, x)


@given(graph=graphs(), order=st.integers(0, 4), data=st.data())
def test_a_delta_reaches_no_further_than_order_hops(graph: RandomGraph, order: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, graph.num_nodes - 1))
    delta = torch.zeros(graph.num_nodes, 1)
    delta[start] = 1
    shift = GraphShift.from_edges(graph.edge_index, graph.edge_weight, num_nodes=graph.num_nodes)
    out = chebyshev.apply(shift, delta, torch.ones(order + 1))
    too_far = oracles.hops(graph.adjacency, start) > order
    assert (out.numpy()[too_far] == 0).all()


def test_order_hops_are_reached() -> None:
    shift = GraphShift.from_edges(ring(12), num_nodes=12)
    delta = torch.eye(12)[:, :1]
    for order in range(5):
        leading = torch.zeros(order + 1)
        leading[-1] = 1
        assert chebyshev.apply(shift, delta, leading)[order].abs() > 0


@given(graph=graphs(), order=st.integers(0, 5), shared=st.booleans())
def test_the_adjoint_pass_equals_autograd_through_the_recurrence(graph: RandomGraph, order: int, shared: bool) -> None:
    shift = GraphShift.from_edges(graph.edge_index, graph.edge_weight, num_nodes=graph.num_nodes)
    x = signals(graph.num_nodes, 4).requires_grad_()
    c = signals(order + 1, 1 if shared else 4, seed=1).requires_grad_()
    g = signals(graph.num_nodes, 4, seed=2)
    by_hand = torch.autograd.grad(chebyshev.apply(shift, x, c), (x, c), g)
    dense = shift.to_dense()
    by_autograd = torch.autograd.grad(chebyshev.apply(lambda signal: dense @ signal, x, c), (x, c), g)
    for one, other in zip(by_hand, by_autograd, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=1e-10)


def test_first_and_second_derivatives_pass_gradcheck() -> None:
    shift = GraphShift.from_edges(ring(5), num_nodes=5)
    x, c = signals(5, 3).requires_grad_(), signals(4, 3, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, c: chebyshev.apply(shift, x, c), (x, c))
    assert torch.autograd.gradgradcheck(lambda x, c: chebyshev.apply(shift, x, c), (x, c))


def test_edge_weights_get_a_gradient_on_request() -> None:
    x, c = signals(5, 3).requires_grad_(), signals(4, 3, seed=1).requires_grad_()
    weight = torch.rand(5, requires_grad=True)

    def filtered(weight: torch.Tensor, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return chebyshev.apply(GraphShift.from_edges(ring(5), torch.cat([weight, weight]), num_nodes=5), x, c)

    assert torch.autograd.gradcheck(filtered, (weight, x, c))


def _saved_signals(shift: GraphShift, order: int) -> int:
    """Number of tensors of the signal's shape that autograd keeps for the backward pass."""
    saved: set[int] = set()
    x = signals(50, 4).requires_grad_()

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.shape == x.shape:
            saved.add(tensor.data_ptr())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        chebyshev.apply(shift, x, torch.ones(order + 1, 4, requires_grad=True))
    return len(saved)


def test_only_the_input_is_kept_for_any_order() -> None:
    assert _saved_signals(GraphShift.from_edges(ring(50), num_nodes=50), order=6) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_precision_of_the_input_is_kept(dtype: torch.dtype) -> None:
    shift = GraphShift.from_edges(ring(6), num_nodes=6, dtype=dtype)
    x, c = signals(6, 2).to(dtype).requires_grad_(), signals(3, 2).to(dtype).requires_grad_()
    out = chebyshev.apply(shift, x, c)
    out.sum().backward()
    assert out.dtype == x.grad.dtype == c.grad.dtype == dtype
    exact = chebyshev.apply(shift.to(torch.float64), x.double(), c.double())
    torch.testing.assert_close(out.double(), exact, rtol=0, atol=20 * torch.finfo(dtype).eps)


def test_signals_and_coefficients_of_wrong_shapes_raise() -> None:
    shift = GraphShift.from_edges(ring(6), num_nodes=6)
    with refused(ValueError, "x", (5, 2), num_nodes=6):
        chebyshev.apply(shift, torch.ones(5, 2), torch.ones(3))
    with refused(ValueError, "2 channels", "3 filters"):
        chebyshev.apply(shift, torch.ones(6, 2), torch.ones(3, 3))
    for shape in ((), (0,), (0, 1), (3, 0), (3, 1, 2)):
        for operator, enabled in itertools.product((shift, torch.neg), (False, True)):
            with use_kernels(enabled), refused(ValueError, shape):
                chebyshev.apply(operator, torch.ones(6, 2), torch.ones(shape))
