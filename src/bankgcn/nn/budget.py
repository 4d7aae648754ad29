"""The second version of the paper's networks: as many parameters per hidden layer, whatever the convolution."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn

from bankgcn.choices import pick
from bankgcn.nn.convs import CONVS


class Width(NamedTuple):
    """A width of the hidden layers, and the parameters that one of them has then."""

    channels: int
    parameters: int


def layer_parameters(conv: str, channels: int, **options: object) -> int:
    """Number of parameters of a hidden layer, from ``channels`` to as many."""
    with torch.device("meta"):  # counted, not allocated
        layer: nn.Module = pick(CONVS, conv, "convolution")(channels, channels, **options)
    return sum(parameter.numel() for parameter in layer.parameters())


def width_for_budget(conv: str, budget: int, **options: object) -> Width:
    """The width whose hidden layer has the number of parameters nearest to ``budget``.

    Widths that the convolution cannot have are passed over: those which subspaces or heads do not divide.

    Example:
        >>> width_for_budget("bank", 16_500, order=2, num_subspaces=16)
        Width(channels=128, parameters=16560)
    """
    if budget < 1:
        raise ValueError(f"budget={budget}: expected at least one parameter")
    pick(CONVS, conv, "convolution")  # a wrong name is not a width that does not fit
    best: Width | None = None
    for channels in range(1, budget + 1):  # a layer has at least as many parameters as channels
        try:
            width = Width(channels, layer_parameters(conv, channels, **options))
        except ValueError:
            continue
        if best is not None and abs(width.parameters - budget) >= abs(best.parameters - budget):
            break  # counts grow with the width: from here on they only get farther away
        best = width
    if best is None:
        raise ValueError(f"no width up to {budget} makes a {conv!r} layer with {options}")
    return best
