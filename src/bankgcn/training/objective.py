r"""What training minimises: :math:`T_\Theta(\mathcal G, Y) + \gamma\,\Omega(\alpha)`, Eq. 20."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from bankgcn.data.batch import GraphBatch
from bankgcn.data.graphs import GraphSet
from bankgcn.nn.atom_encoder import AtomEncoder
from bankgcn.nn.lowering import lower
from bankgcn.nn.network import GraphNetwork
from bankgcn.spectral.shift import GraphShift
from bankgcn.tasks import Task
from bankgcn.training.config import TrainConfig

if TYPE_CHECKING:
    from bankgcn.kernels.network.collate import CollatedGraphs
    from bankgcn.kernels.network.program import Program

MAX_PROGRAM_NODES = 1 << 15  # of a graph: the executor stores its signals of all layers


def embedding_of(net: GraphNetwork, batch: GraphBatch, dropout_key: int | None = None) -> Tensor:
    """Representation of each graph by the modules of the network, in its precision.

    Filter banks use the shift that the set stores; other networks use the edges.
    """
    x, edges, weight = network_inputs(net, batch)
    return net.graph_embedding(x, edges, batch.batch, weight, batch_size=batch.num_graphs, dropout_key=dropout_key)


def network_inputs(net: GraphNetwork, batch: GraphBatch) -> tuple[Tensor, Tensor | GraphShift, Tensor | None]:
    """Signals, edges and edge weights of a batch, in the form that is fastest for the network."""
    dtype = net.predict.weight.dtype
    # An encoder looks integers up: they must not be rounded.
    x = batch.x if isinstance(net.encoder, AtomEncoder) else batch.x.to(dtype)
    if net.takes_shift:
        return x, batch.shift, None
    sparse = net.takes_adjacency and batch.device.type == "cpu"  # measured on the CPU only
    weight = None if batch.edge_weight is None else batch.edge_weight.to(dtype)
    return x, batch.adjacency if sparse else batch.edge_index, weight


def program_for(net: GraphNetwork, graphs: GraphSet, loss: str) -> Program | None:
    """The network's program with a loss, if the executor can train it on these graphs; else ``None``.

    Where ``None``, autograd must compute.
    """
    program = lower(net, loss)
    if program is None or not runs_on(program, net, graphs):
        return None
    if not program.drops_nodes:
        by_kinds = lower(net, loss, by_kinds=True)
        if by_kinds is not None and by_kinds.kinds_forward and graphs.kinds(by_kinds.operator) is not None:
            return by_kinds
    return program


def runs_on(program: Program, net: GraphNetwork, graphs: GraphSet) -> bool:
    """Whether the executor can run the program of a network on these graphs."""
    if net.predict.weight.dtype != torch.float32 or graphs.largest > MAX_PROGRAM_NODES:  # graphs are stored in float32
        return False
    if graphs.num_features != program.in_channels:
        return False
    if graphs.edge_weight is not None and not net.takes_weights:  # autograd refuses them
        return False
    return graphs.labels is None or not program.embedding


def collate_for(program: Program, batch: GraphBatch, *, merged: bool = True) -> CollatedGraphs:
    """The graphs of a batch, as a program takes them.

    Args:
        program: The program.
        batch: The graphs.
        merged: Whether equal nodes are merged if the set is large.
    """
    from bankgcn.kernels.network.collate import look_up_attributes

    # Equal nodes differ as soon as values of single nodes are dropped at random.
    merged, by_kinds = merged and not program.drops_nodes, bool(program.kinds_forward)
    graphs = batch.collate(program.operator, merged=merged, by_kinds=by_kinds)
    return look_up_attributes(graphs, program.embedding) if program.embedding else graphs


def logits_of(net: GraphNetwork, batch: GraphBatch, dropout_key: int | None = None) -> Tensor:
    """The network's logits for a batch."""
    return net.predict_from(embedding_of(net, batch, dropout_key), dropout_key)


def objective(
    net: GraphNetwork,
    batch: GraphBatch,
    config: TrainConfig,
    task: Task,
    dropout_key: int | None = None,
    weights: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Objective of a batch (Eq. 20), and its task loss, detached; ``weights`` are those of its graphs in the loss."""
    if batch.y is None:
        raise ValueError("the graphs have no targets to learn")
    loss = task.task_loss(logits_of(net, batch, dropout_key), task.targets(batch.y), weights)
    if config.gamma == 0:
        return loss, loss.detach()
    return loss + config.gamma * net.coherence(config.coherence), loss.detach()
