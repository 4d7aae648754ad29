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

from bankgcn.choices import pick

VARIABLE = "BANKGCN_KERNELS"
VALUES = {"on": True, "1": True, "true": True, "yes": True, "off": False, "0": False, "false": False, "no": False}
_switch: ContextVar[bool | None] = ContextVar("kernels", default=None)


@contextmanager
def use_kernels(on: bool) -> Iterator[None]:
    """Use the fused passes within this block, or do without them, for comparison.

    Outside such a block the environment variable ``BANKGCN_KERNELS`` decides: ``off``, ``0``, ``false`` and ``no``
    switch them off, in upper or lower case.
    """
    token = _switch.set(on)
    try:
        yield
    finally:
        _switch.reset(token)


def fused_for(*tensors: Tensor) -> bool:
    """Whether the fused passes can stand in for the plain ones with these tensors, and may."""
    if torch.compiler.is_compiling():  # nothing can be called that is not an operator
        return False
    return _wanted() and all(_suits(tensor) and not _is_wrapped(tensor) for tensor in tensors)


def operators_for(*tensors: Tensor) -> bool:
    """The same inside ``torch.compile``, where the passes stand as operators in the graph.

    What is exported keeps the plain operations, so that it needs nothing of ours. The switch is looked at when the
    graph is made.
    """
    if not torch.compiler.is_compiling() or _is_exporting():
        return False
    return _operators_ready() and all(_suits(tensor) for tensor in tensors)


# PyTorch 2.6 does not tell exporting from compiling: there both keep the plain operations.
_is_exporting = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)


def _operators_ready() -> bool:
    if not _wanted() or torch._C._functorch.peek_interpreter_stack() is not None:  # inside a transform of torch.func
        return False
    import bankgcn.kernels.layer.operators  # noqa: F401  # registers them

    return True


# Called while the graph is made, not traced: torch.compiler.assume_constant_result without loading the compiler for it.
_operators_ready._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _wanted() -> bool:
    on = _switch.get()
    if on is None:
        on = pick(VALUES, (os.environ.get(VARIABLE) or "on").lower(), f"value of {VARIABLE}")
    return on and _installed()


def _suits(tensor: Tensor) -> bool:
    if tensor.device.type != "cpu":
        return False
    return tensor.dtype in (torch.float32, torch.float64) or not tensor.is_floating_point()


def _is_wrapped(tensor: Tensor) -> bool:
    """Whether ``torch.func`` wraps the tensor, which then has no memory of its own."""
    return torch._C._functorch.is_functorch_wrapped_tensor(tensor)


@cache
def _installed() -> bool:
    return importlib.util.find_spec("numba") is not None
