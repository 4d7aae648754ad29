"""Widths for the paper's second comparison: hidden layers with about the same number of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from bankgcn.nn.convs import CONVS
from bankgcn.settings import pick


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

    Raises:
        ValueError: The options are wrong, or the budget is smaller than the smallest width.

    Example:
        >>> width_for_budget("bank", 16_500, order=2, num_subspaces=16)
        Width(channels=128, parameters=16560)
    """
    if budget < 1:
        raise ValueError(f"budget={budget}: expected at least one parameter")
    step = _smallest_width(conv, options)
    best: Width | None = None
    for channels in range(step, budget + 1, step):  # a layer has at least as many parameters as channels
        width = Width(channels, layer_parameters(conv, channels, **options))
        if best is not None and abs(width.parameters - budget) >= abs(best.parameters - budget):
            break  # the count grows with the width: wider layers are farther from the budget
        best = width
    if best is None:
        raise ValueError(f"no width up to {budget} is possible for a {conv!r} layer with {options}")
    return best


def _smallest_width(conv: str, options: Mapping[str, object]) -> int:
    """The width that all possible widths are multiples of."""
    row = pick(CONVS, conv, "convolution")
    if not row.divisor:
        return 1
    number: Any = options.get(row.divisor, row.defaults[row.divisor])
    row.options[row.divisor].check(row.divisor, number)
    return number
