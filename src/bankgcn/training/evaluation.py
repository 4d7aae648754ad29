"""Applying a trained network: logits, representations, loss and score."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bankgcn.choices import pick
from bankgcn.data.graphs import GraphSet
from bankgcn.nn.network import GraphNetwork
from bankgcn.training.metrics import METRICS
from bankgcn.training.objective import embedding_of, logits_of, task_loss

BATCH_SIZE = 512  # nothing is kept for a backward pass, so batches can be large


@dataclass(frozen=True)
class Evaluation:
    """How well a network does on some graphs."""

    loss: float
    score: float


def predict_logits(net: GraphNetwork, graphs: GraphSet, batch_size: int = BATCH_SIZE) -> Tensor:
    """Logits of all graphs, in their order: shape ``(num_graphs, num_classes)``."""
    device = next(net.parameters()).device
    with torch.no_grad():
        parts = [logits_of(net, batch.to(device)) for batch in graphs.batches(batch_size)]
    return torch.cat(parts) if parts else torch.empty(0, net.predict.out_features)


def embed(net: GraphNetwork, graphs: GraphSet, batch_size: int = BATCH_SIZE) -> Tensor:
    r"""Representations :math:`h_{\mathcal G}` of all graphs, in their order: shape ``(num_graphs, width)``."""
    device = next(net.parameters()).device
    with torch.no_grad():
        parts = [embedding_of(net, batch.to(device)) for batch in graphs.batches(batch_size)]
    return torch.cat(parts) if parts else torch.empty(0, net.predict.in_features)


def evaluate(net: GraphNetwork, graphs: GraphSet, metric: str = "accuracy") -> Evaluation:
    """Task loss and score on graphs whose classes are known."""
    if graphs.y is None:
        raise ValueError("the graphs have no classes to compare with")
    logits = predict_logits(net, graphs).cpu()
    y = torch.from_numpy(graphs.y)
    return Evaluation(task_loss(logits, y).item(), pick(METRICS, metric, "metric")(logits, y))
