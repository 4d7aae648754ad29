r"""Training steps: they minimise :math:`T_\Theta(\mathcal G, Y) + \gamma\,\Omega(\alpha)`, Eq. 20.

A :class:`Stepper` computes gradients by autograd or by program, and updates the parameters. The processes of a
:class:`ProcessGroup`, which ``torchrun`` starts, train one model together, each on its shard of every batch.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn

from bankgcn.data.batch import GraphBatch
from bankgcn.data.graphs import GraphSet
from bankgcn.kernels import fused_for
from bankgcn.messages import Message, Option
from bankgcn.nn.layers import AtomEncoder, dropout_key
from bankgcn.nn.lowering import lower
from bankgcn.nn.network import GraphNetwork
from bankgcn.settings import pick
from bankgcn.spectral.featured_edges import FeaturedEdges
from bankgcn.spectral.shift import GraphShift
from bankgcn.tasks import Task
from bankgcn.training.checks import known_weight
from bankgcn.training.config import DEVICES, TrainConfig
from bankgcn.training.optimizer import Optimizer

if TYPE_CHECKING:  # numba is loaded when a kernel is first used, and fitting.py makes the steppers
    from bankgcn.kernels.network.collate import CollatedGraphs
    from bankgcn.kernels.network.executor import Targets
    from bankgcn.kernels.network.program import Program
    from bankgcn.kernels.ops.parameters import Adam
    from bankgcn.training.fitting import Context

MAX_PROGRAM_NODES = 1 << 15  # of a graph: the executor stores its signals of all layers
MAX_CALL_NODES = 1 << 15  # of the batches that one call of the executor trains on; it cannot be interrupted


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


def logits_of(net: GraphNetwork, batch: GraphBatch, dropout_key: int | None = None) -> Tensor:
    """The network's logits for a batch."""
    return net.predict_from(embedding_of(net, batch, dropout_key), dropout_key, features_of(net, batch))


def features_of(net: GraphNetwork, batch: GraphBatch) -> Tensor | None:
    """The features of the graphs of a batch, in the precision of the network; ``None`` if it takes none."""
    features = batch.graph_attr if net.graph_dim else None
    return None if features is None else features.to(net.predict.weight.dtype)


def embedding_of(net: GraphNetwork, batch: GraphBatch, dropout_key: int | None = None) -> Tensor:
    """Representation of each graph by the modules of the network, in its precision.

    Filter banks use the shift that the set stores; other networks use the edges.
    """
    x, edges, weight = network_inputs(net, batch)
    return net.graph_embedding(x, edges, batch.batch, weight, batch_size=batch.num_graphs, dropout_key=dropout_key)


def network_inputs(
    net: GraphNetwork, batch: GraphBatch
) -> tuple[Tensor, Tensor | GraphShift | FeaturedEdges, Tensor | None]:
    """Signals, edges and edge weights of a batch, in the form that is fastest for the network."""
    dtype = net.predict.weight.dtype
    # An encoder looks integers up: they must not be rounded.
    x = batch.x if isinstance(net.encoder, AtomEncoder) else batch.x.to(dtype)
    if net.edge_dim is not None:
        return x, batch.featured_edges.to(dtype), None
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
    summed = (net.edge_dim or 0) if net.sums_edges else 0
    if graphs.num_features + summed != program.in_channels or graphs.num_edge_features < (net.edge_dim or 0):
        return False
    if program.backward and graphs.num_graph_features != program.graph_features:
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
    features = bool(program.graph_features and program.backward)  # the head is not part of a program without a loss
    graphs = batch.collate(program.operator, merged=merged, by_kinds=by_kinds, features=features)
    return look_up_attributes(graphs, program.embedding) if program.embedding else graphs


def frozen_parameters(net: GraphNetwork, config: TrainConfig) -> set[int]:
    """Identities of the parameters of the layers that the protocol freezes."""
    return {id(parameter) for module in net.first_layers(config.freeze) for parameter in module.parameters()}


