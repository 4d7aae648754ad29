r"""Which nodes, edges and frequencies decide a prediction.

**Exact contributions.** A linear head on readouts is a sum over nodes, and over frequencies. Each part of the readout
is :math:`\sum_v S_{vj} X_{vj}` with shares :math:`S` of the nodes: 1/n for the mean, 1 for the sum, and 1 at the
winning node for the maximum. So every logit is a sum over the nodes. With the Fourier modes :math:`U`, the same number
is :math:`\sum_k (U^\top S)_{kj} (U^\top X)_{kj}`: a sum over the frequencies of the graph. Nodes that tie for a
maximum share it. Rounding must not choose one of them: values within ``TIE`` of the largest one count as equal to it.

**A head with a hidden layer** is a linear function, too, on the graph at hand: with readouts :math:`z`, hidden weights
:math:`V` and :math:`b`, its units change by :math:`\mathrm{relu}(V z + b) - \mathrm{relu}(b)` between no signal at all
and the graph, and each of them shares that change in proportion to :math:`V_{uj} z_j`. This is the mean of the
gradient along the straight way from 0 to :math:`z` (integrated gradients), in closed form. So nodes and frequencies
add up again.

**Occlusion**, for networks that pool nodes: how much a logit falls if a part of the signal is taken away.

**Edges** of a network that uses their features: how much a logit falls if the edge is taken away. These numbers need
not add up, whatever the method of the nodes. The frequencies are those of the graph without the features of its edges;
their modes are an orthogonal basis all the same, so that exact contributions of frequencies still add up.

**Symmetry.** Equivalent atoms of a molecule, such as those of benzene, have equal signals in every layer, but for
rounding. An explanation must not tell them apart either: nodes that no network can tell apart get equal shares.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bankgcn.data.features.graph_features import column_names
from bankgcn.data.graphs import GraphSet
from bankgcn.files.tables import Columns
from bankgcn.kernels import use_kernels
from bankgcn.nn.network import GraphNetwork, LayerTrace, trace
from bankgcn.spectral.featured_edges import FeaturedEdges
from bankgcn.spectral.fourier import Spectrum
from bankgcn.spectral.shift import GraphShift
from bankgcn.tasks import Task
from bankgcn.training.model import TrainedModel
from bankgcn.training.stepper import embedding_of, features_of, network_inputs

NUM_BANDS = 8
MAX_SPECTRUM = 1000  # nodes of a graph whose frequencies are computed, in cubic time
MAX_ROUNDS = 128  # a long chain needs half as many rounds as it has nodes: its nodes stay apart
MAX_EDGES = 1000  # of a graph whose edges are explained: each of them costs a prediction for the graph
COPIES = 256  # of a graph in one batch
MAX_FEATURES, MOST_FEATURES = 100, 10  # of a graph: with more than so many, the largest have rows
EDGES_AT_ONCE = 1 << 17  # directed edges in a batch of copies that lack an edge each
TIE = 1e-5
"""Values tie with a maximum that lie below it by less than this part of the layer's largest absolute value.

