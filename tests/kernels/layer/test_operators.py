"""The kernels as operators pass PyTorch's own checks, and compiled graphs contain them where they should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import bankgcn.kernels.layer.operators  # noqa: F401  # registers the operators
from bankgcn import BankConv, BankGCN, GraphShift
from bankgcn.kernels import use_kernels
from bankgcn.nn.activation import ACTIVATIONS, activate_and_read
from bankgcn.spectral import chebyshev
from refusals import refused
from strategies import disjoint_union, ring, signals

pytestmark = pytest.mark.filterwarnings(  # warnings of torch.compile about itself
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"
)
ours = torch.ops.bankgcn


def filter_inputs() -> tuple[Tensor, ...]:
    shift = GraphShift.from_edges(ring(6), num_nodes=6)
    x, c = signals(6, 4).requires_grad_(), signals(3, 2, seed=1).requires_grad_()
    return shift.rowptr, shift.col, shift.weight, x, c


def test_the_filter_passes_pytorchs_checks() -> None:
    inputs = filter_inputs()
    torch.library.opcheck(ours.filter_bank.default, inputs)
    fixed = [tensor.detach() for tensor in inputs]
    torch.library.opcheck(ours.filter_bank_adjoint.default, (*fixed, signals(6, 4, seed=2)))


@pytest.mark.parametrize("with_max", [True, False])
@pytest.mark.parametrize("normalize", ACTIVATIONS)
def test_the_activation_passes_pytorchs_checks(normalize: str, with_max: bool) -> None:
    h, batch = signals(5, 3).requires_grad_(), torch.tensor([0, 0, 1, 1, 1])
    torch.library.opcheck(ours.activate_and_read.default, (h, batch, 2, normalize, with_max))
    x, scale, mean, highest = ours.activate_and_read(h.detach(), batch, 2, normalize, with_max)
    gradients = [signals(*result.shape, seed=3) for result in (x, mean, highest)]
    inputs = (h.detach(), batch, normalize, x, scale, highest, *gradients)
    torch.library.opcheck(ours.activate_and_read_adjoint.default, inputs)


def compiled(function: Callable[..., Any]) -> tuple[Callable[..., Any], list[str]]:
    """The function as one graph, and the names of our operators in it."""
    used: list[str] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
        used.extend(str(node.target) for node in graph.graph.nodes if "bankgcn" in str(node.target))
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)

    torch._dynamo.reset()
    return torch.compile(function, backend=backend, fullgraph=True), used


def two_rings() -> tuple[Tensor, Tensor, Tensor]:
    edges, batch = disjoint_union([ring(4), ring(5)], [4, 5])
    return signals(9, 3), edges, batch


def test_a_compiled_network_holds_the_operators_and_equals_the_eager_one() -> None:
    net, (x, edges, batch) = BankGCN(3, 2, hidden_channels=16, num_layers=2), two_rings()
    x.requires_grad_()
    fast, used = compiled(lambda x: net(x, edges, batch, batch_size=2))
    results = {}
    for name, network in (("fast", fast), ("slow", lambda x: net(x, edges, batch, batch_size=2))):
        logits = network(x)
        results[name] = [logits, *torch.autograd.grad(logits.square().sum(), [x, *net.parameters()])]
    assert used == ["bankgcn.filter_bank", "bankgcn.activate_and_read"] * 2
    for one, other in zip(results["fast"], results["slow"], strict=True):
        torch.testing.assert_close(one, other)


def test_a_layer_used_twice_in_a_compiled_graph_adds_its_gradients() -> None:
    conv, (x, edges, _) = BankConv(8, 8), two_rings()
    shift, x = GraphShift.from_edges(edges, num_nodes=9), signals(9, 8)
    fast, used = compiled(lambda x: conv(conv(x, shift), shift))
    inputs = list(conv.parameters())
    found = torch.autograd.grad(fast(x).square().sum(), inputs)
    expected = torch.autograd.grad(conv(conv(x, shift), shift).square().sum(), inputs)
    assert used == ["bankgcn.filter_bank"] * 2
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_a_graph_without_kernels_or_under_torch_func_or_exported_is_plain() -> None:
    shift, c = GraphShift.from_edges(ring(6), num_nodes=6), signals(3, 2)
    x, batch = signals(6, 4), torch.zeros(6, dtype=torch.long)

    def energy(x: Tensor) -> Tensor:
        return activate_and_read(chebyshev.apply(shift, x, c), batch, 1)[1].square().sum()

    fast, used = compiled(energy)
    with use_kernels(False):
        torch.testing.assert_close(fast(x), energy(x))
    gradient, used_by_func = compiled(torch.func.grad(energy))
    torch.testing.assert_close(gradient(x), torch.func.grad(energy)(x))
    assert used == used_by_func == []

    program = torch.export.export(BankGCN(3, 2, hidden_channels=16, num_layers=1), two_rings())
    assert "bankgcn" not in str(program.graph)


def test_a_broken_shift_is_refused_by_the_operator_too() -> None:
    rowptr, _, weight, x, c = filter_inputs()
    with refused(ValueError, "0 to 5"):
        ours.filter_bank(rowptr, torch.full((12,), 6), weight, x, c)
