"""How a step changes the parameters: Adam or AdamW, the learning rate of each step, and clipped gradients.

All parameters are one vector, so each of these is a pass over it. The compiled executor takes the same steps with the
operations of :class:`bankgcn.kernels.ops.parameters.Adam`, from the state of the optimiser that is made here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from bankgcn.nn.bank_conv import BankConv
from bankgcn.nn.network import GraphNetwork
from bankgcn.training.config import TrainConfig


class Optimizer:
    """Takes steps of Adam or AdamW on one vector of parameters.

    ``adam`` is torch's optimiser, which holds the moments, the number of steps and the learning rate that the protocol
    and :attr:`plateau` leave; :meth:`rate` makes that of a step of it. In AdamW, matrices decay. Biases and parameters
    of a normalisation do not, and neither do the coefficients of filter banks: without them a filter is the shortcut
    alone, which passes all frequencies, and how far they are from there depends on the basis.

    Args:
        net: The network.
        parameters: Its parameters that the vector holds, in the same order.
        vector: The vector, whose gradient is that of the parameters.
        config: The protocol.
        steps_per_epoch: Number of steps that pass over the training graphs once.
    """

    def __init__(
        self,
        net: GraphNetwork,
        parameters: Iterable[Tensor],
        vector: nn.Parameter,
        config: TrainConfig,
        steps_per_epoch: int,
    ):
        self.vector, self.config = vector, config
        coupled = config.weight_decay if config.optimizer == "adam" else 0.0
        self.adam = torch.optim.Adam([vector], lr=config.learning_rate, weight_decay=coupled, fused=True)
        self.decays: Tensor | None = None
        if config.optimizer == "adamw" and config.weight_decay:
            filters = {id(module.alpha) for module in net.modules() if isinstance(module, BankConv)}
            of_each = [vector.new_full((p.numel(),), float(p.dim() > 1 and id(p) not in filters)) for p in parameters]
            self.decays = torch.cat(of_each).detach()
        self._steps = config.max_epochs * steps_per_epoch
        self._warmup = min(config.warmup * steps_per_epoch, self._steps)
        self.plateau: ReduceLROnPlateau | None = None
        if config.decay_patience is not None:
            self.plateau = ReduceLROnPlateau(
                self.adam,
                factor=config.decay_factor,
                patience=config.decay_patience,
                min_lr=config.min_learning_rate,
            )

    @property
    def steps_taken(self) -> int:
        """Number of steps of the whole training; checkpoints hold it with the moments."""
        state = self.adam.state.get(self.vector)
        return int(state["step"]) if state else 0

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0: it rises to the highest one, and falls as the schedule says."""
        highest = float(self.adam.param_groups[0]["lr"])
        if step < self._warmup:
            return highest * (step + 1) / self._warmup
        if self.config.schedule == "constant":
            return highest
        lowest = min(self.config.min_learning_rate, highest)
        done = (step - self._warmup) / (self._steps - self._warmup)
        return lowest + (highest - lowest) * (1 + math.cos(math.pi * done)) / 2

    def step(self) -> None:
        """Take a step with the gradient of the vector, which is clipped first."""
        (group,), rate = self.adam.param_groups, self.rate(self.steps_taken)
        highest = group["lr"]
        if self.config.clip_norm is not None:
            nn.utils.clip_grad_norm_([self.vector], self.config.clip_norm)
        if self.decays is not None:
            with torch.no_grad():
                self.vector.addcmul_(self.decays, self.vector, value=-rate * self.config.weight_decay)
        group["lr"] = rate
        self.adam.step()
        group["lr"] = highest
