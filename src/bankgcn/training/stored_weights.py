"""Do the weights in a file fit the network that the file describes? Checked before memory is taken for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from bankgcn.training.model import ModelConfig

SMALL = 1000  # a size that costs nothing to try


def check_weights_fit(config: ModelConfig, in_channels: int, out_channels: int, tensors: Mapping[str, Tensor]) -> None:
    """Raise unless these are the weights of such a network, all of them finite.

    A file that claims a network of a billion channels must not take the memory of one. So all numbers in the
    configuration are compared with the weights first, then the shapes of a network without memory.

    Raises:
        ValueError: The message names the number or the weight.
    """
    largest = max((SMALL, len(tensors), *(size for tensor in tensors.values() for size in tensor.shape)))
    for number in (in_channels, out_channels, *_numbers(config.to_dict())):
        if number > largest:
            raise ValueError(
                f"it claims a network with the size {number:,}, but its weights have at most {largest:,} rows"
            )
    order = config.conv_options.get("order", 0)
    if (order + 1) ** 2 > max(SMALL**2, sum(tensor.numel() for tensor in tensors.values())):
        raise ValueError(f"order={order} is larger than its weights allow")
    with torch.device("meta"):  # shapes without memory
        network = config.build(in_channels, out_channels)
    expected = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in expected.keys() | found.keys():
        if expected.get(name) != found.get(name):
            raise ValueError(f"the weight {name!r} has the shape {found.get(name)}, expected {expected.get(name)}")
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise ValueError(f"the weight {name!r} holds a number that is not finite")


def _numbers(value: Any) -> Iterator[int]:
    """All whole numbers in plain values."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int):
        yield value
