"""The fused activation and readout equal the plain ones: values, gradients, ties, empty graphs, any order of nodes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.kernels import use_kernels
from bankgcn.nn.activation import ACTIVATIONS, activate_and_read
from refusals import refused
from strategies import signals

batches = st.lists(st.integers(0, 4), min_size=1, max_size=25)


def outcome(h: torch.Tensor, batch: torch.Tensor, normalize: str, with_max: bool, on: bool) -> list[torch.Tensor]:
    h = h.clone().requires_grad_()
    with use_kernels(on):
        outputs = activate_and_read(h, batch, 6, normalize, ("mean", "max") if with_max else ("mean",))
        weights = [signals(*output.shape, seed=number).to(h.dtype) for number, output in enumerate(outputs)]
        return [*(o.detach() for o in outputs), *torch.autograd.grad(outputs, h, weights)]


@pytest.mark.parametrize("with_max", [True, False])
@pytest.mark.parametrize("normalize", ACTIVATIONS)
@given(nodes=batches, channels=st.integers(1, 19), repeated=st.booleans())
def test_fused_equals_plain(normalize: str, with_max: bool, nodes: list[int], channels: int, repeated: bool) -> None:
    batch = torch.tensor(nodes)
    h = signals(len(nodes), channels)
    if repeated:  # equal nodes share their graph's maximum and its gradient
        h = h[torch.arange(len(nodes)) // 3]
    h[0] = 0  # a node without a direction
    for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 1e-5)):
        fused, plain = (outcome(h.to(dtype), batch, normalize, with_max, on) for on in (True, False))
        for one, other in zip(fused, plain, strict=True):
            torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("normalize", ["before", "after"])
def test_a_node_whose_norm_overflows_makes_its_graph_undefined(normalize: str, on: bool) -> None:
    h, batch = signals(5, 3).float(), torch.tensor([0, 0, 1, 1, 1])
    h[1] = 1e20
    with use_kernels(on):
        x, *readout = activate_and_read(h, batch, 2, normalize)
    assert x[1].isnan().all()
    assert x[[0, 2, 3, 4]].isfinite().all()
    for part in readout:
        assert part[0].isnan().all()
        assert part[1].isfinite().all()


@pytest.mark.parametrize("normalize", ACTIVATIONS)
def test_first_and_second_derivatives_pass_gradcheck(normalize: str) -> None:
    h, batch = signals(5, 3).requires_grad_(), torch.tensor([0, 0, 1, 1, 1])
    with use_kernels(True):
        assert torch.autograd.gradcheck(lambda h: activate_and_read(h, batch, 2, normalize), h)
        assert torch.autograd.gradgradcheck(lambda h: activate_and_read(h, batch, 2, normalize), h)


def test_unused_outputs_have_no_gradient() -> None:
    h, batch = signals(5, 3).requires_grad_(), torch.tensor([0, 0, 1, 1, 1])
    for used in range(3):
        gradients = {}
        for on in (True, False):
            with use_kernels(on):
                gradients[on] = torch.autograd.grad(activate_and_read(h, batch, 2)[used].sum(), h)[0]
        torch.testing.assert_close(gradients[True], gradients[False])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("normalize", ACTIVATIONS)
def test_rows_too_short_to_normalise_have_the_plain_gradient(normalize: str, dtype: torch.dtype) -> None:
    h = signals(12, 5) * 10.0 ** torch.arange(-17, -5).unsqueeze(-1)
    batch = torch.arange(12) % 3
    *fused, fused_gradient = outcome(h.to(dtype), batch, normalize, True, True)
    *plain, plain_gradient = outcome(h.to(dtype), batch, normalize, True, False)
    length = h.norm(dim=-1, keepdim=True).clamp(min=1e-12).to(dtype)  # the gradient of a row is as large as its inverse
    compared = [*zip(fused, plain, strict=True), (fused_gradient * length, plain_gradient * length)]
    for one, other in compared:
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_nan_stays_nan() -> None:
    h = signals(4, 3)
    h[1, 2] = float("nan")
    x, mean, highest = activate_and_read(h, torch.tensor([0, 0, 1, 1]), 2, "none")
    assert x.isnan().nonzero().tolist() == [[1, 2]]
    assert mean.isnan().nonzero().tolist() == [[0, 2]]
    assert highest.isnan().nonzero().tolist() == [[0, 2]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("normalize", ACTIVATIONS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_nan_spreads_as_in_the_plain_operations(sign: float, normalize: str, dtype: torch.dtype) -> None:
    h, batch = signals(7, 21), torch.tensor([0, 0, 1, 1, 1, 2, 2])
    h[1, 17] = torch.tensor(float("nan")).copysign(torch.tensor(sign))
    assert h[1, 17].signbit() == (sign < 0)
    for with_max in (True, False):
        fused, plain = (outcome(h.to(dtype), batch, normalize, with_max, on) for on in (True, False))
        for one, other in zip(fused, plain, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("infinity", [float("inf"), -float("inf")])
def test_infinity_is_rectified_as_any_other_number(infinity: float) -> None:
    h = signals(3, 2)
    h[1, 1] = infinity
    fused, plain = (outcome(h, torch.tensor([0, 0, 1]), "none", True, on) for on in (True, False))
    for one, other in zip(fused, plain, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("graph", [-1, 2])
def test_a_node_in_no_graph_is_named(graph: int) -> None:
    with refused(IndexError, "node 1", f"graph {graph}", "2 graphs"):
        activate_and_read(signals(3, 2), torch.tensor([0, graph, 1]), 2)