In single precision, the signals of equivalent nodes differ by less than a tenth of it.
"""

Method = Literal["exact", "path", "occlusion"]

_SHARED = (
    f"Shared: nodes that miss a maximum by at most {100 * TIE:g} % of the layer's largest signal share it, and "
    "equivalent nodes get their mean"
)
METHODS: dict[str, str] = {
    "exact": f"Exact: the contributions and a constant add up to the output. {_SHARED}",
    "path": "Along a path: the contributions and a constant add up to the output; each unit of the hidden layer counts "
    f"with its mean slope on the way from no signal to that of the graph. {_SHARED}",
    "occlusion": "By occlusion: how much the output falls without this part; such numbers need not add up. Shared: "
    "equivalent nodes get their mean",
}
"""What each method means, in words."""

EDGES_METHOD = (
    "Edges, by occlusion: how much the output falls without the edge; such numbers need not add up. Shared: equivalent "
    "edges get their mean"
)
"""What the contributions of edges mean, in words."""
PLAIN_FREQUENCIES = "Frequencies are those of the graph without the features of its edges"
"""What a reader must know of the frequencies, if the layers of the network weigh edges by their features."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What the prediction for one graph is made of: logits, or values in the user's units.

    Args:
        method: ``"exact"``, ``"path"`` or ``"occlusion"``, see ``METHODS``.
        outputs: Logits or values, shape ``(out_channels,)``.
        nodes: What each node adds to each output, shape ``(num_nodes, out_channels)``. Nodes that colour refinement
            cannot tell apart have equal rows.
        bands: What each band of frequencies adds, in equal bands of [0, 2], shape ``(num_bands, out_channels)``;
            ``None`` for a graph that is too large for its spectrum.
        layers: The signals in the network; ``None`` if it pools nodes.
        spectrum: That of the graph, if it is not too large. It does not depend on the features of edges.
        features: What each feature of the graph adds, shape ``(graph_dim, out_channels)``; without such features, it
            has no rows.
        feature_names: Their names.
        edges: How much each output falls without each of the :func:`undirected_edges`, shape ``(num_edges,
            out_channels)``; ``None`` if the network does not use the features of edges, or for more than ``MAX_EDGES``
            edges. Edges that colour refinement cannot tell apart have equal rows.
    """

    method: Method
    outputs: Tensor
    nodes: Tensor
    bands: Tensor | None
    layers: list[LayerTrace] | None
    spectrum: Spectrum | None
    features: Tensor
    feature_names: tuple[str, ...] = ()
    edges: Tensor | None = None

    @property
    def constant(self) -> Tensor:
        """What nodes and features of the graph do not explain: what the head gives for no signal, if they add up."""
        return self.outputs - self.nodes.sum(0) - self.features.sum(0)


def evidence(task: Task, contributions: Tensor, output: int) -> Tensor:
    """Contributions that decide one output: of classes, less the mean over all classes.

    Probabilities of classes depend on differences of logits only: what a node adds to all of them decides nothing.
    """
    return contributions[:, output] - (contributions.mean(1) if task.kind == "classes" else 0)


def explain(model: TrainedModel, graph: GraphSet, num_bands: int = NUM_BANDS) -> Explanation:
    """Explain the prediction of a model for one graph.

    Args:
        model: The model.
        graph: A set with one graph.
        num_bands: Number of bands of frequencies.

    Raises:
        ValueError: There is not exactly one graph, or it does not fit the model.
    """
    if len(graph) != 1:
        raise ValueError(f"there are {len(graph)} graphs, expected one")
    net, graph = model.network, model.conform(graph)
    featured = net.edge_dim is not None
    spectrum, classes = spectrum_of(graph), node_classes(graph, featured)
    edges = None
    if featured and int(graph.num_edges[0]) <= MAX_EDGES:
        edges = share_equally(occlude_edges(net, graph), edge_classes(graph, classes))
    layers = None if net.pools else trace_of(model, graph)
    names = tuple(column_names(model.graph_spec)) if net.graph_dim else ()
    if layers is not None:
        head = Head.of(net, layers, features_of(net, graph.batch()))
        nodes, features = share_equally(node_contributions(net, layers, head).sum(0), classes), head.of_features
        outputs = nodes.sum(0) + features.sum(0) + head.constant
        bands = None
        if spectrum is not None:
            frequencies = frequency_contributions(net, layers, head, spectrum.modes).sum(0)
            bands = frequencies.new_zeros(num_bands, len(outputs)).index_add(0, spectrum.bands(num_bands), frequencies)
        method: Method = "exact" if net.head is None else "path"
        return _in_units(
            model.task, Explanation(method, outputs, nodes, bands, layers, spectrum, features, names, edges)
        )
    features = occlude_features(net, graph)
    nodes, outputs = share_equally(occlude_nodes(net, graph), classes), logits_of_graph(net, graph)
    bands = None if spectrum is None else occlude_bands(net, graph, spectrum, num_bands)
    return _in_units(
        model.task, Explanation("occlusion", outputs, nodes, bands, layers, spectrum, features, names, edges)
    )


def trace_of(model: TrainedModel, graphs: GraphSet) -> list[LayerTrace]:
    """The signals in the network for all graphs of a set that has the features of the model, as one graph."""
    batch = graphs.batch()
    x, edges, weight = network_inputs(model.network, batch)
    return trace(model.network, x, edges, batch.batch, weight, batch_size=batch.num_graphs)


def spectrum_of(graph: GraphSet) -> Spectrum | None:
    """The spectrum of one graph; ``None`` if it is too large."""
    if graph.largest > MAX_SPECTRUM:
        return None
    batch = graph.batch()
    weight = None if batch.edge_weight is None else batch.edge_weight.double()
    nodes = batch.num_nodes
    return Spectrum.of(GraphShift.from_edges(batch.edge_index, weight, num_nodes=nodes, dtype=torch.float64))


def _in_units(task: Task, explanation: Explanation) -> Explanation:
    """Values in the user's units: the network learns them in standard units."""
    if task.kind != "values":
        return explanation
    scale, center = (torch.tensor(numbers, dtype=torch.float64) for numbers in (task.scale, task.center))
    bands = None if explanation.bands is None else explanation.bands * scale
    edges = None if explanation.edges is None else explanation.edges * scale
    outputs = explanation.outputs * scale + center
    nodes, features = explanation.nodes * scale, explanation.features * scale
    return replace(explanation, outputs=outputs, nodes=nodes, bands=bands, features=features, edges=edges)


