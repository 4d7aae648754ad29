"""In which frequencies the signals of the data lie, and what each layer makes of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from bankgcn.data.graphs import GraphSet
from bankgcn.explain import NUM_BANDS, spectrum_of, trace_of
from bankgcn.report.page.chart import Axis, Chart, Choice, Figure, Series
from bankgcn.training.model import TrainedModel

SAMPLE = 100  # graphs
MAX_NODES = 300  # of a graph: their spectra take cubic time


def sample_for_energy(graphs: GraphSet) -> GraphSet:
    """Graphs at equal distances in the set, without those that are empty or large."""
    fitting = np.flatnonzero((graphs.num_nodes > 0) & (graphs.num_nodes <= MAX_NODES))
    return graphs[fitting[np.linspace(0, len(fitting) - 1, min(SAMPLE, len(fitting))).astype(int)]]


def layer_energies(model: TrainedModel, graphs: GraphSet, num_bands: int = NUM_BANDS) -> Tensor:
    """Energy of the signals before and after each convolution, in equal bands of [0, 2].

    Args:
        model: The model; without pooling.
        graphs: Graphs with its features.
        num_bands: Number of bands.

    Returns:
        Shape ``(num_layers, 2, num_bands)``, float64, added over graphs and channels.
    """
    total = torch.zeros(len(model.net.convs), 2, num_bands, dtype=torch.float64)
    for number in range(len(graphs)):
        graph = graphs[[number]]
        spectrum = spectrum_of(graph)
        assert spectrum is not None
        for place, layer in enumerate(trace_of(model, graph)):
            for side, signal in enumerate((layer.input, layer.convolved)):
                total[place, side] += spectrum.band_energy(signal.double(), num_bands).sum(1)
    return total


def energy_figure(model: TrainedModel, graphs: GraphSet) -> Iterator[Figure]:
    """Shares of the energy in each band: of the signals that enter each layer, and of those that leave it."""
    sample = sample_for_energy(model.conform(graphs))
    if model.net.pools or not len(sample):
        return
    energies = layer_energies(model, sample)
    shares = energies / energies.sum(2, keepdim=True).clamp(min=1e-30)
    width = 2 / NUM_BANDS
    bands = [f"{width * band:g}-{width * (band + 1):g}" for band in range(NUM_BANDS)]
    charts = []
    for before, after in shares.tolist():
        first = Series(kind="bars", name="enters the layer", x=bands, y=before, color=5)
        second = Series(kind="bars", name="leaves its filters", x=bands, y=after, color=1, dash=1)
        charts.append(
            Chart(x=Axis(title="band of frequencies λ"), y=Axis(title="share of energy"), series=(first, second))
        )
    labels = ("layer 1 (the data)", *(f"layer {number}" for number in range(2, len(charts) + 1)))
    yield Figure(
        name="energy",
        title="Where the signals are, and what the filters leave",
        caption="The energy of the node signals in eight bands of frequencies, before and after a convolution; "
        f"mean over {len(sample)} graphs. Bars on the left are slow changes over the graph. Where the second bar "
        "is higher, the filters favour the band.",
        charts=tuple(charts),
        choices=(Choice(name="layer", labels=labels),) if len(charts) > 1 else (),
    )
