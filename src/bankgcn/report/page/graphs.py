"""Single graphs for a page: drawing, signals, spectrum, filters, weights of edges, prediction and explanation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.data.graphs import GraphSet
from bankgcn.explain import EDGES_METHOD, METHODS, Explanation, evidence, explain, undirected_edges
from bankgcn.nn.bank_conv import BankConv
from bankgcn.report.page.drawing import Drawing, draw_graph, edge_words, node_signal
from bankgcn.report.page.page import Graphs
from bankgcn.rivals import Rival
from bankgcn.spectral.fourier import Spectrum
from bankgcn.tasks import Task
from bankgcn.training.ensemble import Predictions
from bankgcn.training.model import TrainedModel

LEVELS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""A level from 0 to 1 as one character."""
MAX_OUTPUTS = 12  # filters of a layer whose outputs are shown
CLASSES_SHOWN = 6  # that are listed with a graph
MAX_EXPLAINED = 24  # classes, values or labels that a reader can choose
MAX_WEIGHED = 1000  # edges of a graph that is drawn with their weights
SATURATED = 0.95  # share of the nodes whose contributions the scale of colours holds
SIDE = 1000  # of the drawing, in units

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class PredictedGraphs:
    """Graphs with predictions.

    Args:
        graphs: The graphs.
        predictions: Probabilities or values, shape ``(num_graphs, out_channels)``.
        y: Targets in the order of the outputs, if they are known.
        names: Id of each graph, or its number.
        smiles: The molecule of each graph, if there may be one.
        voters: Which models predict each graph, of shape ``(num_graphs, models)``; by default all of them.
        applied: What each model predicts, from which intervals follow.
    """

    graphs: GraphSet
    predictions: NDArray[np.float64]
    y: NDArray | None
    names: Sequence[str]
    smiles: Sequence[str | None]
    voters: NDArray[np.bool_] | None = None
    applied: Predictions | None = None

    def explainer(self, models: Sequence[TrainedModel], number: int) -> TrainedModel:
        """The model that explains a graph: the first of those that predict it, of the networks if there are any."""
        voters = list(range(len(models))) if self.voters is None else np.flatnonzero(self.voters[number]).tolist()
        networks = [voter for voter in voters if not isinstance(models[voter].net, Rival)]
        return models[next(iter([*networks, *voters]))]


def wrongness(task: Task, predictions: NDArray[np.float64], y: NDArray | None) -> NDArray[np.float64]:
    """How wrong each prediction is: log loss of classes and labels, error of values in standard units.

    Without targets, how unsure it is.
    """
    tiny = 1e-12
    if task.kind == "classes":
        if y is None:
            return 1 - predictions.max(1)
        return -np.log(np.maximum(predictions[np.arange(len(y)), y], tiny))
    if task.kind == "labels":
        if y is None:
            return 0.5 - np.abs(predictions - 0.5).min(1)
        right = np.where(y == 1, predictions, 1 - predictions)
        is_known = ~np.isnan(y)
        losses = np.where(is_known, -np.log(np.maximum(right, tiny)), 0)
        return losses.sum(1) / np.maximum(is_known.sum(1), 1)
    if y is None:
        return np.zeros(len(predictions))
    return np.nan_to_num(np.abs(predictions - y) / np.array(task.scale)).max(1)


