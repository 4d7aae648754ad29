"""Whether an exported model predicts what the model predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.graphs import GraphSet
from bankgcn.nn.layers import AtomEncoder
from bankgcn.training.evaluation import predict_logits
from bankgcn.training.model import TrainedModel

if TYPE_CHECKING:
    import onnxruntime

    from bankgcn.export.onnx_file import PredictingNetwork

TOLERANCE = 1e-4
"""Largest difference allowed: of probabilities, or of values in units of their standard deviation."""
_GENERATED = ((1, 0), (4, 0), (2, 2), (9, 18), (30, 60))  # nodes of each generated graph, and pairs that are drawn


def sample_graphs(model: TrainedModel, weighted: bool) -> list[GraphSet]:
    """Generated graphs: each alone, then all together. The first has one node, the second no edges.

    Args:
        model: What the graphs are for: the width of their features is the model's.
        weighted: Whether there are also graphs with edge weights.
    """
    kinds = [_random_graphs(model, weighted=each) for each in ((False, True) if weighted else (False,))]
    return [part for graphs in kinds for part in (*(graphs[number] for number in range(len(graphs))), graphs)]


def check_same_predictions(content: bytes, net: PredictingNetwork, sets: Sequence[GraphSet]) -> float:
    """Compare the predictions of an exported model with those of the model.

    Args:
        content: The exported model.
        net: The model.
        sets: Graphs with the features of the model; each set is one call. Those without nodes are left out: an exported
            model knows the graphs by their nodes.

    Returns:
        The largest difference.

    Raises:
        ValueError: It is larger than ``TOLERANCE``.
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    compared = [graphs[graphs.num_nodes > 0] for graphs in sets]
    differences = [_difference(session, net, graphs) for graphs in compared if len(graphs)]
    largest = float(np.max(differences))  # NaN if any is
    if not largest <= TOLERANCE:
        raise ValueError(
            f"the exported model differs from the model by {largest:.1e}, more than {TOLERANCE:g}: nothing was written"
        )
    return largest


def _difference(session: onnxruntime.InferenceSession, net: PredictingNetwork, graphs: GraphSet) -> float:
    batch = graphs.batch()
    inputs: dict[str, NDArray] = {
        "x": batch.x.float().numpy(),
        "edge_index": batch.edge_index.numpy(),
        "batch": batch.batch.numpy(),
    }
    if net.weighted:
        weight = batch.edge_weight
        inputs["edge_weight"] = np.ones(1, np.float32) if weight is None else weight.float().numpy()
    (found,) = session.run(None, inputs)
    expected = net.decode(predict_logits(net.net, graphs)).numpy()
    return float(np.abs((found - expected) / (net.task.scale or 1)).max())


def _random_graphs(model: TrainedModel, weighted: bool) -> GraphSet:
    random = np.random.default_rng(0)
    num_nodes = [nodes for nodes, _ in _GENERATED]
    shape = (sum(num_nodes), model.in_channels)
    encoder = model.net.encoder
    attributes = random.standard_normal(shape)
    if isinstance(encoder, AtomEncoder):  # it looks integers up
        attributes = random.integers(0, encoder.num_values, shape).astype(np.float64)
    first = np.cumsum([0, *num_nodes[:-1]])
    parts = [_random_pairs(*graph, random) + start for graph, start in zip(_GENERATED, first, strict=True)]
    pairs = np.concatenate(parts, axis=1)
    weights = np.tile(random.uniform(0.5, 2, pairs.shape[1]), 2) if weighted else None
    edge_index = np.concatenate([pairs, pairs[::-1]], axis=1)
    return GraphSet.from_edges(num_nodes, edge_index, attributes=attributes.astype(np.float32), edge_weight=weights)


def _random_pairs(num_nodes: int, drawn_pairs: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Edges between the nodes of a graph, each once: shape ``(2, E)``."""
    drawn = np.sort(random.integers(0, num_nodes, (2, drawn_pairs)), axis=0)
    return np.unique(drawn[:, drawn[0] < drawn[1]], axis=1)
