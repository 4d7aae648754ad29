"""The transform equals its sums; exact filtering, band energies and frame bounds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given

import oracles
from bankgcn.spectral import GraphShift, RectangularPulses, Spectrum, frame_bounds, normalized_laplacian
from refusals import refused
from strategies import RandomGraph, graphs, ring, signals


def spectrum_of(graph: RandomGraph) -> Spectrum:
    return Spectrum.of(GraphShift.from_edges(graph.edge_index, graph.edge_weight, num_nodes=graph.num_nodes))


@given(graphs())
def test_modes_diagonalise_the_laplacian(graph: RandomGraph) -> None:
    spectrum = spectrum_of(graph)
    u, lam = spectrum.modes, spectrum.lam
    np.testing.assert_allclose(u @ torch.diag(lam) @ u.T, graph.laplacian, atol=1e-10)
    assert (lam.diff() >= 0).all()
    assert 0 <= lam[0] <= lam[-1] <= 2
    shift = GraphShift.from_edges(graph.edge_index, graph.edge_weight, num_nodes=graph.num_nodes)
    np.testing.assert_allclose(normalized_laplacian(shift), graph.laplacian, atol=1e-12)


@given(graphs())
def test_transforms_equal_their_sums_and_are_inverses(graph: RandomGraph) -> None:
    spectrum, x = spectrum_of(graph), signals(graph.num_nodes, 2)
    x_hat = spectrum.gft(x)
    np.testing.assert_allclose(x_hat, oracles.gft(x.numpy(), spectrum.modes.numpy()), atol=1e-10)
    np.testing.assert_allclose(spectrum.igft(x_hat), oracles.igft(x_hat.numpy(), spectrum.modes.numpy()), atol=1e-10)
    torch.testing.assert_close(spectrum.igft(x_hat), x)


@given(graphs())
def test_convolution_by_any_response(graph: RandomGraph) -> None:
    x = signals(graph.num_nodes, 2)
    out = spectrum_of(graph).convolve(x, lambda lam: torch.exp(-3 * lam))
    lam, u = oracles.fourier(graph.laplacian)
    np.testing.assert_allclose(out, u @ np.diag(np.exp(-3 * lam)) @ u.T @ x.numpy(), atol=1e-10)


def test_a_bank_convolves_filter_by_filter() -> None:
    spectrum, x = Spectrum.of(GraphShift.from_edges(ring(9), num_nodes=9)), signals(9, 2)
    out = spectrum.convolve(x, lambda lam: torch.stack([lam, lam**2]))
    assert out.shape == (2, 9, 2)
    torch.testing.assert_close(out[1], spectrum.convolve(x, torch.square))


def test_ideal_sub_bands_partition_the_signal_and_its_energy() -> None:
    spectrum, x = Spectrum.of(GraphShift.from_edges(ring(10), num_nodes=10)), signals(10, 3)
    parts = spectrum.convolve(x, lambda lam: RectangularPulses().evaluate(lam - 1, 3))
    torch.testing.assert_close(parts.sum(0), x)
    torch.testing.assert_close(spectrum.band_energy(x, 4), parts.square().sum(1))


@given(graphs())
def test_band_energies_add_up_to_the_signal(graph: RandomGraph) -> None:
    x = signals(graph.num_nodes, 2)
    torch.testing.assert_close(spectrum_of(graph).band_energy(x, 5).sum(0), x.square().sum(0))


def test_a_constant_is_in_the_lowest_band_of_a_ring_and_an_alternating_signal_in_the_highest() -> None:
    spectrum = Spectrum.of(GraphShift.from_edges(ring(8), num_nodes=8))
    x = torch.stack([torch.ones(8), torch.tensor([1.0, -1.0] * 4)], dim=1)
    torch.testing.assert_close(spectrum.band_energy(x, 4), torch.tensor([[8.0, 0], [0, 0], [0, 0], [0, 8.0]]))
    with refused(ValueError, num_bands=0):
        spectrum.band_energy(x, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_frequency_at_the_edge_of_two_bands_belongs_to_the_upper_one(dtype: torch.dtype) -> None:
    square = Spectrum.of(GraphShift.from_edges(ring(4), num_nodes=4, dtype=dtype))  # frequencies 0, 1, 1, 2
    assert square.bands(2).tolist() == [0, 1, 1, 1]
    left, right = (part.flatten() for part in torch.meshgrid(torch.arange(300), torch.arange(300, 701), indexing="ij"))
    edges = torch.stack([torch.cat([left, right]), torch.cat([right, left])])
    bipartite = Spectrum.of(GraphShift.from_edges(edges, num_nodes=701, dtype=dtype))  # complete: all but two are 1
    assert bipartite.bands(2).tolist() == [0] + 700 * [1]


def test_frame_bounds_are_the_least_and_greatest_gain() -> None:
    lam = torch.linspace(0, 2, 50)
    low_and_high = torch.stack([(1 - lam / 2).sqrt(), (lam / 2).sqrt()])
    assert frame_bounds(low_and_high) == pytest.approx((1, 1))  # a tight frame
    assert frame_bounds(low_and_high[:1]) == pytest.approx((0, 1))  # the low pass alone loses the highest frequency
    with refused(ValueError, "response", (50,)):
        frame_bounds(lam)
