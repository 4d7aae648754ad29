"""The baselines are PyG's layers with the paper's settings, and as large as the paper says."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oracles
from bankgcn.nn import CONVS, layer_parameters, width_for_budget
from strategies import ring, signals

PUBLISHED = {"gcn": 4160, "sage": 8256, "gin": 8320, "gat": 4288}


@pytest.mark.parametrize(("conv", "parameters"), PUBLISHED.items())
def test_parameters_of_a_layer_of_width_64_are_the_published_ones(conv: str, parameters: int) -> None:
    assert layer_parameters(conv, 64) == parameters


def test_parameters_where_the_paper_miscounts() -> None:
    assert layer_parameters("cheb", 64, order=2) == 12352  # printed as 12353
    for order in (1, 2, 3, 4):
        for s in (1, 4, 8, 16):  # printed as 4161 + order, whatever s
            assert layer_parameters("bank", 64, order=order, num_subspaces=s) == 4160 + s * (order + 1)


def ring_neighbours(x: np.ndarray) -> np.ndarray:
    return np.roll(x, 1, axis=0) + np.roll(x, -1, axis=0)


def test_baselines_compute_what_they_are_named_after() -> None:
    """On a ring every node has two neighbours, so that each aggregation is a formula of one line."""
    x = signals(6, 8)
    a, n = x.numpy(), ring_neighbours(x.numpy())
    convs = {name: CONVS[name](8, 8) for name in ("gcn", "sage", "gin", "mlp")}
    out = {name: conv(x, ring(6)).detach().numpy() for name, conv in convs.items()}
    parameters = {name: [p.detach().numpy() for p in conv.parameters()] for name, conv in convs.items()}

    bias, weight = parameters["gcn"]
    np.testing.assert_allclose(out["gcn"], (a + n) / 3 @ weight.T + bias, atol=1e-12)
    weight, bias, root = parameters["sage"]
    np.testing.assert_allclose(out["sage"], n / 2 @ weight.T + bias + a @ root.T, atol=1e-12)
    w1, b1, w2, b2 = parameters["gin"]
    np.testing.assert_allclose(out["gin"], np.maximum((a + n) @ w1.T + b1, 0) @ w2.T + b2, atol=1e-12)
    weight, bias = parameters["mlp"]
    np.testing.assert_allclose(out["mlp"], a @ weight.T + bias, atol=1e-12)


def test_chebnet_of_order_two_has_the_quadratic_term() -> None:
    conv, x = CONVS["cheb"](3, 3, order=2), signals(6, 3)
    shift = -ring_neighbours(np.eye(6)) / 2
    terms = [np.eye(6), shift, 2 * shift @ shift - np.eye(6)]
    expected = sum(t @ x.numpy() @ lin.weight.detach().numpy().T for t, lin in zip(terms, conv.lins, strict=True))
    np.testing.assert_allclose(conv(x, ring(6)).detach(), expected + conv.bias.detach().numpy(), atol=1e-12)


def test_heads_of_gat_share_the_width() -> None:
    conv = CONVS["gat"](5, 64)
    assert (conv.heads, conv.out_channels) == (8, 8)
    assert conv(signals(6, 5), ring(6)).shape == (6, 64)
    with pytest.raises(ValueError, match="out_channels=60 does not divide into heads=8"):
        CONVS["gat"](5, 60)


@pytest.mark.parametrize("conv", CONVS)
@pytest.mark.parametrize("budget", [16_500, 65_800])
def test_no_other_width_is_nearer_to_the_budget(conv: str, budget: int) -> None:
    best = width_for_budget(conv, budget)
    assert best.parameters == layer_parameters(conv, best.channels)
    for channels in range(max(1, best.channels - 20), best.channels + 21):
        try:
            parameters = layer_parameters(conv, channels)
        except ValueError:
            continue
        assert abs(parameters - budget) >= abs(best.parameters - budget)


def test_budget_errors_are_named() -> None:
    with pytest.raises(ValueError, match="budget=0"):
        width_for_budget("gcn", 0)
    with pytest.raises(ValueError, match="no width up to 5 makes a 'gat' layer"):
        width_for_budget("gat", 5)
    with pytest.raises(ValueError, match="unknown convolution 'chebb'.*did you mean 'cheb'"):
        width_for_budget("chebb", 5)


def test_the_structure_blind_layer_ignores_the_edges() -> None:
    conv, x = CONVS["mlp"](3, 4), signals(5, 3)
    assert torch.equal(conv(x, ring(5)), conv(x, torch.empty(2, 0, dtype=torch.long)))


def test_oracle_and_laplacian_agree_on_the_ring() -> None:
    edges = [tuple(pair) for pair in ring(6).T.tolist()]
    lap = oracles.laplacian(oracles.adjacency(6, edges, [1.0] * len(edges)))
    np.testing.assert_allclose(lap, np.eye(6) - ring_neighbours(np.eye(6)) / 2)