class FlatParameters:
    """Parameters of a network that share memory with one vector, and their gradients with another.

    Args:
        parameters: The parameters, of one type and on one device. Their gradients are set to 0; backward passes add to
            them in place. Those that require no gradient have none, but zeros in the vector.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]):
        self.tensors = list(parameters)
        self.vector = nn.Parameter(torch.cat([tensor.detach().reshape(-1) for tensor in self.tensors]))
        self.gradient = torch.zeros_like(self.vector)
        self.vector.grad = self.gradient
        sizes = [tensor.numel() for tensor in self.tensors]
        values, gradients = self.vector.detach().split(sizes), self.gradient.split(sizes)
        for tensor, value, gradient in zip(self.tensors, values, gradients, strict=True):
            tensor.data = value.view_as(tensor)
            tensor.grad = gradient.view_as(tensor) if tensor.requires_grad else None

    def release(self) -> None:
        """Give each parameter its own memory again, with its present value and no gradient."""
        for tensor in self.tensors:
            tensor.data = tensor.detach().clone()
            tensor.grad = None


class Stepper:
    """Takes training steps by autograd.

    Args:
        net: The network; its parameters share memory with one vector from now on.
        context: What else the training needs.
        num_graphs: Number of training graphs.
    """

    batches_per_call = 1  # number of batches that :meth:`step` expects as one

    def __init__(self, net: GraphNetwork, context: Context, num_graphs: int):
        self.net, self.context = net, context
        frozen = frozen_parameters(net, context.config)
        self.parameters = FlatParameters(
            parameter for parameter in net.parameters() if parameter.requires_grad or id(parameter) in frozen
        )
        numels = [(id(tensor) in frozen, tensor.numel()) for tensor in self.parameters.tensors]
        is_frozen = torch.cat([torch.full((numel,), kept) for kept, numel in numels])
        self._frozen = is_frozen.nonzero().flatten().to(self.parameters.vector.device)
        self._kept = self.parameters.vector.detach()[self._frozen]
        steps_per_epoch = math.ceil(num_graphs / (context.config.batch_size * context.group.size))
        self.optimizer = Optimizer(
            net, self.parameters.tensors, self.parameters.vector, context.config, steps_per_epoch
        )

    def _keep_frozen(self) -> None:
        """Remember the weights of the frozen layers. Not once for all: a checkpoint may have replaced them."""
        self._kept = self.parameters.vector.detach()[self._frozen]

    def _restore_frozen(self) -> None:
        """Undo what a step did to the frozen layers, such as the decay of their weights."""
        state = self.optimizer.adam.state[self.parameters.vector]
        with torch.no_grad():
            self.parameters.vector[self._frozen] = self._kept
            for values in (state["exp_avg"], state["exp_avg_sq"], self.parameters.gradient):
                values[self._frozen] = 0

    @property
    def path(self) -> Literal["whole network", "fused layers", "plain"]:
        """How the steps are computed, as records name it."""
        return "fused layers" if fused_for(self.parameters.vector) else "plain"

    def dropout_key(self, step: int) -> int:
        """The key of a step's dropout. Each step has its own, and in it each process of the group."""
        group = self.context.group
        return dropout_key(self.context.dropout_seed, step * group.size + group.rank)

    def step(self, graphs: GraphBatch) -> list[Tensor | float]:
        """Take a step for each ``batch_size`` graphs; return the sum of the task losses of each batch."""
        self.parameters.gradient.zero_()
        loss = self.add_gradient(graphs)
        self.update()
        return [loss * graphs.num_graphs]

    def update(self) -> None:
        """Take a step with the gradient of the vector."""
        self._keep_frozen()
        self.optimizer.step()
        if len(self._frozen):
            self._restore_frozen()

    def add_gradient(self, batch: GraphBatch, share: float = 1.0) -> Tensor | float:
        """Add the gradient of a batch's objective, times its share of a larger batch.

        Returns:
            The task loss, times the share; as a tensor on the device, so that the caller decides when to wait for it.
        """
        key = self.dropout_key(self.optimizer.steps_taken) if self.net.dropout else None
        context, weights = self.context, None
        if context.weights is not None:
            weights = torch.from_numpy(context.weights[batch.indices]).to(self.parameters.vector)
        loss, task = objective(self.net, batch, context.config, context.task, key, weights)
        (loss if share == 1 else loss * share).backward()
        return task * share


