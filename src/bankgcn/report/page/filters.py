"""The filters of a network over the frequencies [0, 2], and its weights of edges, as figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.data.graphs import GraphSet
from bankgcn.explain import NUM_BANDS, PLAIN_FREQUENCIES, spectrum_of, trace_of
from bankgcn.nn.bank_conv import BankConv, mutual_coherence
from bankgcn.nn.network import GraphNetwork
from bankgcn.report.page.drawing import edge_columns
from bankgcn.report.page.page import Axis, Chart, Choice, Figure, Series, choice_of
from bankgcn.spectral.basis import chebyshev_values
from bankgcn.spectral.fourier import frame_bounds
from bankgcn.training.model import TrainedModel

POINTS = 101
MAX_FILTERS = 16  # of a layer that are drawn: with one input channel, every output channel has its own
LOST = 1e-6  # a gain below it
FREQUENCY = Axis(title="frequency λ (0: neighbours alike, 2: neighbours opposite)", limits=(0, 2))
OWN_GRAPH = (
    "Each filter works on a graph of its own, with the weights of its subspace: the frequencies are those there."
)
HOW = "Left are slow changes over the graph, right are fast ones."


def frequencies() -> Tensor:
    """Where responses are computed."""
    return torch.linspace(0, 2, POINTS, dtype=torch.float64)


def gain(response: Tensor) -> Tensor:
    r"""What a bank does to the energy at each frequency: :math:`\sum_p |\hat g_p(\lambda)|^2 / s`."""
    return response.square().mean(0)


def filter_figures(net: GraphNetwork, mean_degree: float) -> Iterator[Figure]:
    """Responses and gain of filter banks; of other networks the effective response, where there is one."""
    if isinstance(net.convs[0], BankConv):
        yield _responses([conv for conv in net.convs if isinstance(conv, BankConv)])
        yield _gains([conv for conv in net.convs if isinstance(conv, BankConv)])
        return
    rule = EFFECTIVE.get(type(net.convs[0]).__name__)
    if rule is not None:
        yield _effective(net, mean_degree, *rule)


@torch.no_grad()
def _responses(convs: list[BankConv]) -> Figure:
    lam = frequencies()
    charts, facts = [], []
    for conv in convs:
        energy = conv.response(lam, shortcut=True).double().square().sum(1)
        shown = sorted(energy.argsort(descending=True)[:MAX_FILTERS].tolist())
        omega = mutual_coherence(conv.alpha).item()
        for shortcut in (False, True) if conv.shortcut else (False,):
            response = conv.response(lam, shortcut=shortcut).double()
            low, high = frame_bounds(response)
            lines = [
                Series(name=f"filter {p + 1}", x=lam.tolist(), y=response[p].tolist(), color=place, dash=place)
                for place, p in enumerate(shown)
            ]
            zero = Series(x=(0, 2), y=(0, 0), color=None)
            charts.append(Chart(x=FREQUENCY, y=Axis(title="gain"), series=(zero, *lines), height=400))
            facts.append(_fact(omega, low, high, len(response), len(shown)))
    own = f" {OWN_GRAPH}" if convs[0].weigh_edges is not None else ""
    layers = Choice(name="layer", labels=_layers(convs))
    shortcuts = Choice(name="shortcut", labels=("left out", "added"))
    return Figure(
        name="filters",
        title="The filters of each layer",
        caption=f"One curve for each filter: how much it amplifies each frequency. {HOW} A curve that falls smooths, "
        f"one that rises sharpens; a negative gain turns the sign. Filters that differ share the work.{own}",
        charts=tuple(charts),
        choices=(layers, shortcuts) if convs[0].shortcut else (layers,),
        facts=tuple(facts),
        wide=True,
    )


def _fact(omega: float, low: float, high: float, filters: int, shown: int) -> str:
    bounds = f"Frame bounds A = {low:.3g}, B = {high:.3g}"
    ratio = f"no frequency is lost, the strongest gets {high / low:.1f} times the gain of the weakest"
    meaning = "at least one frequency is lost" if low < LOST else ratio
    more = f" The {shown} strongest of {filters} filters are drawn." if shown < filters else ""
    return f"Ω = {omega:.3f} (1: two filters are alike; smaller: all differ). {bounds}: {meaning}.{more}"


@torch.no_grad()
def _gains(convs: list[BankConv]) -> Figure:
    lam = frequencies()
    lines = [
        Series(name=name, x=lam.tolist(), y=gain(conv.response(lam, shortcut=True).double()).tolist(), color=i, dash=i)
        for i, (name, conv) in enumerate(zip(_layers(convs), convs, strict=True))
    ]
    chart = Chart(x=FREQUENCY, y=Axis(title="mean squared gain"), series=tuple(lines))
    return Figure(
        name="gain",
        title="What each bank passes in all",
        caption=f"The mean over the filters of the squared gain, shortcut included. {HOW} Above 1, a layer makes a "
        "frequency stronger; below 1, weaker. A flat line would treat all frequencies alike.",
        charts=(chart,),
    )


def _layers(convs: list[BankConv]) -> tuple[str, ...]:
    return tuple(f"layer {number}" for number in range(1, len(convs) + 1))


def _norm(matrices: Tensor) -> Tensor:
    """Root of the mean squared gain of matrices, one for each frequency."""
    return matrices.flatten(1).square().mean(1).sqrt()


def _cheb(conv: Any, lam: Tensor, degree: float) -> Tensor:
    weights = torch.stack([one.weight.double() for one in conv.lins])
    values = chebyshev_values(lam - 1, max(len(weights) - 1, 1))[: len(weights)]
    return _norm(torch.einsum("kf,koi->foi", values, weights))


def _sage(conv: Any, lam: Tensor, degree: float) -> Tensor:
    own, others = conv.lin_r.weight.double(), conv.lin_l.weight.double()
    return _norm(own + (1 - lam)[:, None, None] * others)


def _gin(conv: Any, lam: Tensor, degree: float) -> Tensor:
    return (1 + conv.eps.double() + degree * (1 - lam)).abs()


def _gcn(conv: Any, lam: Tensor, degree: float) -> Tensor:
    return (1 - lam * degree / (degree + 1)).abs()


def _flat(conv: Any, lam: Tensor, degree: float) -> Tensor:
    return torch.ones_like(lam)


Response = Callable[[Any, Tensor, float], Tensor]
"""From a convolution, the frequencies and the mean degree to the gain at each frequency."""

EFFECTIVE: dict[str, tuple[Response, str]] = {
    "ChebConv": (_cheb, "exact, over all pairs of channels"),
    "SAGEConv": (_sage, "exact for the modes of the random walk, over all pairs of channels"),
    "GINConv": (_gin, "as on a graph where every node has the mean degree of the data, before the inner network"),
    "GCNConv": (
        _gcn,
        "as on a graph where every node has the mean degree of the data; fixed, nothing of it is learned",
    ),
    "NodewiseLinear": (_flat, "it does not use the edges, so that all frequencies are alike"),
}
"""The response of other convolutions by the name of their class, and how far it holds. Attention has none."""


@torch.no_grad()
def _effective(net: GraphNetwork, degree: float, rule: Response, scope: str) -> Figure:
    lam = frequencies()
    lines = []
    for number, conv in enumerate(net.convs):
        response = rule(conv, lam, degree)
        share = np.asarray(response / response.max().clamp(min=1e-30)).tolist()
        lines.append(Series(name=f"layer {number + 1}", x=lam.tolist(), y=share, color=number, dash=number))
    chart = Chart(x=FREQUENCY, y=Axis(title="gain, largest = 1", limits=(0, 1.05)), series=tuple(lines), height=380)
    return Figure(
        name="filters",
        title="Which frequencies each layer passes",
        caption=f"This model has no filter bank: each layer acts as one filter ({scope}). {HOW} A curve that falls "
        "means that the layer smooths.",
        charts=(chart,),
        wide=True,
    )


SAMPLE = 100  # graphs
MAX_NODES = 300  # of a graph: their spectra take cubic time


def sample_for_energy(graphs: GraphSet) -> GraphSet:
    """Graphs at equal distances in the set, without those that are empty or large."""
    fitting = np.flatnonzero((graphs.num_nodes > 0) & (graphs.num_nodes <= MAX_NODES))
    return graphs[fitting[np.linspace(0, len(fitting) - 1, min(SAMPLE, len(fitting))).astype(int)]]


def layer_energies(model: TrainedModel, graphs: GraphSet) -> Tensor:
    """Energy of the signals before and after each convolution, in equal bands of [0, 2].

    Args:
        model: The model; without pooling.
        graphs: Graphs with its features.

    Returns:
        Shape ``(num_layers, 2, NUM_BANDS)``, float64, added over graphs and channels.
    """
    total = torch.zeros(len(model.network.convs), 2, NUM_BANDS, dtype=torch.float64)
    for number in range(len(graphs)):
        graph = graphs[[number]]
        spectrum = spectrum_of(graph)
        assert spectrum is not None
        for place, layer in enumerate(trace_of(model, graph)):
            for side, signal in enumerate((layer.input, layer.convolved)):
                total[place, side] += spectrum.band_energy(signal.double(), NUM_BANDS).sum(1)
    return total


def energy_figure(model: TrainedModel, graphs: GraphSet) -> Iterator[Figure]:
    """Shares of the energy in each band: of the signals that enter each layer, and of those that leave it."""
    sample = sample_for_energy(model.conform(graphs))
    if model.network.pools or not len(sample):
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
    plain = f" {PLAIN_FREQUENCIES}." if model.network.weighs_edges else ""
    labels = ("layer 1 (the data)", *(f"layer {number}" for number in range(2, len(charts) + 1)))
    yield Figure(
        name="energy",
        title="Where the signals are, and what the filters leave",
        caption="The energy of the node signals in eight bands of frequencies, before and after a convolution; "
        f"mean over {len(sample)} graphs. Bars on the left are slow changes over the graph. Where the second bar "
        f"is higher, the filters favour the band.{plain}",
        charts=tuple(charts),
        choices=choice_of("layer", labels),
    )


MAX_KINDS = 24  # rows of the figure of weights
NEUTRAL = 0.5  # weights lie between 0 and 2, and 1 changes nothing


@torch.no_grad()
def edge_figure(model: TrainedModel, graphs: GraphSet) -> Iterator[Figure]:
    """The mean weight of each kind of edge in each subspace, if the layers weigh edges by their features."""
    convs = [conv for conv in model.network.convs if isinstance(conv, BankConv) and conv.weigh_edges is not None]
    features = model.conform(graphs).edge_signals()
    kinds = list(edge_kinds(edge_columns(graphs), features))[:MAX_KINDS] if convs else []
    if not kinds:
        return
    names = [f"{name} ({chosen.sum() // 2:,})" for name, chosen in kinds]
    charts, facts = [], []
    for conv in convs:
        weights = conv.edge_weights(torch.from_numpy(features).to(conv.alpha)).double().numpy()
        shown = np.sort(np.argsort(-np.abs(weights - 1).mean(0), kind="stable")[:MAX_FILTERS])
        rows = np.array([weights[chosen][:, shown].mean(0) for _, chosen in kinds])
        more = f" The {MAX_FILTERS} of {weights.shape[1]} filters are shown that weigh the edges most."
        facts.append(
            f"The weights of this layer lie between {weights.min():.2f} and {weights.max():.2f}."
            f"{more if weights.shape[1] > MAX_FILTERS else ''}"
        )
        heat = Series(
            kind="heat",
            x=[str(p + 1) for p in shown.tolist()],
            y=names,
            z=(rows / 2).tolist(),
            text=[[f"{value:.2f}" for value in row] for row in rows.tolist()],
            neutral=NEUTRAL,
        )
        charts.append(
            Chart(x=Axis(title="filter"), y=Axis(reverse=True), series=(heat,), height=max(220, 90 + 34 * len(names)))
        )
    yield Figure(
        name="edges",
        title="What an edge weighs for each filter",
        caption="The weight of each kind of edge in the subspace of each filter, learned from the features of the "
        f"edges; mean over the edges of {len(graphs):,} graphs, whose number stands in brackets. 1 is neutral; towards "
        "0, the filter ignores the edge; 2 is the most. What counts is the weight of an edge beside the other edges of "
        "its nodes: a filter for which all edges weigh the same works as without their features.",
        charts=tuple(charts),
        choices=choice_of("layer", _layers(convs)),
        facts=tuple(facts),
        wide=True,
    )


def edge_kinds(names: list[str], features: NDArray[np.float32]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Kinds of edges, with those that are of the kind: by each one-hot column, and by small and large numbers.

    Args:
        names: The name of each column of the features.
        features: The features of edges, shape ``(num_edges, columns)``.
    """
    alone = len({name.partition("=")[0] for name in names}) == 1
    for name, column in zip(names, features.T, strict=True):
        if not len(column) or column.min() == column.max() == 0:
            continue
        if "=" in name or np.isin(column, (0, 1)).all():
            yield name.partition("=")[2] if alone and "=" in name else name, column > 0
        elif column.min() == column.max():
            yield f"{name} = {column[0]:.4g}", np.ones(len(column), bool)
        else:
            middle = float(np.median(column))
            middle = middle if (column > middle).any() else float(np.nextafter(np.float32(middle), np.float32(-np.inf)))
            yield f"{name} up to {middle:.4g}", column <= middle
            yield f"{name} above {middle:.4g}", column > middle
