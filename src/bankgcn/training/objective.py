r"""What training minimises: :math:`T_\Theta(\mathcal G, Y) + \gamma\,\Omega(\alpha)`, Eq. 20."""

from __future__ import annotations

import torch
from torch import Tensor

from bankgcn.data.batch import GraphBatch
from bankgcn.data.graphs import GraphSet
from bankgcn.nn.atom_encoder import AtomEncoder
from bankgcn.nn.network import GraphNetwork
from bankgcn.nn.whole import WholeNetwork, whole
from bankgcn.tasks import Task
from bankgcn.training.config import TrainConfig

LARGEST_WHOLE = 1 << 15  # nodes of a graph that is passed through as a whole: it must fit into memory layer by layer


def embedding_of(net: GraphNetwork, batch: GraphBatch) -> Tensor:
    """Representation of each graph, in the network's precision.

    Filter banks share the shift that the set keeps, others take the edges.
    """
    passes = None if torch.is_grad_enabled() else whole(net)
    if passes is not None and whole_takes(passes, batch.source):
        return passes.embedding(batch.arrays)
    dtype = net.predict.weight.dtype
    # Integers that an encoder looks up must not be rounded.
    x = batch.x if isinstance(net.encoder, AtomEncoder) else batch.x.to(dtype)
    if net.takes_shift:
        return net.graph_embedding(x, batch.shift, batch.batch, batch_size=batch.num_graphs)
    sparse = net.takes_adjacency and batch.device.type == "cpu"  # measured there alone
    edges = batch.adjacency if sparse else batch.edge_index
    weight = None if batch.edge_weight is None else batch.edge_weight.to(dtype)
    return net.graph_embedding(x, edges, batch.batch, weight, batch_size=batch.num_graphs)


def whole_takes(passes: WholeNetwork, graphs: GraphSet) -> bool:
    """Whether the pass through the whole network takes these graphs: in its precision, of its width, not too large."""
    return (
        passes.net.predict.weight.dtype == torch.float32  # as graphs are stored
        and graphs.num_features == passes.plan.shape.inputs
        and graphs.largest <= LARGEST_WHOLE
    )


def logits_of(net: GraphNetwork, batch: GraphBatch) -> Tensor:
    """The network's logits for a batch."""
    return net.predict(embedding_of(net, batch))


def objective(net: GraphNetwork, batch: GraphBatch, config: TrainConfig, task: Task) -> tuple[Tensor, Tensor]:
    r"""Objective of a batch (Eq. 20), and the task's part of it, detached."""
    if batch.y is None:
        raise ValueError("the graphs have no targets to learn")
    loss = task.task_loss(logits_of(net, batch), task.targets(batch.y))
    if config.gamma == 0:
        return loss, loss.detach()
    return loss + config.gamma * net.coherence(config.coherence), loss.detach()