class ProgramStepper(Stepper):
    """Takes training steps with the compiled executor, several batches per call, on as many threads as PyTorch uses.

    Args:
        net: The network; its parameters share memory with one vector from now on.
        context: What else the training needs.
        num_graphs: Number of training graphs.
        program: The lowered network, with the loss of the task.
        batch_nodes: Mean number of nodes in a batch.
    """

    def __init__(self, net: GraphNetwork, context: Context, num_graphs: int, program: Program, batch_nodes: float):
        super().__init__(net, context, num_graphs)
        self.program = program
        # The executor updates all parameters, so frozen layers are restored before the next batch.
        self.batches_per_call = 1 if len(self._frozen) else max(1, int(MAX_CALL_NODES / max(batch_nodes, 1)))
        # Omega is a sum over the layers, or their mean.
        self._gamma = context.config.gamma / (len(net.convs) if context.config.coherence == "mean" else 1)

    @property
    def path(self) -> Literal["whole network"]:
        """How the steps are computed, as records name it."""
        return "whole network"

    def step(self, graphs: GraphBatch) -> list[Tensor | float]:
        """Take a step for each ``batch_size`` graphs; return the sum of the task losses of each batch."""
        if len(self._frozen) and self.context.config.clip_norm is not None:
            return super().step(graphs)  # the norm must not count the gradients that the executor has for them
        batch_ptr = np.append(np.arange(0, graphs.num_graphs, self.context.config.batch_size), graphs.num_graphs)
        self._keep_frozen()
        losses = self._run(graphs, batch_ptr, self._adam(len(batch_ptr) - 1))
        self.optimizer.adam.state[self.parameters.vector]["step"] += len(losses)
        if len(self._frozen):
            self._restore_frozen()
        return (losses * np.diff(batch_ptr)).tolist()

    def add_gradient(self, batch: GraphBatch, share: float = 1.0) -> float:
        """Add the gradient of a batch's objective, times its share; return the task loss, times the share."""
        (loss,) = self._run(batch, np.array([0, batch.num_graphs]), None, share)
        self.parameters.gradient[self._frozen] = 0
        return float(loss)

    def _run(
        self, graphs: GraphBatch, batch_ptr: NDArray[np.int64], adam: Adam | None, share: float = 1.0
    ) -> NDArray[np.float64]:
        """Mean losses of the batches, times their share; with Adam, a step is taken after each."""
        from bankgcn.kernels.network.executor import train

        first = self.optimizer.steps_taken
        keys = [self.dropout_key(first + number) for number in range(len(batch_ptr) - 1)] if self.net.dropout else None
        return train(
            collate_for(self.program, graphs),
            batch_ptr,
            self.program,
            self.parameters.vector.detach().numpy(),
            self._targets(graphs, batch_ptr, share),
            self.parameters.gradient.numpy(),
            adam,
            gamma=self._gamma * share,
            dropout_keys=None if keys is None else np.array(keys),
            threads=torch.get_num_threads(),
        )

    def _targets(self, graphs: GraphBatch, batch_ptr: NDArray[np.int64], share: float) -> Targets:
        """What the loss compares outputs with, and the share of each: the loss is a mean over a batch."""
        from bankgcn.kernels.network.executor import Targets

        task, given = self.context.task, self.context.weights
        y = task.targets(cast(NDArray, graphs.source.y)[graphs.indices]).numpy()
        if task.kind == "classes":
            classes, values = y, np.empty((0, 0))
        else:
            classes, values = np.empty(0, np.int64), np.ascontiguousarray(y, np.float64)
        weights = np.ones(len(y)) if given is None else given[graphs.indices]
        totals = np.add.reduceat(known_weight(y, weights), batch_ptr[:-1]) if len(y) else np.ones(0)
        totals[totals == 0] = 1
        of_graph = totals.repeat(np.diff(batch_ptr))
        return Targets(classes, values, share * weights / (of_graph if weights.ndim == 1 else of_graph[:, None]))

    def _adam(self, steps: int) -> Adam:
        """State of the optimiser, in its own memory, and the settings of its next steps; zeros before the first one."""
        from bankgcn.kernels.ops.parameters import Adam

        vector, optimizer = self.parameters.vector, self.optimizer
        state = optimizer.adam.state[vector]
        if not state:
            moments = {name: torch.zeros_like(vector, requires_grad=False) for name in ("exp_avg", "exp_avg_sq")}
            state |= {"step": torch.zeros(())} | moments
        (group,), first = optimizer.adam.param_groups, int(state["step"])
        return Adam(
            mean=state["exp_avg"].numpy(),
            square=state["exp_avg_sq"].numpy(),
            step=first + 1,
            learning_rate=np.array([optimizer.rate(step) for step in range(first, first + steps)]),
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            epsilon=group["eps"],
            weight_decay=self.context.config.weight_decay,
            clip_norm=self.context.config.clip_norm,
            decays=None if optimizer.decays is None else optimizer.decays.numpy(),
        )


