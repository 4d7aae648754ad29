"""The gradient of a step: by a pass through the whole network where there is one, else by autograd."""

from __future__ import annotations

import torch
from torch import Tensor

from bankgcn.data.batch import GraphBatch
from bankgcn.kernels import fused_for
from bankgcn.nn.network import GraphNetwork
from bankgcn.nn.whole import whole
from bankgcn.training.config import TrainConfig
from bankgcn.training.flat import FlatParameters
from bankgcn.training.objective import objective, whole_takes


class Learner:
    """A network that is being trained, with its parameters in one vector.

    Args:
        net: The network; from now on its parameters share the vector's memory.
        config: The protocol.
    """

    def __init__(self, net: GraphNetwork, config: TrainConfig):
        self.net, self.config = net, config
        learned = [parameter for parameter in net.parameters() if parameter.requires_grad]
        self.parameters = FlatParameters(learned)
        self._whole = whole(net) if len(learned) == len(list(net.parameters())) else None

    def learn(self, batch: GraphBatch, share: float = 1.0) -> Tensor:
        """Add the gradient of a batch's objective, times its share of a larger batch, to the parameters' gradients.

        Returns:
            The sum of the task's losses, which nobody has to wait for.
        """
        vector, gradient = self.parameters.vector.detach(), self.parameters.gradient
        passes = self._whole if fused_for(vector) else None
        if passes is None or batch.y is None or not whole_takes(passes, batch):
            loss, task = objective(self.net, batch, self.config)
            (loss if share == 1 else loss * share).backward()
            return task * batch.num_graphs
        mean_loss = passes.add_task_gradient(batch.arrays, batch.y.numpy(), vector, share, gradient)
        if self.config.gamma:
            layers = len(self.net.convs) if self.config.coherence == "mean" else 1
            passes.add_coherence_gradient(vector, share * self.config.gamma / layers, gradient)
        return torch.tensor(mean_loss * batch.num_graphs)
