"""When the fused passes are used: on the CPU, in single or double precision, unless they are switched off."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import torch
from torch import Tensor

VARIABLE = "BANKGCN_KERNELS"
_switch: ContextVar[bool | None] = ContextVar("kernels", default=None)


@contextmanager
def use_kernels(on: bool) -> Iterator[None]:
    """Use the fused passes within this block, or do without them, for comparison.

    Outside such a block the environment variable ``BANKGCN_KERNELS`` decides: ``off`` switches them off.
    """
    token = _switch.set(on)
    try:
        yield
    finally:
        _switch.reset(token)


def fused_for(*tensors: Tensor) -> bool:
    """Whether the fused passes can stand in for the plain ones with these tensors, and may."""
    if torch.compiler.is_compiling():  # a compiler wants to see the plain operations
        return False
    on = _switch.get()
    if on is None:
        on = os.environ.get(VARIABLE, "on") != "off"
    return on and _installed() and all(_plain_cpu(tensor) for tensor in tensors)


def _plain_cpu(tensor: Tensor) -> bool:
    """A tensor with memory of its own: not one that ``torch.func`` wraps."""
    if tensor.device.type != "cpu" or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return False
    return tensor.dtype in (torch.float32, torch.float64) or not tensor.is_floating_point()


@cache
def _installed() -> bool:
    return importlib.util.find_spec("numba") is not None
