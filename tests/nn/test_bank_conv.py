"""The layer equals its equations, and other layers of the literature in special cases; wrong arguments raise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch_geometric.nn import ChebConv

import oracles
from bankgcn import BankConv
from bankgcn.spectral import BASES, GraphShift, Jacobi, RectangularPulses, Spectrum
from refusals import refused
from strategies import RandomGraph, disjoint_union, graphs, ring, signals

POLYNOMIAL_BASES = [name for name in BASES if name != "pulses"]


@pytest.mark.parametrize("basis", POLYNOMIAL_BASES)
@given(graph=graphs(), order=st.integers(0, 4), num_subspaces=st.sampled_from([1, 2, 3, 6]), shortcut=st.booleans())
def test_layer_equals_its_equations(
    basis: str, graph: RandomGraph, order: int, num_subspaces: int, shortcut: bool
) -> None:
    conv = BankConv(4, 6, order, num_subspaces, basis=basis, shortcut=shortcut)
    x = signals(graph.num_nodes, 4)
    out = conv(x, graph.edge_index, graph.edge_weight)
    weight, bias, alpha = (p.detach().numpy() for p in (conv.project.weight, conv.project.bias, conv.alpha))
    expected = oracles.bank_conv(graph.laplacian, x.numpy(), weight, bias, alpha, basis, shortcut)
    np.testing.assert_allclose(out.detach(), expected, atol=1e-10)


def test_projected_pulses_filter_like_their_own_response() -> None:
    conv = BankConv(3, 8, order=3, num_subspaces=4, basis=RectangularPulses(degree=7), shortcut=False)
    assert conv.alpha.shape == (4, 4)
    with torch.no_grad():
        conv.alpha.copy_(torch.eye(4))  # one band for each subspace
        x = signals(10, 3)
        shift = GraphShift.from_edges(ring(10), num_nodes=10)
        out = conv(x, shift)
        bands = Spectrum.of(shift).convolve(conv.project(x), conv.response)
    for p in range(4):
        torch.testing.assert_close(out[:, 2 * p : 2 * p + 2], bands[p][:, 2 * p : 2 * p + 2])


def test_first_order_gcn_is_one_filter_with_its_shortcut() -> None:
    conv = BankConv(3, 5, order=1, num_subspaces=1)
    nn.init.constant_(conv.alpha[0, 0], 0)
    nn.init.constant_(conv.alpha[0, 1], -1)
    x, shift = signals(7, 3), GraphShift.from_edges(ring(7), num_nodes=7)
    two_minus_laplacian = 2 * torch.eye(7) - (torch.eye(7) + shift.to_dense())
    torch.testing.assert_close(conv(x, shift), two_minus_laplacian @ conv.project(x))


@given(graph=graphs())
def test_layer_is_a_chebyshev_convolution_with_shared_columns(graph: RandomGraph) -> None:
    """PyG's ChebConv(K=3) with Theta^(k) = W scaled column-wise by alpha[:, k], and W added to Theta^(0)."""
    bank = BankConv(4, 6, order=2, num_subspaces=3, bias=False)
    cheb = ChebConv(4, 6, K=3, normalization="sym", bias=False)
    with torch.no_grad():
        for k, lin in enumerate(cheb.lins):
            scale = bank.alpha[:, k].repeat_interleave(2) + (k == 0)
            lin.weight.copy_(bank.project.weight * scale.unsqueeze(-1))
    x = signals(graph.num_nodes, 4)
    torch.testing.assert_close(
        bank(x, graph.edge_index, graph.edge_weight), cheb(x, graph.edge_index, graph.edge_weight), atol=1e-10, rtol=0
    )


@given(graph=graphs(), seed=st.integers(0, 2**31))
def test_a_permutation_of_the_nodes_permutes_the_output(graph: RandomGraph, seed: int) -> None:
    conv, x = BankConv(4, 6, num_subspaces=3), signals(graph.num_nodes, 4)
    permutation = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(seed))
    permuted = torch.argsort(permutation)[graph.edge_index]
    out = conv(x, graph.edge_index, graph.edge_weight)
    torch.testing.assert_close(conv(x[permutation], permuted, graph.edge_weight), out[permutation])


@given(st.lists(graphs(max_nodes=5, weighted=False), min_size=1, max_size=4))
def test_a_batch_equals_its_graphs_one_by_one(batch: list[RandomGraph]) -> None:
    conv = BankConv(4, 6, num_subspaces=3)
    sizes = [graph.num_nodes for graph in batch]
    x = signals(sum(sizes), 4)
    edges, _ = disjoint_union([graph.edge_index for graph in batch], sizes)
    singles = [conv(part, graph.edge_index) for part, graph in zip(x.split(sizes), batch, strict=True)]
    torch.testing.assert_close(conv(x, edges), torch.cat(singles))