Shares = tuple[Tensor, Tensor]
"""The share of each node in a part of a readout, and its signal: the part is the sum of their products."""


def _mean(x: Tensor) -> Shares:
    return torch.full_like(x, 1 / max(len(x), 1)), x  # a graph may have no nodes


def _maximum(x: Tensor) -> Shares:
    """Nodes that tie share the largest value of each channel, and have it: so the shares add up to it exactly."""
    if not len(x):  # there is no largest value of nothing
        return x, x
    largest = x.amax(0)
    tied = x >= largest - TIE * x.abs().max()
    return tied.to(x.dtype) / tied.sum(0), torch.where(tied, largest, x)


def _sum(x: Tensor) -> Shares:
    return torch.ones_like(x), x


SHARES: dict[str, Callable[[Tensor], Shares]] = {"mean": _mean, "max": _maximum, "sum": _sum}
"""The shares of the nodes of one graph in each part of a readout, as a function of their signals."""


class Head(NamedTuple):
    """The head as a linear function of the readouts and the features of one graph, which gives its logits.

    Args:
        weight: What it gives for each channel of the readouts, shape ``(out_channels, embedding_channels)``.
        of_features: What each feature of the graph adds, shape ``(graph_dim, out_channels)``.
        constant: What it gives for no signal and no features, shape ``(out_channels,)``.
    """

    weight: Tensor
    of_features: Tensor
    constant: Tensor

    @classmethod
    @torch.no_grad()
    def of(cls, net: GraphNetwork, layers: Sequence[LayerTrace], features: Tensor | None) -> Head:
        """The head on one graph.

        Args:
            net: The network.
            layers: Its signals on the graph.
            features: Features of the graph, shape ``(1, graph_dim)``, if the network takes any.
        """
        weight, constant = net.predict.weight.double(), net.predict.bias.double()
        readouts = [(share * signal).sum(0) for layer in layers for share, signal in _shares(net, layer)]
        given = torch.cat([*readouts, *(() if features is None else (features[0].double(),))])
        if net.head is not None:
            hidden, bias = net.head.weight.double(), net.head.bias.double()
            change, active = hidden @ given, bias > 0
            crossing = torch.where(change == 0, 0, -bias / change).clamp(0, 1)  # of the way, where a unit is at 0
            slope = torch.where(change == 0, active, torch.where(change > 0, 1 - crossing, crossing))
            weight, constant = (weight * slope) @ hidden, weight @ bias.relu() + constant
        channels = net.embedding_channels
        return cls(weight[:, :channels], (weight * given)[:, channels:].T, constant)


def node_contributions(net: GraphNetwork, layers: Sequence[LayerTrace], head: Head) -> Tensor:
    """What each node of one graph adds to each logit: shape ``(num_layers, num_nodes, out_channels)``, float64.

    The sum over layers and nodes, plus the constant of the head and what features of the graph add, is the logit.
    """
    return torch.stack([sum_over_parts(net, number, layer, head, lambda x: x) for number, layer in enumerate(layers)])


def frequency_contributions(net: GraphNetwork, layers: Sequence[LayerTrace], head: Head, modes: Tensor) -> Tensor:
    """What each frequency of one graph adds to each logit: shape ``(num_layers, num_nodes, out_channels)``, float64.

    Args:
        net: The network.
        layers: Its signals on the graph.
        head: Its head on the graph.
        modes: The Fourier modes of the graph, one in each column.
    """
    transform = modes.double().T
    return torch.stack(
        [sum_over_parts(net, number, layer, head, lambda x: transform @ x) for number, layer in enumerate(layers)]
    )


def sum_over_parts(
    net: GraphNetwork, number: int, layer: LayerTrace, head: Head, transform: Callable[[Tensor], Tensor]
) -> Tensor:
    """Contributions of one layer, by node or by whatever an orthogonal transform makes of the nodes."""
    weight = head.weight.view(len(head.weight), len(net.convs), len(net.readout), -1)[:, number]
    parts = [
        (transform(share) * transform(signal)) @ weight[:, place].T
        for place, (share, signal) in enumerate(_shares(net, layer))
    ]
    return torch.stack(parts).sum(0)


