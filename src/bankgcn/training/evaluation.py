"""Applying a network: outputs, representations, loss and score."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.data.batch import GraphBatch
from bankgcn.data.graphs import GraphSet
from bankgcn.nn.network import GraphNetwork
from bankgcn.tasks import Task
from bankgcn.training.objective import embedding_of, logits_of

BATCH_SIZE = 512  # nothing is kept for a backward pass, so batches can be large


@dataclass(frozen=True)
class Evaluation:
    """How well a network does on some graphs."""

    loss: float
    score: float


def predict_logits(net: GraphNetwork, graphs: GraphSet, batch_size: int = BATCH_SIZE) -> Tensor:
    """Outputs for all graphs, in their order: shape ``(num_graphs, out_channels)``; logits, if classes are learned.

    The network is in evaluation mode meanwhile: nothing is dropped at random, and running statistics stay as they are.
    """
    return _apply(logits_of, net, graphs, batch_size, net.predict.out_features)


def embed(net: GraphNetwork, graphs: GraphSet, batch_size: int = BATCH_SIZE) -> Tensor:
    r"""Representations :math:`h_{\mathcal G}` of all graphs, in their order: shape ``(num_graphs, width)``.

    The network is in evaluation mode meanwhile, as in :func:`predict_logits`.

    Raises:
        ValueError: A representation is not finite.
    """
    return check_finite(_apply(embedding_of, net, graphs, batch_size, net.embedding_channels), graphs)


def check_finite(rows: Tensor, graphs: GraphSet, numbers: NDArray[np.int64] | None = None) -> Tensor:
    """The rows that a network computed for graphs.

    Args:
        rows: One row for each graph.
        graphs: The set of the graphs.
        numbers: Their numbers in it; by default the rows are those of the whole set.

    Raises:
        ValueError: A row is not finite; the message names the graph and its largest signal.
    """
    for row in (~rows.isfinite().all(1)).nonzero().flatten().tolist()[:1]:
        graph = row if numbers is None else int(numbers[row])
        nodes = slice(int(graphs.node_ptr[graph]), int(graphs.node_ptr[graph + 1]))
        name = f" ({graphs.names[graph]!r})" if graphs.names else ""
        largest = np.abs(graphs.signals(nodes)).max(initial=0)
        raise ValueError(
            f"the network computes no finite numbers for graph {graph}{name}, whose largest feature is {largest:g}: "
            "check its features"
        )
    return rows


def evaluate(
    net: GraphNetwork, graphs: GraphSet, task: Task | None = None, weights: NDArray[np.float64] | None = None
) -> Evaluation:
    """Task loss and score on graphs whose targets are known.

    Args:
        net: The network.
        graphs: The graphs.
        task: What the network learned; by default the classes of the graphs, scored by accuracy.
        weights: Weight of each graph in the loss; the score has none.
    """
    if graphs.y is None:
        raise ValueError("the graphs have no targets to compare with")
    task = task or Task(names=graphs.classes)
    return evaluate_outputs(predict_logits(net, graphs).cpu(), graphs.y, task, weights)


def evaluate_outputs(outputs: Tensor, y: NDArray, task: Task, weights: NDArray[np.float64] | None = None) -> Evaluation:
    """Task loss and score of outputs of a network, given the targets; the loss with the weight of each graph."""
    shares = None if weights is None else torch.from_numpy(weights).to(outputs)
    return Evaluation(task.task_loss(outputs, task.targets(y), shares).item(), task.score(outputs, y))


def _apply(
    function: Callable[[GraphNetwork, GraphBatch], Tensor],
    net: GraphNetwork,
    graphs: GraphSet,
    batch_size: int,
    width: int,
) -> Tensor:
    """What the function returns for the batches of a set, one below another: ``width`` columns."""
    device = net.predict.weight.device
    with _evaluation_mode(net):
        parts = [function(net, batch.to(device)) for batch in graphs.batches(batch_size)]
    return torch.cat(parts) if parts else net.predict.weight.new_empty(0, width)


@contextmanager
def _evaluation_mode(net: GraphNetwork) -> Iterator[None]:
    """Put the network into evaluation mode, without gradients, and give each module its own mode back afterwards."""
    modes = [(module, module.training) for module in net.modules()]
    net.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training