def make_stepper(net: GraphNetwork, graphs: GraphSet, context: Context) -> Stepper:
    """The fastest stepper for a network on these training graphs: by program where the executor supports both."""
    program, frozen = program_for(net, graphs, context.task.loss), frozen_parameters(net, context.config)
    if program is None or not all(parameter.requires_grad or id(parameter) in frozen for parameter in net.parameters()):
        return Stepper(net, context, len(graphs))
    batch_nodes = context.config.batch_size * len(graphs.degree) / len(graphs)
    return ProgramStepper(net, context, len(graphs), program, batch_nodes)


def usable_device(name: str) -> torch.device:
    """The device of this name; of several GPUs, that of this process.

    Args:
        name: One of :data:`~bankgcn.training.config.DEVICES`.

    Raises:
        ValueError: There is no such device.

    Example:
        >>> usable_device("cpu")
        device(type='cpu')
    """
    pick(dict.fromkeys(DEVICES), name, "device")
    if name == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        options: dict[str, Any] = {"wanted": Option("device", name), "usual": Option("device", "cpu")}
        raise ValueError(
            Message("{wanted} needs a GPU that PyTorch can use, and it finds none here; {usual} works", **options)
        )
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


@dataclass(frozen=True)
class ProcessGroup:
    """The processes that train together; by default this one alone, on the CPU.

    Args:
        rank: Number of this process.
        size: Number of processes.
        device: Where this process trains.
    """

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=partial(torch.device, "cpu"))

    @classmethod
    def from_environment(cls, device: str = "cpu") -> ProcessGroup:
        """Join the group that ``torchrun`` started; without ``torchrun``, the group is this process alone.

        Args:
            device: ``"cpu"`` or ``"cuda"``: then each process of a machine has a GPU of its own.

        Raises:
            ValueError: There is no such device.
        """
        own = usable_device(device)
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if size == 1:
            return cls(device=own)
        if not dist.is_initialized():
            if own.type == "cuda":
                torch.cuda.set_device(own)
            dist.init_process_group("nccl" if own.type == "cuda" else "gloo")
        return cls(dist.get_rank(), dist.get_world_size(), own)

    def shard(self, batch: GraphBatch, weights: NDArray[np.float64] | None = None) -> tuple[GraphBatch, float]:
        """The graphs of a batch that this process trains on, and their fraction of the batch.

        Args:
            batch: The batch.
            weights: How much each graph of its source counts in the loss, if they do not count equally.
        """
        if self.size == 1:
            return batch, 1.0
        shard = GraphBatch(batch.source, batch.indices[self.rank :: self.size], batch.device)
        total = 0.0 if weights is None else weights[batch.indices].sum()
        if weights is None or total == 0:
            return shard, shard.num_graphs / batch.num_graphs
        return shard, float(weights[shard.indices].sum() / total)

    def all_reduce(self, value: Tensor) -> Tensor:
        """Sum a tensor over all processes, in place."""
        if self.size > 1:
            dist.all_reduce(value)
        return value

    def broadcast(self, values: Sequence[float]) -> list[float]:
        """The values of the first process.

        All processes must take the same decisions, but their own sums may differ in the last bit.
        """
        if self.size == 1:
            return list(values)
        shared = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.broadcast(shared, src=0)
        return shared.tolist()

    def barrier(self) -> None:
        """Wait until all processes reach this point."""
        if self.size > 1:
            dist.barrier()

    def close(self) -> None:
        """Leave the group."""
        if self.size > 1:
            dist.destroy_process_group()
