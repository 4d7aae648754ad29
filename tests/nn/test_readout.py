"""Mean and maximum graph by graph, for graphs without nodes too."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oracles
from bankgcn.kernels import use_kernels
from bankgcn.nn.activation import activate_and_read
from bankgcn.nn.readout import graph_max, graph_mean
from strategies import signals


def test_readout_equals_mean_and_maximum_of_each_graph() -> None:
    x, batch = signals(7, 3), torch.tensor([0, 0, 1, 1, 1, 1, 2])
    expected = np.stack([oracles.readout(part.numpy()) for part in x.split([2, 4, 1])])
    np.testing.assert_allclose(torch.cat([graph_mean(x, batch, 3), graph_max(x, batch, 3)], 1), expected, atol=1e-15)
    np.testing.assert_allclose(graph_mean(x, batch, 3), expected[:, :3], atol=1e-15)


def test_nodes_may_stand_in_any_order() -> None:
    x, batch, order = signals(7, 3), torch.tensor([0, 0, 1, 1, 1, 1, 2]), torch.randperm(7)
    for read in (graph_mean, graph_max):
        torch.testing.assert_close(read(x[order], batch[order], 3), read(x, batch, 3))


def test_maximum_of_negative_signals_is_negative() -> None:
    assert graph_max(torch.tensor([[-3.0], [-2.0]]), torch.tensor([0, 0]), 1).item() == -2


def test_a_graph_without_nodes_reads_as_zero() -> None:
    for read in (graph_mean, graph_max):
        assert read(-torch.ones(2, 1), torch.tensor([0, 2]), 3).tolist() == [[-1], [0], [-1]]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_counts_and_sums_in_more(dtype: torch.dtype) -> None:
    x, batch = torch.full((1000, 2), 0.5, dtype=dtype).requires_grad_(), torch.zeros(1000, dtype=torch.long)
    for read, share in ((graph_mean, 1e-3), (graph_max, 1e-3)):  # all nodes share the maximum
        out = read(x, batch, 1)
        assert out.dtype == dtype
        assert out.tolist() == [[0.5, 0.5]]
        (gradient,) = torch.autograd.grad(out.sum(), x)
        torch.testing.assert_close(gradient, torch.full_like(x, share))


@pytest.mark.parametrize("on", [True, False])
def test_a_mean_over_ten_million_nodes_is_right_in_single_precision(on: bool) -> None:
    n = 10_000_000
    h, batch = torch.full((n, 1), 0.1, dtype=torch.float32), torch.zeros(n, dtype=torch.long)
    with use_kernels(on):
        _, mean, highest = activate_and_read(h, batch, 1, "none")
    assert mean.dtype == torch.float32
    assert mean.item() == pytest.approx(0.1, rel=1e-5)
    assert highest.item() == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize("on", [True, False])
def test_more_nodes_are_counted_than_single_precision_can(on: bool) -> None:
    n = 2**24 + 2**20  # adding 1 to 2**24 changes nothing in float32
    h, batch = torch.ones(n, 1, dtype=torch.float32, requires_grad=True), torch.zeros(n, dtype=torch.long)
    with use_kernels(on):
        _, mean = activate_and_read(h, batch, 1, "none", with_max=False)
        mean.sum().backward()
    assert mean.item() == 1
    assert h.grad[0].item() == pytest.approx(1 / n, rel=1e-6)
