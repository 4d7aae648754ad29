"""All parameters of a network in one vector and all gradients in another: one update, one all-reduce."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn


class FlatParameters:
    """Parameters of a network that share memory with one vector, and their gradients with another.

    Args:
        parameters: The parameters, of one type and on one device. Their gradients are set to 0; backward passes add to
            them in place.
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
            tensor.grad = gradient.view_as(tensor)

    def release(self) -> None:
        """Give each parameter its own memory again, with its present value and no gradient."""
        for tensor in self.tensors:
            tensor.data = tensor.detach().clone()
            tensor.grad = None
