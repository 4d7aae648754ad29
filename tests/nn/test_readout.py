"""Mean, maximum and sum of each graph, also of graphs without nodes, and any combination of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oracles
from bankgcn.kernels import use_kernels
from bankgcn.nn import READOUT_PARTS, READOUTS, BankGCN
from bankgcn.nn.activation import activate_and_read
from bankgcn.nn.readout import graph_max, graph_mean, graph_sum, readout_parts
from refusals import refused
from strategies import ring, signals


def test_readout_equals_mean_and_maximum_of_each_graph() -> None:
    x, batch = signals(7, 3), torch.tensor([0, 0, 1, 1, 1, 1, 2])
    expected = np.stack([oracles.readout(part.numpy()) for part in x.split([2, 4, 1])])
    np.testing.assert_allclose(torch.cat([graph_mean(x, batch, 3), graph_max(x, batch, 3)], 1), expected, atol=1e-15)
    np.testing.assert_allclose(graph_mean(x, batch, 3), expected[:, :3], atol=1e-15)


def test_the_sum_equals_a_product_with_a_dense_assignment_matrix() -> None:
    x, batch = signals(7, 3), torch.tensor([2, 0, 0, 3, 2, 2, 0])
    assignment = (np.arange(4)[:, None] == batch.numpy()).astype(float)  # of graphs to nodes; graph 1 has none
    np.testing.assert_allclose(graph_sum(x, batch, 4), assignment @ x.numpy(), atol=1e-15)
    weights = signals(4, 3, seed=1)
    (gradient,) = torch.autograd.grad((graph_sum(x.requires_grad_(), batch, 4) * weights).sum(), x)
    np.testing.assert_allclose(gradient, assignment.T @ weights.numpy(), atol=1e-15)


def test_nodes_may_be_in_any_order() -> None:
    x, batch, order = signals(7, 3), torch.tensor([0, 0, 1, 1, 1, 1, 2]), torch.randperm(7)
    for read in READOUT_PARTS.values():
        torch.testing.assert_close(read(x[order], batch[order], 3), read(x, batch, 3))


def test_maximum_of_negative_signals_is_negative() -> None:
    assert graph_max(torch.tensor([[-3.0], [-2.0]]), torch.tensor([0, 0]), 1).item() == -2


def test_a_graph_without_nodes_reads_as_zero() -> None:
    for read in READOUT_PARTS.values():
        assert read(-torch.ones(2, 1), torch.tensor([0, 2]), 3).tolist() == [[-1], [0], [-1]]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_counts_and_sums_in_higher_precision(dtype: torch.dtype) -> None:
    x, batch = torch.full((1000, 2), 0.5, dtype=dtype).requires_grad_(), torch.zeros(1000, dtype=torch.long)
    for read, share in ((graph_mean, 1e-3), (graph_max, 1e-3)):  # all nodes share the maximum
        out = read(x, batch, 1)
        assert out.dtype == dtype
        assert out.tolist() == [[0.5, 0.5]]
        (gradient,) = torch.autograd.grad(out.sum(), x)
        torch.testing.assert_close(gradient, torch.full_like(x, share))


@pytest.mark.parametrize("on", [True, False])
def test_a_mean_over_ten_million_nodes_is_correct_in_single_precision(on: bool) -> None:
    n = 10_000_000
    h, batch = torch.full((n, 1), 0.1, dtype=torch.float32), torch.zeros(n, dtype=torch.long)
    with use_kernels(on):
        _, mean, maximum = activate_and_read(h, batch, 1, "none")
    assert mean.dtype == torch.float32
    assert mean.item() == pytest.approx(0.1, rel=1e-5)
    assert maximum.item() == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize("on", [True, False])
def test_counts_exceed_what_single_precision_can_count(on: bool) -> None:
    n = 2**24 + 2**20  # adding 1 to 2**24 changes nothing in float32
    h, batch = torch.ones(n, 1, dtype=torch.float32, requires_grad=True), torch.zeros(n, dtype=torch.long)
    with use_kernels(on):
        _, mean = activate_and_read(h, batch, 1, "none", ("mean",))
        mean.sum().backward()
    assert mean.item() == 1
    assert h.grad[0].item() == pytest.approx(1 / n, rel=1e-6)


def test_a_sum_over_ten_million_nodes_is_correct_in_single_precision() -> None:
    n = 10_000_000
    total = graph_sum(torch.full((n, 1), 0.1, dtype=torch.float32), torch.zeros(n, dtype=torch.long), 1)
    assert total.dtype == torch.float32
    assert total.item() == pytest.approx(1e6, rel=1e-6)


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("readout", READOUTS)
def test_a_mixed_readout_equals_its_parts(readout: str, on: bool) -> None:
    h, batch, parts = signals(6, 4), torch.tensor([0, 0, 2, 2, 2, 3]), READOUTS[readout]
    outcomes = {}
    with use_kernels(on):
        for some in (parts, *((part,) for part in parts)):
            leaf = h.clone().requires_grad_()
            _, *read = activate_and_read(leaf, batch, 4, "before", some)
            weights = [signals(4, 4, seed=list(READOUT_PARTS).index(part)) for part in some]
            outcomes[some] = read, torch.autograd.grad(read, leaf, weights)[0]
    singles = [outcomes[(part,)] for part in parts]
    mixed, gradient = outcomes[parts]
    for one, (other,) in zip(mixed, (read for read, _ in singles), strict=True):
        torch.testing.assert_close(one, other)
        assert (one[1] == 0).all()  # a graph without nodes
    torch.testing.assert_close(gradient, sum(grad for _, grad in singles))


@pytest.mark.parametrize("readout", READOUTS)
def test_the_classifier_is_as_wide_as_the_readout(readout: str) -> None:
    net = BankGCN(3, 2, hidden_channels=8, num_layers=2, readout=readout)
    same = BankGCN(3, 2, hidden_channels=8, num_layers=2, readout=READOUTS[readout])
    assert net.readout == same.readout == READOUTS[readout]
    assert net.predict.in_features == 2 * 8 * len(net.readout)
    same.load_state_dict(net.state_dict())
    x, edges = signals(5, 3), ring(5)
    torch.testing.assert_close(net(x, edges, batch_size=1), same(x, edges))


def test_readouts_are_named_by_their_parts_in_a_fixed_order() -> None:
    assert list(READOUTS) == ["mean", "max", "sum", "mean_max", "mean_sum", "max_sum", "mean_max_sum"]
    assert readout_parts("mean_sum") == readout_parts(["mean", "sum"]) == ("mean", "sum")
    for wrong in ("max_mean", "mean_mean", "", ("max", "mean"), ()):
        with refused(
            ValueError, "readout", repr(wrong if isinstance(wrong, str) else "_".join(wrong)), "mean, max, sum"
        ):
            readout_parts(wrong)
