r"""What training minimises: :math:`T_\Theta(\mathcal G, Y) + \gamma\,\Omega(\alpha)`, Eq. 20."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from bankgcn.data.batch import GraphBatch
from bankgcn.data.graphs import GraphSet
from bankgcn.nn.atom_encoder import AtomEncoder
from bankgcn.nn.lowering import lower, run_embedding
from bankgcn.nn.network import GraphNetwork
from bankgcn.tasks import Task
from bankgcn.training.config import TrainConfig

if TYPE_CHECKING:
    from bankgcn.kernels.network.program import Program

MAX_PROGRAM_NODES = 1 << 15  # of a graph: the executor stores its signals of all layers


def embedding_of(net: GraphNetwork, batch: GraphBatch, dropout_key: int | None = None) -> Tensor:
    """Representation of each graph, in the network's precision.

    Filter banks use the shift that the set stores; other networks use the edges.
    """
    program = None if torch.is_grad_enabled() else program_for(net, batch.source)
    if program is not None:
        return run_embedding(program, net, batch.collated)
    dtype = net.predict.weight.dtype
    # An encoder looks integers up: they must not be rounded.
    x = batch.x if isinstance(net.encoder, AtomEncoder) else batch.x.to(dtype)
    if net.takes_shift:
        return net.graph_embedding(x, batch.shift, batch.batch, batch_size=batch.num_graphs, dropout_key=dropout_key)
    sparse = net.takes_adjacency and batch.device.type == "cpu"  # measured on the CPU only
    edges = batch.adjacency if sparse else batch.edge_index
    weight = None if batch.edge_weight is None else batch.edge_weight.to(dtype)
    return net.graph_embedding(x, edges, batch.batch, weight, batch_size=batch.num_graphs, dropout_key=dropout_key)


def program_for(net: GraphNetwork, graphs: GraphSet) -> Program | None:
    """The network's program if the executor can run it on these graphs; else ``None``: autograd must compute."""
    if net.predict.weight.dtype != torch.float32 or graphs.largest > MAX_PROGRAM_NODES:  # graphs are stored in float32
        return None
    program = lower(net)
    return program if program is not None and graphs.num_features == program.shape.in_channels else None


def logits_of(net: GraphNetwork, batch: GraphBatch, dropout_key: int | None = None) -> Tensor:
    """The network's logits for a batch."""
    return net.predict_from(embedding_of(net, batch, dropout_key), dropout_key)


def objective(
    net: GraphNetwork, batch: GraphBatch, config: TrainConfig, task: Task, dropout_key: int | None = None
) -> tuple[Tensor, Tensor]:
    r"""Objective of a batch (Eq. 20), and its task loss, detached."""
    if batch.y is None:
        raise ValueError("the graphs have no targets to learn")
    loss = task.task_loss(logits_of(net, batch, dropout_key), task.targets(batch.y))
    if config.gamma == 0:
        return loss, loss.detach()
    return loss + config.gamma * net.coherence(config.coherence), loss.detach()
