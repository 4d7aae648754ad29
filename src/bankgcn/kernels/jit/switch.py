"""Which tensors kernels are used for: those on the CPU, in single or double precision, unless they are switched off."""

from __future__ import annotations

import torch
from torch import Tensor

from bankgcn.kernels.jit.setting import switched_on


def fused_for(*tensors: Tensor) -> bool:
    """Whether the kernels support these tensors and are switched on."""
    if torch.compiler.is_compiling():  # torch.compile calls operators only
        return False
    if torch.jit.is_tracing():  # torch.jit.trace records PyTorch's operations only
        return False
    return switched_on() and all(_is_supported(tensor) and not _is_wrapped(tensor) for tensor in tensors)


def is_transformed() -> bool:
    """Whether a transform of ``torch.func`` runs, such as ``vmap``, which takes PyTorch's operations only."""
    return not torch.compiler.is_compiling() and _in_transform()


def operators_for(*tensors: Tensor) -> bool:
    """The same inside ``torch.compile``, whose graph contains the kernels as operators.

    Exported programs keep the plain operations, so that they run without this package. The switch is read when the
    graph is traced.
    """
    if not torch.compiler.is_compiling() or _is_exporting():
        return False
    return _operators_available() and all(_is_supported(tensor) for tensor in tensors)


# PyTorch 2.6 does not distinguish exporting from compiling: there both keep the plain operations.
_is_exporting = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)


def _operators_available() -> bool:
    if not switched_on() or _in_transform():
        return False
    import bankgcn.kernels.layer.operators  # noqa: F401  # registers the operators

    return True


# Called while the graph is traced, but not traced itself; as torch.compiler.assume_constant_result, without loading
# the compiler.
_operators_available._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _in_transform() -> bool:
    return torch._C._functorch.peek_interpreter_stack() is not None


def _is_supported(tensor: Tensor) -> bool:
    if tensor.device.type != "cpu":
        return False
    return tensor.dtype in (torch.float32, torch.float64) or not tensor.is_floating_point()


def _is_wrapped(tensor: Tensor) -> bool:
    """Whether ``torch.func`` wraps the tensor; then it has no memory of its own."""
    return torch._C._functorch.is_functorch_wrapped_tensor(tensor)
