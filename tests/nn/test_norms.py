"""Each normalisation equals its formula; GraphNorm equals PyG's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import GraphNorm as PyGGraphNorm

from bankgcn.nn import NORMS, GraphNorm
from bankgcn.nn.activation import l2_norm
from strategies import signals

BATCH = torch.tensor([0, 0, 0, 2, 2, 3, 0])  # graph 1 has no nodes, graph 3 has one; the order is mixed
NUM_GRAPHS = 4


def learned(module: nn.Module) -> nn.Module:
    """The module with parameters other than those at the start."""
    for number, parameter in enumerate(module.parameters()):
        with torch.no_grad():
            parameter.copy_(1 + 0.3 * signals(*parameter.shape, 1, seed=number).flatten())
    return module


def graph_norm(x: np.ndarray, batch: np.ndarray, weight: np.ndarray, bias: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The definition, graph by graph and channel by channel."""
    out = np.empty_like(x)
    for graph in set(batch):
        for channel in range(x.shape[1]):
            values = x[batch == graph, channel]
            centred = values - scale[channel] * values.mean()
            unit = centred / np.sqrt((centred**2).mean() + 1e-5)
            out[batch == graph, channel] = weight[channel] * unit + bias[channel]
    return out


def test_graph_norm_equals_its_definition_and_pygs() -> None:
    norm, theirs = learned(GraphNorm(5)), PyGGraphNorm(5)
    theirs.load_state_dict(norm.state_dict())
    x = signals(7, 5)
    parameters = (p.detach().numpy() for p in (norm.weight, norm.bias, norm.mean_scale))
    expected = graph_norm(x.numpy(), BATCH.numpy(), *parameters)
    torch.testing.assert_close(norm(x, BATCH, NUM_GRAPHS).detach(), torch.from_numpy(expected))
    torch.testing.assert_close(norm(x, BATCH, NUM_GRAPHS), theirs(x, BATCH, NUM_GRAPHS))


def test_graph_norm_starts_as_pygs_and_can_be_reset() -> None:
    norm = learned(GraphNorm(5))
    norm.reset_parameters()
    torch.testing.assert_close(norm.state_dict(), PyGGraphNorm(5).state_dict())


def test_gradients_of_graph_norm_pass_gradcheck() -> None:
    norm, x = learned(GraphNorm(3)), signals(7, 3).requires_grad_()
    names, parameters = zip(*norm.named_parameters(), strict=True)

    def outcome(x: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(norm, dict(zip(names, values, strict=True)), (x, BATCH, NUM_GRAPHS))

    assert torch.autograd.gradcheck(outcome, (x, *parameters))


@pytest.mark.parametrize("kind", [kind for kind in NORMS if kind != "graph"])
def test_every_other_kind_equals_its_formula(kind: str) -> None:
    row, x = NORMS[kind], signals(7, 5)
    modules = [learned(module) for module in row.modules(5, 2)]
    assert len(modules) == (2 if kind in ("layer", "batch") else 0)
    weight, bias = (modules[0].weight, modules[0].bias) if modules else (1.0, 0.0)
    by_hand = {
        "l2": x / x.square().sum(1, keepdim=True).sqrt(),
        "layer": (x - x.mean(1, keepdim=True)) / (x.var(1, correction=0, keepdim=True) + 1e-5).sqrt(),
        "batch": (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt(),
        "none": x,
    }
    out = row.apply(modules[0] if modules else None, x, BATCH, NUM_GRAPHS)
    torch.testing.assert_close(out, by_hand[kind] * weight + bias)


@pytest.mark.parametrize("nodes", [0, 1])
def test_batch_norm_of_fewer_than_two_nodes_uses_the_running_statistics(nodes: int) -> None:
    (norm,) = NORMS["batch"].modules(3, 1)
    norm(5 + 2 * signals(100, 3))
    before = {name: value.clone() for name, value in norm.state_dict().items()}
    x = signals(nodes, 3)
    batch = torch.zeros(nodes, dtype=torch.long)
    out = NORMS["batch"].apply(norm, x, batch, 1)
    torch.testing.assert_close(norm.state_dict(), before, rtol=0, atol=0)
    torch.testing.assert_close(out, norm.eval()(x))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_zeros_stay_zeros_in_every_precision(dtype: torch.dtype) -> None:
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=dtype)
    torch.testing.assert_close(l2_norm(x), torch.tensor([[0.0, 0.0], [0.6, 0.8]], dtype=dtype))
