"""Responses, frame bounds and energies against the layers themselves."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bankgcn.data.builtin import MUTAG_BONDS, mutag
from bankgcn.explain import spectrum_of, trace_of
from bankgcn.nn.network import BankGCN, GraphNetwork
from bankgcn.report.page.filters import (
    edge_figure,
    edge_kinds,
    energy_figure,
    filter_figures,
    frequencies,
    gain,
    layer_energies,
)
from bankgcn.tasks import Task
from bankgcn.training.config import ModelConfig
from bankgcn.training.model import TrainedModel


@pytest.mark.parametrize("basis", ["chebyshev", "bernstein"])
def test_curves_are_the_responses_of_the_layer_with_and_without_the_shortcut(basis: str) -> None:
    net = BankGCN(5, 2, hidden_channels=16, num_layers=2, num_subspaces=4, order=3, basis=basis)
    responses, gains = filter_figures(net, 2.0)
    assert [choice.labels for choice in responses.choices] == [("layer 1", "layer 2"), ("left out", "added")]
    for place, chart in enumerate(responses.charts):
        conv, shortcut = net.convs[place // 2], bool(place % 2)
        expected = conv.response(frequencies(), shortcut=shortcut).detach().numpy()
        drawn = np.array([series.y for series in chart.series if series.name])
        np.testing.assert_allclose(drawn, expected, rtol=1e-12)
    total = net.convs[1].response(frequencies(), shortcut=True).square().mean(0).detach()
    np.testing.assert_allclose(gains.charts[0].series[1].y, total.numpy())
    torch.testing.assert_close(gain(net.convs[1].response(frequencies(), shortcut=True)), total)


def test_facts_name_omega_and_the_frame_bounds_of_a_fine_grid() -> None:
    net = BankGCN(5, 2, hidden_channels=16, num_layers=1, num_subspaces=4, order=1)
    responses, _ = filter_figures(net, 2.0)
    energy = net.convs[0].response(torch.linspace(0, 2, 5001)).square().sum(0)
    assert f"Ω = {net.coherence().item():.3f}" in responses.facts[0]
    bounds = responses.facts[0].split("Frame bounds A = ")[1].split(":")[0]
    least, greatest = (float(word) for word in bounds.split(", B = "))
    assert least == pytest.approx(energy.min().item(), rel=0.02)
    assert greatest == pytest.approx(energy.max().item(), rel=0.02)


def test_a_signal_with_one_channel_draws_the_strongest_filters_alone() -> None:
    responses, _ = filter_figures(BankGCN(1, 2, hidden_channels=64, num_layers=1), 2.0)
    assert sum(bool(series.name) for series in responses.charts[0].series) == 16
    assert "16 strongest of 64" in responses.facts[0]


@pytest.mark.parametrize("conv", ["gcn", "sage", "gin", "cheb", "mlp"])
def test_the_effective_response_of_other_models_is_what_they_do_to_a_mode_of_a_ring(conv: str) -> None:
    """On a ring, every node has degree 2, and the output of a mode is the mode times the response."""
    net = GraphNetwork(4, 2, hidden_channels=4, num_layers=1, conv=conv)
    layer = net.convs[0]
    (figure,) = filter_figures(net, 2.0)
    n = 12
    edges = torch.tensor([[a, (a + d) % n] for a in range(n) for d in (1, -1)]).T
    gains = []
    for k in (0, 3, 6):
        mode = torch.cos(2 * torch.pi * k * torch.arange(n, dtype=torch.float64) / n)
        gains.append(_gain(layer, conv, mode / mode.norm(), edges))
    lam = [0.0, 1.0, 2.0]
    drawn = np.interp(lam, figure.charts[0].series[0].x, figure.charts[0].series[0].y)
    ratio = np.array(gains) / max(gains) * drawn.max()
    np.testing.assert_allclose(drawn, ratio, atol=1e-6)


def _gain(layer: torch.nn.Module, conv: str, mode: torch.Tensor, edges: torch.Tensor) -> float:
    """Root of the mean squared gain over input channels, without biases and inner networks."""
    with torch.no_grad():
        zero = torch.zeros(len(mode), 4)
        if conv == "gin":
            aggregated = layer.propagate(edges, x=(mode[:, None], mode[:, None])) + (1 + layer.eps) * mode[:, None]
            return aggregated.norm().item()
        gains = []
        for channel in range(4):
            x = zero.clone()
            x[:, channel] = mode
            gains.append((layer(x, edges) - layer(zero, edges)).square().sum().item())
        return float(np.sqrt(np.mean(gains)))


def test_attention_has_no_response() -> None:
    assert list(filter_figures(GraphNetwork(4, 2, hidden_channels=8, num_layers=1, conv="gat"), 2.0)) == []


def trained() -> TrainedModel:
    config = ModelConfig(hidden_channels=16, num_layers=2)
    return TrainedModel(config.build(7, 2).eval(), config, Task(names=("-1", "1")), 7)


def test_energies_of_the_bands_add_up_to_those_of_the_signals() -> None:
    graphs, model = mutag()[:4], trained()
    energies = layer_energies(model, graphs)
    for place in range(2):
        for side, name in enumerate(("input", "convolved")):
            total = sum(
                getattr(trace_of(model, graphs[[g]])[place], name).double().square().sum().item() for g in range(4)
            )
            assert energies[place, side].sum().item() == pytest.approx(total)


def test_what_leaves_a_bank_is_the_projected_signal_times_its_response() -> None:
    graphs, model = mutag()[:1], trained()
    spectrum, conv = spectrum_of(graphs), model.net.convs[0]
    assert spectrum is not None
    r = conv.project(trace_of(model, graphs)[0].input).detach()
    response = conv.response(spectrum.lam, shortcut=True).detach().repeat_interleave(2, 0).T  # two channels a filter
    expected = torch.zeros(8).index_add(0, spectrum.bands(8), (spectrum.gft(r) * response).square().sum(1))
    torch.testing.assert_close(layer_energies(model, graphs)[0, 1], expected)


def test_the_figure_of_energy_shows_shares() -> None:
    (figure,) = energy_figure(trained(), mutag()[:5])
    for chart in figure.charts:
        assert [sum(series.y) for series in chart.series] == pytest.approx([1, 1])


def test_the_weights_of_kinds_of_edges_are_means_over_the_edges_of_the_graphs() -> None:
    graphs = mutag()[:20]
    config = ModelConfig(hidden_channels=16, num_layers=2, conv_options={"num_subspaces": 4}, edges="weights")
    net = config.build(7, 2, edge_dim=4).eval()
    with torch.no_grad():
        for conv in net.convs:
            conv.weigh_edges.weight.normal_()
    model = TrainedModel(net, config, Task(names=("a", "b")), 7, edge_dim=4)
    (figure,) = edge_figure(model, graphs)
    assert [choice.labels for choice in figure.choices] == [("layer 1", "layer 2")]
    features = graphs.edge_signals()
    present = [bond for bond in range(4) if features[:, bond].any()]
    for conv, chart in zip(net.convs, figure.charts, strict=True):
        (heat,) = chart.series
        counts = [int(features[:, bond].sum()) // 2 for bond in present]
        assert heat.y == [f"{MUTAG_BONDS[bond]} ({count:,})" for bond, count in zip(present, counts, strict=True)]
        expected = conv.edge_weights(torch.eye(4)[present]).detach().numpy()
        np.testing.assert_allclose(2 * np.array(heat.z), expected, rtol=1e-5)
        assert heat.text[0][0] == f"{expected[0, 0]:.2f}"
        assert f"{expected.min():.2f} and {expected.max():.2f}" in figure.facts[figure.charts.index(chart)]
    plain = ModelConfig(hidden_channels=16, num_layers=2)
    assert not list(edge_figure(TrainedModel(plain.build(7, 2), plain, model.task, 7), graphs))


def test_kinds_of_edges_follow_from_their_columns() -> None:
    features = np.array([[1, 0, 0.5, 1], [0, 1, 1.5, 0], [0, 1, 2.5, 0]], np.float32)
    kinds = dict(edge_kinds(["bond=a", "bond=b", "length", "ring"], features))
    assert {name: chosen.tolist() for name, chosen in kinds.items()} == {
        "bond=a": [True, False, False],
        "bond=b": [False, True, True],
        "length up to 1.5": [True, True, False],
        "length above 1.5": [False, False, True],
        "ring": [True, False, False],
    }
    alone = dict(edge_kinds(["bond=a", "bond=b"], features[:, :2]))
    assert list(alone) == ["a", "b"]
    halves = dict(edge_kinds(["length"], np.array([[1.0], [2.0], [2.0], [2.0]], np.float32)))
    assert sum(chosen.sum() for chosen in halves.values()) == 4
    assert all(chosen.any() for chosen in halves.values())
    assert not list(edge_kinds(["length"], np.zeros((0, 1), np.float32)))
