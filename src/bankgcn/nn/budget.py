"""Widths for the paper's second comparison: hidden layers with about the same number of parameters."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn

from bankgcn.choices import pick
from bankgcn.nn.convs import CONVS


class Width(NamedTuple):
    """Width of a hidden layer, and its number of parameters."""

    channels: int
    parameters: int


def layer_parameters(conv: str, channels: int, **options: object) -> int:
    """Number of parameters of a hidden layer with ``channels`` inputs and outputs."""
    with torch.device("meta"):  # allocates nothing
        layer: nn.Module = pick(CONVS, conv, "convolution")(channels, channels, **options)
    return sum(parameter.numel() for parameter in layer.parameters())


def width_for_budget(conv: str, budget: int, **options: object) -> Width:
    """The width whose hidden layer has the number of parameters nearest to ``budget``.

    Widths that are no multiple of the number of subspaces or heads are skipped.

    Example:
        >>> width_for_budget("bank", 16_500, order=2, num_subspaces=16)
        Width(channels=128, parameters=16560)
    """
    if budget < 1:
        raise ValueError(f"budget={budget}: expected at least one parameter")
    pick(CONVS, conv, "convolution")  # the loop would take a wrong name for a wrong width
    best: Width | None = None
    for channels in range(1, budget + 1):  # a layer has at least as many parameters as channels
        try:
            width = Width(channels, layer_parameters(conv, channels, **options))
        except ValueError:
            continue
        if best is not None and abs(width.parameters - budget) >= abs(best.parameters - budget):
            break  # the count grows with the width: wider layers are farther from the budget
        best = width
    if best is None:
        raise ValueError(f"no width up to {budget} is possible for a {conv!r} layer with {options}")
    return best
