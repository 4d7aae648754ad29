"""The generated task is what it claims to be: two classes that differ only in the frequency of a texture."""

from __future__ import annotations

import numpy as np
import torch

from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.spectral import Spectrum
from refusals import refused


def test_the_same_seed_draws_the_same_graphs() -> None:
    assert smooth_or_alternating(20, seed=3).fingerprint == smooth_or_alternating(20, seed=3).fingerprint
    assert smooth_or_alternating(20, seed=3).fingerprint != smooth_or_alternating(20, seed=4).fingerprint


def test_classes_share_mean_size_and_values_but_not_frequencies() -> None:
    graphs = smooth_or_alternating(400)
    assert graphs.classes == ("smooth", "alternating")
    assert np.bincount(graphs.y).tolist() == [200, 200]
    energy, values, sizes = [], [], []
    for label in (0, 1):
        chosen = graphs[graphs.y == label]
        assert all(abs(single.x.mean()) < 1e-6 for single in chosen.batches(1))
        spectra = [(Spectrum.of(single.shift), single.x) for single in chosen.batches(1)]
        energy.append(torch.stack([s.band_energy(x, 4).flatten() / len(x) for s, x in spectra]).mean(0))
        values.append(np.quantile(np.abs(chosen.attributes), [0.25, 0.5, 0.75]))
        sizes.append(chosen.num_nodes.mean())
    np.testing.assert_allclose(values[0], values[1], atol=0.1)
    assert abs(sizes[0] - sizes[1]) < 1
    assert energy[1][3] > 3 * energy[0][3]  # the texture alternates: more in the highest quarter of the spectrum


def test_graphs_are_two_colourable() -> None:
    for single in smooth_or_alternating(10).batches(1):
        assert ((single.edge_index[0] - single.edge_index[1]) % 2 == 1).all()


def test_no_graphs_are_refused() -> None:
    with refused(ValueError, num_graphs=0):
        smooth_or_alternating(0)