@pytest.mark.parametrize("basis", list(BASES))
def test_gradients_pass_gradcheck(basis: str) -> None:
    conv = BankConv(2, 4, num_subspaces=2, basis=basis)
    names = [name for name, _ in conv.named_parameters()]
    assert sorted(names) == ["alpha", "project.bias", "project.weight"]

    def call(x: torch.Tensor, weight: torch.Tensor, *parameters: torch.Tensor) -> torch.Tensor:
        arguments = (x, ring(5), torch.cat([weight, weight]))
        return torch.func.functional_call(conv, dict(zip(names, parameters, strict=True)), arguments)

    inputs = (signals(5, 2), torch.rand(5), *(p.detach().clone() for p in conv.parameters()))
    assert torch.autograd.gradcheck(call, tuple(tensor.requires_grad_() for tensor in inputs))
    inputs[1].requires_grad_(False)  # now the backward pass written by hand is used
    assert torch.autograd.gradcheck(call, inputs)


def test_response_is_what_the_filter_does() -> None:
    conv = BankConv(4, 6, order=3, num_subspaces=3)
    spectrum = Spectrum.of(GraphShift.from_edges(ring(9), num_nodes=9))
    g = conv.response(spectrum.lam)
    assert g.shape == (3, 9)
    np.testing.assert_allclose(g.detach(), oracles.response(conv.alpha.detach().numpy(), spectrum.lam.numpy()))
    torch.testing.assert_close(conv.response(spectrum.lam, shortcut=True), g + 1)
    assert torch.equal(conv.response([0, 2]), conv.response(torch.tensor([0.0, 2.0])))
    g.sum().backward()
    assert conv.alpha.grad.abs().sum() > 0


def test_response_of_a_layer_without_shortcut_never_adds_it() -> None:
    conv = BankConv(4, 6, num_subspaces=3, shortcut=False)
    lam = torch.linspace(0, 2, 5)
    assert torch.equal(conv.response(lam, shortcut=True), conv.response(lam))


def test_one_input_channel_makes_every_feature_map_a_subspace() -> None:
    conv = BankConv(1, 10, num_subspaces=8)
    assert conv.num_subspaces == 10
    assert conv.alpha.shape == (10, 3)
    assert conv(signals(5, 1), ring(5)).shape == (5, 10)


def test_projection_can_be_an_mlp_or_any_module() -> None:
    mlp = BankConv(3, 8, projection="mlp")
    assert [type(module) for module in mlp.project] == [nn.Linear, nn.ReLU, nn.Linear]
    own = nn.Sequential(nn.Linear(3, 8), nn.Tanh())
    conv = BankConv(3, 8, projection=own)
    assert conv.project is own
    x, shift = signals(5, 3), GraphShift.from_edges(ring(5), num_nodes=5)
    expected = torch.stack(list(Spectrum.of(shift).convolve(own(x), lambda lam: conv.response(lam, shortcut=True))))
    torch.testing.assert_close(conv(x, shift), torch.stack([expected[p][:, p] for p in range(8)], dim=1))


def test_a_given_projection_keeps_its_weights() -> None:
    trained = nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 8))
    before = [parameter.clone() for parameter in trained.parameters()]
    one, other = BankConv(3, 8, projection=trained), BankConv(3, 8, projection=trained)  # shared by two layers
    assert one.project is other.project
    assert all(torch.equal(p, q) for p, q in zip(trained.parameters(), before, strict=True))
    assert not torch.equal(one.alpha, other.alpha)
    one.reset_parameters()
    assert not any(torch.equal(p, q) for p, q in zip(trained.parameters(), before, strict=True))


def test_a_seed_gives_the_same_weights_as_in_the_first_version() -> None:
    torch.manual_seed(7)
    conv = BankConv(3, 8)
    torch.manual_seed(7)
    linear = nn.Linear(3, 8)
    linear.reset_parameters()  # the first version drew them twice: stored results stay reproducible
    assert torch.equal(conv.project.weight, linear.weight)
    assert torch.equal(conv.alpha, nn.init.xavier_uniform_(torch.empty(8, 3)))


def test_order_zero_uses_no_neighbours() -> None:
    conv, x = BankConv(3, 8, order=0), signals(6, 3)
    torch.testing.assert_close(conv(x, ring(6)), conv(x, torch.empty(2, 0, dtype=torch.long)))


