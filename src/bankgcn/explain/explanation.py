"""The explanation of a prediction: what each node and each band of frequencies adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bankgcn.data.graphs import GraphSet
from bankgcn.explain.exact import TIE, frequency_contributions, is_exact, node_contributions
from bankgcn.explain.occlusion import logits_of_graph, occlude_bands, occlude_nodes
from bankgcn.explain.symmetry import node_classes, share_equally
from bankgcn.nn.network import LayerTrace, trace
from bankgcn.spectral.fourier import Spectrum
from bankgcn.spectral.shift import GraphShift
from bankgcn.tasks import Task
from bankgcn.training.model import TrainedModel
from bankgcn.training.stepper import network_inputs

NUM_BANDS = 8
MAX_SPECTRUM = 1000  # nodes of a graph whose frequencies are computed, in cubic time

Method = Literal["exact", "occlusion"]

METHODS: dict[str, str] = {
    "exact": "Exact: the contributions and a constant add up to the output. Shared: nodes that miss a maximum by at "
    f"most {100 * TIE:g} % of the layer's largest signal share it, and equivalent nodes get their mean",
    "occlusion": "By occlusion: how much the output falls without this part; such numbers need not add up. Shared: "
    "equivalent nodes get their mean",
}
"""What each method means, in words."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What the prediction for one graph is made of: logits, or values in the user's units.

    Args:
        method: ``"exact"`` or ``"occlusion"``, see ``METHODS``.
        outputs: Logits or values, shape ``(out_channels,)``.
        nodes: What each node adds to each output, shape ``(num_nodes, out_channels)``. Nodes that colour refinement
            cannot tell apart have equal rows.
        bands: What each band of frequencies adds, in equal bands of [0, 2], shape ``(num_bands, out_channels)``;
            ``None`` for a graph that is too large for its spectrum.
        layers: The signals in the network; ``None`` if it pools nodes.
        spectrum: That of the graph, if it is not too large.
    """

    method: Method
    outputs: Tensor
    nodes: Tensor
    bands: Tensor | None
    layers: list[LayerTrace] | None
    spectrum: Spectrum | None

    @property
    def constant(self) -> Tensor:
        """What the nodes do not explain; of an exact explanation, what every graph gets: the bias of the head."""
        return self.outputs - self.nodes.sum(0)


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
    net, graph = model.net, model.conform(graph)
    spectrum, classes = spectrum_of(graph), node_classes(graph)
    layers = None if net.pools else trace_of(model, graph)
    if layers is not None and is_exact(net):
        nodes = share_equally(node_contributions(net, layers).sum(0), classes)
        outputs = nodes.sum(0) + net.predict.bias.detach().double()
        bands = None
        if spectrum is not None:
            frequencies = frequency_contributions(net, layers, spectrum.modes).sum(0)
            bands = frequencies.new_zeros(num_bands, len(outputs)).index_add(0, spectrum.bands(num_bands), frequencies)
        return _in_units(model.task, Explanation("exact", outputs, nodes, bands, layers, spectrum))
    nodes, outputs = share_equally(occlude_nodes(net, graph), classes), logits_of_graph(net, graph)
    bands = None if spectrum is None else occlude_bands(net, graph, spectrum, num_bands)
    return _in_units(model.task, Explanation("occlusion", outputs, nodes, bands, layers, spectrum))


def trace_of(model: TrainedModel, graphs: GraphSet) -> list[LayerTrace]:
    """The signals in the network for all graphs of a set that has the features of the model, as one graph."""
    batch = graphs.batch()
    x, edges, weight = network_inputs(model.net, batch)
    return trace(model.net, x, edges, batch.batch, weight, batch_size=batch.num_graphs)


def spectrum_of(graph: GraphSet) -> Spectrum | None:
    """The spectrum of one graph; ``None`` if it is too large."""
    if graph.largest > MAX_SPECTRUM:
        return None
    batch = graph.batch()
    weight = None if batch.edge_weight is None else batch.edge_weight.double()
    nodes = batch.num_nodes
    return Spectrum.of(GraphShift.from_edges(batch.edge_index, weight, num_nodes=nodes, dtype=torch.float64))


def _in_units(task: Task, found: Explanation) -> Explanation:
    """Values in the user's units: the network learns them in standard units."""
    if task.kind != "values":
        return found
    scale, center = (torch.tensor(numbers, dtype=torch.float64) for numbers in (task.scale, task.center))
    bands = None if found.bands is None else found.bands * scale
    outputs = found.outputs * scale + center
    return Explanation(found.method, outputs, found.nodes * scale, bands, found.layers, found.spectrum)