def worst_first(task: Task, predictions: NDArray[np.float64], y: NDArray | None, number: int) -> NDArray[np.int64]:
    """Numbers of the graphs to show: two thirds are the worst, the others lie at equal distances among the rest."""
    order = np.argsort(-wrongness(task, predictions, y), kind="stable")
    worst = min(len(order), -(-2 * number // 3))
    rest = order[worst:]
    return np.append(order[:worst], rest[np.linspace(0, len(rest) - 1, min(number - worst, len(rest))).astype(int)])


def browse(
    models: Sequence[TrainedModel],
    predicted: PredictedGraphs,
    chosen: Sequence[int],
    caption: str = "",
    label: int | None = None,
    progress: Progress | None = None,
) -> Graphs:
    """What a page holds of each chosen graph, in their order.

    Args:
        models: The models that predict.
        predicted: Graphs with predictions.
        chosen: Numbers of the chosen graphs.
        caption: What a reader must know.
        label: Number of the output that is explained at first; by default, for each graph the predicted class, the
            label that is most wrong, or the first value.
        progress: Is told how many of the graphs are done.
    """
    task = models[0].task
    explained = explainable(task, label)
    entries = []
    for place, number in enumerate(chosen):
        entries.append(_entry(predicted.explainer(models, number), predicted, int(number), explained))
        if progress is not None:
            progress(place + 1, len(chosen))
    first = 0 if label is None and task.kind == "values" else label
    return Graphs(
        caption=caption,
        entries=entries,
        kind=task.kind,
        outputs=tuple((output, task.names[output]) for output in explained),
        scales=color_scales(task, entries),
        edge_scales=color_scales(task, entries, "edge_evidence"),
        label=first,
    )


def explainable(task: Task, label: int | None = None) -> list[int]:
    """Numbers of the outputs that a reader can choose: the first ones, and the one that is asked for."""
    numbers = list(range(min(len(task.names), MAX_EXPLAINED)))
    return numbers if label is None or label in numbers else [*numbers[:-1], label]


def color_scales(task: Task, entries: Sequence[dict[str, Any]], what: str = "evidence") -> tuple[float, ...]:
    """The contribution that has the full colour, for each output: the same for all graphs, so that they compare.

    It is exceeded by a few nodes only. Classes and labels are measured in logits, and have one scale; values have
    units of their own.

    Args:
        task: What was learned.
        entries: The graphs.
        what: Which contributions: ``"evidence"`` of nodes, or ``"edge_evidence"``.
    """
    contributions: list[list[float]] = [[] for _ in task.names]
    for entry in entries:
        for output, values in entry.get(what, {}).items():
            contributions[int(output)] += values
    if task.kind != "values":
        contributions = [[value for values in contributions for value in values]] * len(contributions)
    return tuple(float(np.quantile(np.abs(values), SATURATED)) if values else 0.0 for values in contributions)


def _entry(model: TrainedModel, predicted: PredictedGraphs, number: int, outputs: Sequence[int]) -> dict[str, Any]:
    graph = predicted.graphs[[number]]
    about: dict[str, Any] = {"name": predicted.names[number], "kind": model.task.kind, "nodes": graph.largest}
    about["edges"] = int(graph.num_edges[0])
    about |= {"smiles": predicted.smiles[number]} if predicted.smiles[number] is not None else {}
    about |= _outcome(model.task, predicted.predictions[number], None if predicted.y is None else predicted.y[number])
    if not graph.largest or isinstance(model.net, Rival):
        return about
    explanation = explain(model, graph)
    chosen = sorted({*outputs, about["explained"]})
    about["method"] = METHODS[explanation.method]
    about["evidence"] = {str(c): evidence(model.task, explanation.nodes, c).tolist() for c in chosen}
    if explanation.bands is not None:
        about["bands"] = {str(c): evidence(model.task, explanation.bands, c).tolist() for c in chosen}
    drawing = draw_graph(graph, predicted.smiles[number])
    if drawing is not None:
        about["places"] = np.round(drawing.places * SIDE).astype(int).ravel().tolist()
        about["lines"] = drawing.edges.ravel().tolist()
        structure = {name: list(getattr(drawing, name)) for name in ("orders", "sides", "elements", "labels")}
        about |= {name: values for name, values in structure.items() if values}
        about |= _edges(model, graph, explanation, drawing, chosen)
    about["signal"] = node_signal(model.conform(graph), graph)
    if explanation.spectrum is not None and explanation.layers is not None:
        about["spectrum"] = _spectrum(explanation.spectrum, explanation.layers[0].input.double())
    about["outputs"] = _outputs(model, explanation)
    return about


def _edges(
    model: TrainedModel, graph: GraphSet, explanation: Explanation, drawing: Drawing, chosen: Sequence[int]
) -> dict[str, Any]:
    """What each drawn edge carries and adds, and its weight in each subspace, if the network uses features of edges."""
    if model.edge_dim is None or not 0 < len(drawing.edges) <= MAX_WEIGHED:
        return {}
    ends, directed, _ = undirected_edges(graph)
    number = {pair: edge for edge, pair in enumerate(map(tuple, ends.tolist()))}
    drawn = [number[tuple(sorted(pair))] for pair in drawing.edges.tolist()]
    rows, first, kind = np.unique(graph.edge_signals(directed), axis=0, return_index=True, return_inverse=True)
    words = edge_words(graph)
    about: dict[str, Any] = {
        "edge_kinds": kind.reshape(-1)[drawn].tolist(),
        "edge_words": [words[place] for place in directed[first].tolist()],
    }
    if explanation.edges is not None:
        added = explanation.edges[drawn]
        about["edge_method"] = EDGES_METHOD
        about["edge_evidence"] = {str(c): evidence(model.task, added, c).tolist() for c in chosen}
    weights = [subspace_weights(conv, rows) for conv in model.network.convs]
    if any(weights):
        about["weights"] = weights
    return about


@torch.no_grad()
def subspace_weights(conv: torch.nn.Module, features: NDArray[np.float32]) -> list[list[Any]]:
    """The number of each subspace, from 1, and the weight there of edges with these features.

    Those subspaces are left out that distinguish the edges least, if there are more than ``MAX_OUTPUTS``; nothing is
    left if the layer does not weigh edges.
    """
    if not isinstance(conv, BankConv) or conv.weigh_edges is None:
        return []
    weights = conv.edge_weights(torch.from_numpy(features).to(conv.weigh_edges.weight)).double().T
    kept = sorted((weights - 1).abs().sum(1).argsort(descending=True)[:MAX_OUTPUTS].tolist())
    return [[p + 1, weights[p].tolist()] for p in kept]


def _outcome(task: Task, prediction: NDArray[np.float64], y: Any) -> dict[str, Any]:
    """Truth, prediction, what is explained, and whether it is a mistake. Rows: output, name, prediction, truth."""
    names = task.names
    if task.kind == "classes":
        order = np.argsort(-prediction)[:CLASSES_SHOWN]
        best = int(task.decide(torch.from_numpy(prediction[None])))
        listed = order if y is None or int(y) in order else np.append(order[:-1], int(y))
        rows = [[int(c), names[c], float(prediction[c]), None if y is None else int(c == y)] for c in listed]
        true = None if y is None else names[int(y)]
        wrong = y is not None and best != int(y)
        return {"rows": rows, "predicted": names[best], "true": true, "wrong": wrong, "explained": best}
    truth = np.full(len(names), np.nan) if y is None else np.asarray(y, float)
    is_known = ~np.isnan(truth)
    rows = [[c, name, float(prediction[c]), float(truth[c]) if is_known[c] else None] for c, name in enumerate(names)]
    if task.kind == "values":
        shown = (f"{names[0]} {prediction[0]:.4g}", f"{truth[0]:.4g}" if is_known[0] else None)
        return {"rows": rows, "predicted": shown[0], "true": shown[1], "wrong": None, "explained": 0}
    decided = task.decide(torch.from_numpy(prediction[None]))[0].numpy()
    mistakes = int((decided != truth)[is_known].sum())
    far = np.where(is_known, np.abs(prediction - truth), -1.0) if is_known.any() else prediction
    word = f"{mistakes} of {int(is_known.sum())} labels wrong" if is_known.any() else "labels"
    return {"rows": rows, "predicted": word, "true": None, "wrong": mistakes > 0, "explained": int(far.argmax())}


def _spectrum(spectrum: Spectrum, x: Tensor) -> dict[str, Any]:
    """Share of the energy at each frequency of the graph; equal frequencies are added."""
    energy = spectrum.gft(x).square().sum(1)
    lam, place = torch.unique((spectrum.lam * 1000).round(), return_inverse=True)
    added = energy.new_zeros(len(lam)).index_add(0, place, energy)
    return {"lam": (lam / 1000).tolist(), "energy": (added / added.sum().clamp(min=1e-30)).tolist()}


def _outputs(model: TrainedModel, explanation: Explanation) -> list[Any]:
    """For each layer, the strength of each filter's output at each node; other layers have one output."""
    layers = []
    for conv, layer in zip(model.network.convs, explanation.layers or (), strict=False):
        groups = conv.num_subspaces if isinstance(conv, BankConv) else 1
        strength = layer.convolved.double().view(len(layer.convolved), groups, -1).square().mean(2).sqrt()
        kept = sorted(strength.sum(0).argsort(descending=True)[:MAX_OUTPUTS].tolist())
        scale = strength.max().clamp(min=1e-30)
        layers.append([[p + 1 if groups > 1 else 0, encode((strength[:, p] / scale).tolist())] for p in kept])
    return layers


def encode(levels: Sequence[float]) -> str:
    """Levels from 0 to 1 as one character each."""
    return "".join(LEVELS[round(min(max(level, 0.0), 1.0) * (len(LEVELS) - 1))] for level in levels)