def test_reset_reinitialises_everything_reproducibly() -> None:
    conv = BankConv(3, 8, projection="mlp")
    before = {name: p.clone() for name, p in conv.state_dict().items()}
    torch.manual_seed(7)
    conv.reset_parameters()
    after = {name: p.clone() for name, p in conv.state_dict().items()}
    assert all(not torch.equal(before[name], after[name]) for name in before)
    torch.manual_seed(7)
    conv.reset_parameters()
    assert all(torch.equal(p, after[name]) for name, p in conv.state_dict().items())


def test_a_layer_with_zero_filters_is_its_shortcut() -> None:
    conv, x = BankConv(3, 8, initial_alpha="zeros"), signals(6, 3)
    assert torch.equal(conv(x, ring(6)), conv.project(x))


def test_a_layer_made_in_single_precision_is_exact_after_double() -> None:
    torch.set_default_dtype(torch.float32)
    conv = BankConv(4, 6, order=3, num_subspaces=3, basis="legendre").double()
    x, shift = signals(6, 4), GraphShift.from_edges(ring(6), num_nodes=6, dtype=torch.float64)
    weight, bias, alpha = (p.detach().numpy() for p in (conv.project.weight, conv.project.bias, conv.alpha))
    expected = oracles.bank_conv((torch.eye(6) + shift.to_dense()).numpy(), x.numpy(), weight, bias, alpha, "legendre")
    np.testing.assert_allclose(conv(x, ring(6)).detach(), expected, atol=1e-12)


def test_repr_shows_the_arguments() -> None:
    assert repr(BankConv(3, 8, basis=Jacobi(0.5, 2.0))) == (
        "BankConv(3, 8, order=2, num_subspaces=8, basis=Jacobi(a=0.5, b=2.0))"
    )


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (
            {"out_channels": 10, "num_subspaces": 4},
            ("out_channels=10", "num_subspaces=4", "num_subspaces=5", "out_channels=12"),
        ),
        ({"out_channels": 7, "num_subspaces": 8}, ("num_subspaces=7", "out_channels=8")),
        ({"out_channels": 1, "num_subspaces": 8}, ("num_subspaces=1", "out_channels=8")),
        ({"order": -1}, ("order=-1",)),
        ({"num_subspaces": 0}, ("num_subspaces=0",)),
        ({"in_channels": 0}, ("in_channels=0",)),
        ({"in_channels": -2}, ("in_channels=-2",)),
        ({"out_channels": 0}, ("out_channels=0",)),
        ({"basis": "fourier"}, ("basis", "'fourier'")),
        ({"projection": "cnn"}, ("projection", "'cnn'")),
        ({"initial_alpha": "ones"}, ("initial_alpha", "'ones'")),
    ],
)
def test_bad_arguments_are_named(arguments: dict, named: tuple) -> None:
    with refused(ValueError, *named):
        BankConv(**{"in_channels": 3, "out_channels": 8, **arguments})


@pytest.mark.parametrize(
    ("x", "named"),
    [
        (torch.ones(5, 4), ("x", "4 channels", "in_channels=3")),
        (torch.ones(5, 3, dtype=torch.long), ("x", "torch.int64")),
        (torch.ones(5), ("x", (5,))),
        (torch.ones(4, 3), ("num_nodes=4",)),
    ],
)
def test_bad_signals_are_named(x: torch.Tensor, named: tuple) -> None:
    with refused(ValueError, *named):
        BankConv(3, 8)(x, ring(5))


def test_a_projection_of_the_wrong_width_is_named() -> None:
    with refused(ValueError, "projection", (5, 3), (5, 7), 5, out_channels=8):
        BankConv(3, 8, projection=nn.Linear(3, 7))(signals(5, 3), ring(5))


@pytest.mark.parametrize("lam", [[-0.1, 1.0], [1.0, 2.1], [float("nan")]])
def test_frequencies_out_of_range_raise(lam: list[float]) -> None:
    with pytest.raises(ValueError, match=r"frequencies lie in \[0, 2\]"):
        BankConv(3, 8).response(lam)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
@pytest.mark.parametrize("in_channels", [3, -1])
def test_a_signal_of_another_precision_is_refused_with_advice(dtype: torch.dtype, in_channels: int) -> None:
    conv = BankConv(in_channels, 8).float()
    edges = torch.tensor([[0, 1], [1, 0]])
    with refused(ValueError, "x", dtype, "x.to(torch.float32"):
        conv(torch.ones(2, 3, dtype=dtype), edges)
    with torch.autocast("cpu", dtype=torch.bfloat16):  # which converts the signal itself
        assert conv(torch.ones(2, 3, dtype=torch.bfloat16), edges).shape == (2, 8)