def _shares(net: GraphNetwork, layer: LayerTrace) -> Iterator[Shares]:
    """The shares of the nodes in each part of the readout of a layer, and their signals."""
    x = layer.output.double()
    for part in net.readout:
        share, signal = SHARES[part](x)
        if part == "sum" and net.typical_size is not None:
            share = share / net.typical_size
        yield share, signal


@torch.no_grad()
def occlude_features(net: GraphNetwork, graph: GraphSet) -> Tensor:
    """Logits minus those with one feature of the graph set to 0: shape ``(graph_dim, out_channels)``, float64.

    That is the mean of the training graphs for a number, and nothing for a count or a word.
    """
    features = features_of(net, graph.batch())
    if features is None:
        return net.predict.weight.new_zeros(0, net.predict.out_features).double()
    training = net.training
    net.eval()
    try:
        with use_kernels(False):
            embedding = embedding_of(net, graph.batch())
            whole = net.predict_from(embedding, graph_attr=features)
            result = whole.new_zeros(net.graph_dim, whole.size(1))
            for column in features[0].nonzero().flatten().tolist():
                without = features.index_fill(1, torch.tensor([column]), 0)
                result[column] = (whole - net.predict_from(embedding, graph_attr=without))[0]
            return result.double()
    finally:
        net.train(training)


def occlude_nodes(net: GraphNetwork, graph: GraphSet) -> Tensor:
    """Logits minus the logits with the signal of one node set to 0: shape ``(num_nodes, out_channels)``, float64."""

    def without_node(x: Tensor, node: int) -> Tensor:
        return torch.where(torch.arange(len(x))[:, None] == node, 0, x)

    return _signal_differences(net, graph, int(graph.num_nodes[0]), without_node)


def occlude_bands(net: GraphNetwork, graph: GraphSet, spectrum: Spectrum, num_bands: int) -> Tensor:
    """Logits minus those without one band of the node signals: shape ``(num_bands, out_channels)``, float64."""
    band = spectrum.bands(num_bands)

    def without_band(x: Tensor, number: int) -> Tensor:
        modes = spectrum.modes[:, band == number].to(x.dtype)
        return x - modes @ (modes.T @ x)

    return _signal_differences(net, graph, num_bands, without_band)


