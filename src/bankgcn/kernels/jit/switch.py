"""When compiled code is used, and on how many threads: as many as PyTorch uses.

numba takes its threads from OpenMP, TBB or its own work queue. Starting them may change the number of threads of
PyTorch, which shares OpenMP: we restore it. The work queue does not allow two callers at once: a second caller runs on
one thread.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import numba
import torch
from torch import Tensor

from bankgcn.choices import pick

VARIABLE = "BANKGCN_KERNELS"
VALUES = {"on": True, "1": True, "true": True, "yes": True, "off": False, "0": False, "false": False, "no": False}
_switch: ContextVar[bool | None] = ContextVar("kernels", default=None)


@contextmanager
def use_kernels(on: bool) -> Iterator[None]:
    """Switch the kernels on or off within a ``with`` block.

    Outside such a block the environment variable ``BANKGCN_KERNELS`` decides: ``off``, ``0``, ``false`` and ``no``,
    in upper or lower case, switch them off.
    """
    token = _switch.set(on)
    try:
        yield
    finally:
        _switch.reset(token)


def fused_for(*tensors: Tensor) -> bool:
    """Whether the kernels support these tensors and are switched on."""
    if torch.compiler.is_compiling():  # torch.compile calls operators only
        return False
    if torch.jit.is_tracing():  # torch.jit.trace records PyTorch's operations only
        return False
    return _switched_on() and all(_is_supported(tensor) and not _is_wrapped(tensor) for tensor in tensors)


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
    if not _switched_on() or _in_transform():
        return False
    import bankgcn.kernels.layer.operators  # noqa: F401  # registers the operators

    return True


# Called while the graph is traced, but not traced itself; as torch.compiler.assume_constant_result, without loading
# the compiler.
_operators_available._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _switched_on() -> bool:
    on = _switch.get()
    if on is None:
        on = pick(VALUES, (os.environ.get(VARIABLE) or "on").lower(), f"value of {VARIABLE}")
    return on and _has_numba()


def _in_transform() -> bool:
    return torch._C._functorch.peek_interpreter_stack() is not None


def _is_supported(tensor: Tensor) -> bool:
    if tensor.device.type != "cpu":
        return False
    return tensor.dtype in (torch.float32, torch.float64) or not tensor.is_floating_point()


def _is_wrapped(tensor: Tensor) -> bool:
    """Whether ``torch.func`` wraps the tensor; then it has no memory of its own."""
    return torch._C._functorch.is_functorch_wrapped_tensor(tensor)


@cache
def _has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None


_in_use = threading.Lock()
_forked = False


def available_threads() -> int:
    """Number of threads that a kernel may use: PyTorch's number, at most numba's."""
    numba_threads: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # set when numba is loaded
    return 1 if _forked else min(torch.get_num_threads(), numba_threads)


@contextmanager
def several_threads(threads: int) -> Iterator[bool]:
    """Set numba's number of threads; yields ``False`` if the caller must use one thread, as when they are in use."""
    if threads == 1 or not _in_use.acquire(blocking=False):
        yield False
        return
    torch_threads, numba_threads = torch.get_num_threads(), numba.get_num_threads()
    try:
        numba.set_num_threads(threads)
        yield True
    finally:
        numba.set_num_threads(numba_threads)
        if torch.get_num_threads() != torch_threads:
            torch.set_num_threads(torch_threads)
        _in_use.release()


def run_on_threads(run: Callable[[int, int], None], numbers: range, threads: int) -> None:
    """Call ``run(number, thread)`` for all numbers, which compiled code without the GIL computes side by side.

    Args:
        run: Takes a number and the thread that calls it, from 0.
        numbers: The numbers; a thread that is ready takes the next one.
        threads: Number of threads, this one included.
    """
    pending = iter(numbers)
    lock = threading.Lock()

    def work(thread: int) -> None:
        while True:
            with lock:
                number = next(pending, None)
            if number is None:
                return
            run(number, thread)

    others = [_pool(threads - 1).submit(work, thread) for thread in range(1, min(threads, len(numbers)))]
    try:
        work(0)
    finally:
        for other in others:
            other.result()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="bankgcn")


def _after_fork() -> None:
    global _forked
    _forked = True
    _pool.cache_clear()


os.register_at_fork(after_in_child=_after_fork)
