"""All parameters of a network in one vector, and all gradients in another: one update, one message for all."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn


class FlatParameters:
    """Parameters of a network, laid one after another in memory; what changes one changes the other.

    Args:
        parameters: The parameters, of one type and on one device. Their gradients are set to 0, and stay where they
            are: backward passes add to them.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]):
        self.parts = list(parameters)
        self.vector = nn.Parameter(torch.cat([part.detach().reshape(-1) for part in self.parts]))
        self.gradient = torch.zeros_like(self.vector)
        self.vector.grad = self.gradient
        sizes = [part.numel() for part in self.parts]
        values, gradients = self.vector.detach().split(sizes), self.gradient.split(sizes)
        for part, value, gradient in zip(self.parts, values, gradients, strict=True):
            part.data = value.view_as(part)
            part.grad = gradient.view_as(part)

    def release(self) -> None:
        """Give each parameter memory of its own again, with the value that it has now, and no gradient."""
        for part in self.parts:
            part.data = part.detach().clone()
            part.grad = None