def occlude_edges(net: GraphNetwork, graph: GraphSet) -> Tensor:
    """Logits minus those without one of the :func:`undirected_edges`: shape ``(num_edges, out_channels)``, float64."""
    number = torch.from_numpy(undirected_edges(graph)[2])
    copies = max(1, min(COPIES, EDGES_AT_ONCE // max(len(number), 1)))

    def without_edges(part: range) -> Tensor:
        kept = (number != torch.tensor(part)[:, None]).flatten()
        return _logits(net, graph, len(part), kept_edges=kept)

    return _differences(net, graph, int(graph.num_edges[0]), without_edges, copies)


def undirected_edges(graph: GraphSet) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The undirected edges of one graph, in the order of their first nodes, then of their second ones.

    Args:
        graph: A set with one graph.

    Returns:
        The two nodes of each, the smaller number first, shape ``(num_edges, 2)``; its place among the directed edges
        of the graph, shape ``(num_edges,)``; and the number of the undirected edge of each directed one.
    """
    row, col = graph.batch().edge_index.numpy()
    place = np.flatnonzero(row < col)
    key = np.minimum(row, col) * max(graph.largest, 1) + np.maximum(row, col)
    return np.stack([row[place], col[place]], axis=1), place, np.searchsorted(key[place], key)


def logits_of_graph(net: GraphNetwork, graph: GraphSet) -> Tensor:
    """Logits of one graph, shape ``(out_channels,)``, float64."""
    return _logits(net, graph, 1)[0]


def _differences(
    net: GraphNetwork, graph: GraphSet, number: int, logits: Callable[[range], Tensor], copies: int = COPIES
) -> Tensor:
    """Logits minus those without each of the parts of a graph, which are computed for some parts at a time."""
    whole = logits_of_graph(net, graph)
    changed = [logits(range(start, min(start + copies, number))) for start in range(0, number, copies)]
    return whole - torch.cat(changed) if changed else whole.new_empty(0, len(whole))


def _signal_differences(
    net: GraphNetwork, graph: GraphSet, number: int, change: Callable[[Tensor, int], Tensor]
) -> Tensor:
    """Logits minus those with a part of the signals that enter the first layer changed."""

    def without(part: range) -> Tensor:
        return _logits(net, graph, len(part), lambda x: [change(x, one) for one in part])

    return _differences(net, graph, number, without)


def _logits(
    net: GraphNetwork,
    graph: GraphSet,
    copies: int,
    change: Callable[[Tensor], list[Tensor]] | None = None,
    kept_edges: Tensor | None = None,
) -> Tensor:
    """Logits of copies of a graph.

    Args:
        net: The network.
        graph: A set with one graph.
        copies: Number of copies.
        change: What each copy has in place of the signals that enter the first layer.
        kept_edges: Whether each directed edge of the copies is kept; for networks that use the features of edges.
    """
    batch = graph.batch(np.zeros(copies, np.int64))
    nodes = int(graph.num_nodes[0])
    x, edges, weight = network_inputs(net, batch)
    if kept_edges is not None:
        assert isinstance(edges, FeaturedEdges)
        edges = edges.only(kept_edges)

    def changed(signals: Tensor) -> Tensor:
        return signals if change is None else torch.cat(change(signals[:nodes]))

    handle = None
    if net.encoder is None:
        x = changed(x)
    else:  # its vectors can be taken away, the integers that it looks up cannot

        def change_output(module: nn.Module, args: object, output: Tensor) -> Tensor:
            return changed(output)

        handle = net.encoder.register_forward_hook(change_output)
    training = net.training
    net.eval()
    try:
        with torch.no_grad(), use_kernels(False):
            features = features_of(net, batch)
            return net(x, edges, batch.batch, weight, graph_attr=features, batch_size=copies).double()
    finally:
        net.train(training)
        if handle is not None:
            handle.remove()


def node_classes(graph: GraphSet, featured: bool = False) -> NDArray[np.int64]:
    """The class of each node of one graph by colour refinement.

    Nodes of a class have equal features and, in each class, equally many neighbours with equal edge weights. In a graph
    that needs more than ``MAX_ROUNDS`` rounds, each node is a class of its own.

    Args:
        graph: A set with one graph.
        featured: Whether edges with different features are different, too, because a network uses them.
    """
    sources, targets = graph.batch().edge_index.tolist()
    kinds = _edge_kinds(graph, featured)
    classes = _numbered(_features(graph))
    for _ in range(MAX_ROUNDS):
        around: list[list[tuple[int, int]]] = [[] for _ in classes]
        for source, target, kind in zip(sources, targets, kinds, strict=True):
            around[target].append((classes[source], kind))
        refined = _numbered([(own, tuple(sorted(neighbours))) for own, neighbours in zip(classes, around, strict=True)])
        if refined == classes:  # numbered by first appearance: the same partition has the same numbers
            return np.array(classes, np.int64)
        classes = refined
    return np.arange(len(classes))


def edge_classes(graph: GraphSet, classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The class of each of the :func:`undirected_edges`: those of a class have equal features and join equal classes.

    Args:
        graph: A set with one graph.
        classes: Class of each node, by :func:`node_classes` with ``featured=True``.
    """
    ends, place, _ = undirected_edges(graph)
    kinds = _edge_kinds(graph, featured=True)
    joined = np.sort(classes[ends], axis=1).tolist()
    return np.array(
        _numbered([(*pair, kinds[one]) for pair, one in zip(joined, place.tolist(), strict=True)]), np.int64
    )


def _edge_kinds(graph: GraphSet, featured: bool) -> list[int]:
    """A number for what each directed edge of one graph carries: its weight and, if they count, its features."""
    weights = [1.0] * len(graph.neighbor) if graph.edge_weight is None else graph.edge_weight.tolist()
    if not featured:
        return _numbered(weights)
    rows = [row.tobytes() for row in graph.edge_signals()]
    return _numbered(list(zip(weights, rows, strict=True)))


def share_equally(contributions: Tensor, classes: NDArray[np.int64]) -> Tensor:
    """Each node, or each edge, gets the mean over those of its class: sums over all of them stay.

    Args:
        contributions: Shape ``(num_nodes, out_channels)``.
        classes: Class of each node.
    """
    place = torch.from_numpy(classes)
    number = int(place.max()) + 1 if len(place) else 0
    total = contributions.new_zeros(number, contributions.size(1)).index_add(0, place, contributions)
    return (total / place.bincount(minlength=number).clamp(min=1)[:, None])[place]


def _features(graph: GraphSet) -> list[Hashable]:
    """What each node carries, as a value that can be compared."""
    parts = [part for part in (graph.labels, graph.attributes, graph.encodings) if part is not None]
    return [tuple(part[node].tobytes() for part in parts) for node in range(graph.largest)]


def _numbered(values: Sequence[Hashable]) -> list[int]:
    """The number of each value, in the order of first appearance."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


class Row(NamedTuple):
    """One part of an explanation."""

    kind: str  # node, edge, band, constant or output
    number: int | None
    label: str
    contribution: Tensor  # to each output
    ends: tuple[int, int] | None = None  # the nodes of an edge


def explanation_rows(
    explanation: Explanation,
    words: Sequence[str] | None,
    edges: Sequence[tuple[tuple[int, int], str]] | None = None,
) -> Iterator[Row]:
    """What an explanation consists of: kind, number, name, and what it adds to each output.

    Rows of the kinds ``node``, ``feature`` and ``constant`` add up to the row ``output``; of an exact explanation, so
    do those of the kinds ``band``, ``feature`` and ``constant``. Of many features, those that add most have rows, and
    one row has the sum of the others. Rows of the kind ``edge`` need not add up.

    Args:
        explanation: The explanation.
        words: The category of each node, if there is one.
        edges: The two nodes of each undirected edge, and what it carries in words.
    """
    for node, contribution in enumerate(explanation.nodes):
        yield Row("node", node, words[node] if words else "", contribution)
    for edge, (contribution, (ends, word)) in enumerate(
        zip(() if explanation.edges is None else explanation.edges, edges or (), strict=True)
    ):
        yield Row("edge", edge, word, contribution, ends)
    if explanation.bands is not None:
        width = 2 / len(explanation.bands)
        for band, contribution in enumerate(explanation.bands):
            yield Row("band", band, f"{width * band:g} to {width * (band + 1):g}", contribution)
    features, names = explanation.features, explanation.feature_names
    chosen = list(range(len(features)))
    if len(chosen) > MAX_FEATURES:
        largest = features.abs().amax(1).argsort(descending=True, stable=True)
        chosen = sorted(largest[:MOST_FEATURES].tolist())
    for place in chosen:
        yield Row("feature", place, names[place], features[place])
    if len(chosen) < len(features):
        others = features.sum(0) - features[chosen].sum(0)
        yield Row("feature", None, f"the other {len(features) - len(chosen):,} features", others)
    yield Row("constant", None, "", explanation.constant)
    yield Row("output", None, explanation.method, explanation.outputs)


def explanation_columns(
    task: Task, explained: Iterable[tuple[int, str, Iterable[Row]]], outputs: Sequence[int] | None = None
) -> Columns:
    """The table of explanations.

    Args:
        task: What was learned.
        explained: Number and name of each graph, with :func:`explanation_rows` of it.
        outputs: Numbers of the classes, values or labels that have a column; by default all.
    """
    chosen = list(range(len(task.names)) if outputs is None else outputs)
    header = ("graph", "name", "kind", "number", "label", *(f"adds_to_{task.names[output]}" for output in chosen))
    lines = [
        (graph, name, row.kind, row.number, _label(row), *row.contribution[chosen].tolist())
        for graph, name, rows in explained
        for row in rows
    ]
    return [(name, [line[place] for line in lines]) for place, name in enumerate(header)]


def _label(row: Row) -> str:
    """What the table says of a part; of an edge, first its nodes."""
    return row.label if row.ends is None else f"{row.ends[0]}-{row.ends[1]}: {row.label}"


def explanation_json(
    task: Task, graph: int, name: str, method: str, rows: Iterable[Row], outputs: Sequence[int] | None = None
) -> dict[str, Any]:
    """One graph as JSON holds it; the arguments are those of :func:`explanation_columns`."""
    chosen = range(len(task.names)) if outputs is None else outputs
    plain: dict[str, Any] = {"graph": graph, "name": name, "method": method, "nodes": [], "bands": []}
    for row in rows:
        adds = {task.names[output]: row.contribution[output].item() for output in chosen}
        match row.kind:
            case "node" | "band" | "feature":
                plain.setdefault(f"{row.kind}s", []).append({"label": row.label, "adds": adds})
            case "edge":
                entry = {"nodes": list(row.ends or ()), "label": row.label, "adds": adds}
                plain.setdefault("edges", []).append(entry)
            case _:
                plain[row.kind] = adds
    return plain
