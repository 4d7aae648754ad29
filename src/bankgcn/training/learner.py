"""Steps of a training: by passes through the whole network where there are any, else by autograd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.data.batch import GraphBatch
from bankgcn.data.graphs import GraphSet
from bankgcn.kernels import fused_for
from bankgcn.nn.network import GraphNetwork
from bankgcn.nn.whole import whole
from bankgcn.tasks import Task
from bankgcn.training.config import TrainConfig
from bankgcn.training.flat import FlatParameters
from bankgcn.training.objective import objective, whole_takes

if TYPE_CHECKING:  # the compiler of the passes is loaded when one is first used
    from bankgcn.kernels.network.executor import Adam, Plan

NODES_AT_ONCE = 1 << 15  # of the batches that are trained on without coming back to Python


class Learner:
    """A network that is being trained, with its parameters in one vector.

    Args:
        net: The network; from now on its parameters share the vector's memory.
        config: The protocol.
        task: What is learned.
    """

    def __init__(self, net: GraphNetwork, config: TrainConfig, task: Task):
        self.net, self.config, self.task = net, config, task
        learned = [parameter for parameter in net.parameters() if parameter.requires_grad]
        self.parameters = FlatParameters(learned)
        self.optimizer = torch.optim.Adam(
            [self.parameters.vector], lr=config.learning_rate, weight_decay=config.weight_decay, fused=True
        )
        self._whole = whole(net) if len(learned) == len(list(net.parameters())) else None
        # Omega is a sum over the layers, or their mean.
        self._gamma = config.gamma / (len(net.convs) if config.coherence == "mean" else 1)

    def path(self, graphs: GraphSet) -> Literal["whole network", "fused layers", "plain"]:
        """How steps on these graphs are computed: by passes through the whole network, or by autograd."""
        if self._plan_for(graphs) is not None:
            return "whole network"
        return "fused layers" if fused_for(self.parameters.vector) else "plain"

    def steps_at_once(self, graphs: GraphSet) -> int:
        """How many batches of these graphs :meth:`train` should be given at a time."""
        if self._plan_for(graphs) is None:
            return 1
        nodes = self.config.batch_size * len(graphs.degree) / len(graphs)
        return max(1, int(NODES_AT_ONCE / max(nodes, 1)))

    def train(self, batch: GraphBatch) -> list[Tensor | float]:
        """Take a step for each ``batch_size`` graphs; return the sums of the task's losses, as they were met."""
        plan = self._plan_for(batch.source)
        if plan is None:
            self.parameters.gradient.zero_()
            loss = self.add_gradient(batch)
            self.optimizer.step()
            return [loss]
        from bankgcn.kernels.network.executor import train

        cuts = np.append(np.arange(0, batch.num_graphs, self.config.batch_size), batch.num_graphs)
        vector, gradient = self.parameters.vector.detach().numpy(), self.parameters.gradient.numpy()
        losses = train(batch.arrays, cuts, plan, vector, _classes(batch), gradient, self._adam(), gamma=self._gamma)
        self.optimizer.state[self.parameters.vector]["step"] += len(losses)
        return (losses * np.diff(cuts)).tolist()

    def add_gradient(self, batch: GraphBatch, share: float = 1.0) -> Tensor | float:
        """Add the gradient of a batch's objective, times its share of a larger batch, to the parameters' gradients.

        Returns:
            The sum of the task's losses, which nobody has to wait for.
        """
        plan = self._plan_for(batch.source)
        if plan is None:
            loss, task = objective(self.net, batch, self.config, self.task)
            (loss if share == 1 else loss * share).backward()
            return task * batch.num_graphs
        from bankgcn.kernels.network.executor import add_gradient

        vector, gradient = self.parameters.vector.detach().numpy(), self.parameters.gradient.numpy()
        mean = add_gradient(batch.arrays, plan, vector, _classes(batch), gradient, scale=share, gamma=self._gamma)
        return mean * batch.num_graphs

    def _plan_for(self, graphs: GraphSet) -> Plan | None:
        """The network as a whole, if these graphs can go through it at once."""
        if self._whole is None or self.task.loss != "cross_entropy" or not fused_for(self.parameters.vector):
            return None
        return self._whole.plan if whole_takes(self._whole, graphs) else None

    def _adam(self) -> Adam:
        """What the optimiser knows, in its own memory; before its first step it knows nothing."""
        from bankgcn.kernels.network.executor import Adam

        vector = self.parameters.vector
        state = self.optimizer.state[vector]
        if not state:
            moments = {name: torch.zeros_like(vector, requires_grad=False) for name in ("exp_avg", "exp_avg_sq")}
            state |= {"step": torch.zeros(())} | moments
        (group,) = self.optimizer.param_groups
        return Adam(
            mean=state["exp_avg"].numpy(),
            square=state["exp_avg_sq"].numpy(),
            number=int(state["step"]) + 1,
            rate=group["lr"],
            betas=group["betas"],
            epsilon=group["eps"],
            weight_decay=group["weight_decay"],
        )


def _classes(batch: GraphBatch) -> NDArray[np.int64]:
    return cast("NDArray[np.int64]", batch.source.y)[batch.indices]
