"""How kernels are compiled: on first use, cached on disk, with a log message if compilation takes long.

Operations are compiled functions that the executor calls by address. Each one is compiled by itself, when a program
first needs it: so a model compiles only what it uses, and nothing is compiled again inside its callers. The files of
the cache are named by a digest of all kernel sources.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, ClassVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import event, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.ccallback import CFunc
from numba.extending import intrinsic


class KernelCache(FunctionCache):
    """numba's cache of one compiled function, with two differences.

    A compiled function contains the functions that it calls from other files, but numba checks the caller's file
    alone. Therefore the names of the cache files contain a digest of all sources. And if the disk is full or a file
    is not accessible, the function is still compiled and used; one warning per process names the folder.
    """

    class _NamedByDigest(CompileResultCacheImpl):
        def get_filename_base(self, fullname: str, abiflags: str) -> str:
            return f"{super().get_filename_base(fullname, abiflags)}-{sources_digest()}"

    _impl_class = _NamedByDigest
    warned: ClassVar[bool] = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for these argument types, or ``None``."""
        with self._without_disk_errors("read"):
            return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled function, and remove the files of older sources."""
        with self._without_disk_errors("save"):
            self._remove_outdated()
            super().save_overload(sig, data)

    def _remove_outdated(self) -> None:
        function, _, _ = self._impl.filename_base.partition("-")
        for path in Path(self.cache_path).glob(f"{function}-*.nb[ci]"):
            if sources_digest() not in path.name:
                path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _without_disk_errors(self, action: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not KernelCache.warned:
                KernelCache.warned = True
                logging.getLogger("bankgcn").warning(
                    "cannot %s compiled code in %s (%s), so every process compiles it again; "
                    "free some disk space, or set NUMBA_CACHE_DIR to another folder",
                    action,
                    self.cache_path,
                    error.strerror or error,
                )


@cache
def sources_digest() -> str:
    """A digest of all kernel sources, computed once per process."""
    return digest_of(resources.files("bankgcn.kernels"))


def digest_of(folder: Traversable) -> str:
    """A digest of the names and contents of all Python files in a folder and its subfolders."""
    digest = hashlib.sha256()
    for name, content in _python_files(folder, ""):
        for part in (name.encode(), content):
            digest.update(len(part).to_bytes(8))
            digest.update(part)
    return digest.hexdigest()[:16]


def _python_files(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _python_files(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".py"):
            yield prefix + entry.name, entry.read_bytes()


NOTICE_SECONDS = 2.0  # compilation time after which the user is told what the program waits for
# Reassociation and fused multiply-add let loops be vectorised; NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
OPTIONS: dict[str, Any] = {"fastmath": FASTMATH, "nogil": True, "error_model": "numpy"}  # division by 0 does not raise


def jit_cached(function: Callable[..., Any]) -> Any:
    """JIT-compiles a function when it is first called with new argument types, and caches the machine code on disk."""
    return _compile(function)


def jit_cached_parallel(function: Callable[..., Any]) -> Any:
    """Like :func:`jit_cached`, and runs each ``numba.prange`` on several threads (``bankgcn.kernels.jit.switch``)."""
    return _compile(function, parallel=True)


def jit_cached_exact(function: Callable[..., Any]) -> Any:
    """Like :func:`jit_cached`, and adds and multiplies in the order that is written, each result rounded."""
    return _compile(function, fastmath=False)


def jit_inner(function: Callable[..., Any]) -> Any:
    """JIT-compiles a helper of other compiled functions; it has no cache file of its own."""
    return numba.njit(**OPTIONS)(function)


def _compile(function: Callable[..., Any], **changes: bool) -> Any:
    dispatcher = numba.njit(**{**OPTIONS, **changes})(function)
    cached_on_disk(dispatcher, function)
    return dispatcher


def cached_on_disk(compiled: Any, function: Callable[..., Any]) -> None:
    """Cache the machine code of a function on disk: what ``cache=True`` does, with our own cache class."""
    try:
        compiled._cache = KernelCache(function)
    except RuntimeError:  # numba found no folder that it may write to
        _notice.cached = False


class SlowCompilation(event.Listener):
    """Logs one message as soon as compilation has taken ``seconds`` in total.

    numba reports every compilation, one at a time; it does not report code that it loads from disk.
    """

    def __init__(self, seconds: float):
        self.cached = True
        self._remaining = seconds
        self._logged = False
        self._depth = 0  # compiling a function compiles those that it calls
        self._started = 0.0
        self._timer: threading.Timer | None = None

    def on_start(self, event: event.Event) -> None:
        """Start the timer with the outermost compilation."""
        if not _is_ours(event):
            return
        self._depth += 1
        if self._depth == 1 and not self._logged:
            self._started = time.monotonic()
            self._timer = threading.Timer(max(self._remaining, 0), self._log)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: event.Event) -> None:
        """Stop the timer, and subtract the elapsed time from what remains."""
        if not _is_ours(event):
            return
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._remaining -= time.monotonic() - self._started

    def _log(self) -> None:
        self._logged = True
        how_often = "once" if self.cached else "in every process, because NUMBA_CACHE_DIR names no writable folder"
        logging.getLogger("bankgcn").warning(
            "compiling the CPU kernels for this machine (%s; some seconds); BANKGCN_KERNELS=off avoids this",
            how_often,
        )


def _is_ours(event: event.Event) -> bool:
    function = event.data["dispatcher"].py_func
    return str(function.__module__).startswith("bankgcn.")  # a function made by exec has no module


_notice = SlowCompilation(NOTICE_SECONDS)
event.register("numba:compile", _notice)


MIX1, MIX2, ODD = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15)


@jit_inner
def mix(value):
    """A hash of 64 bits: the last step of splitmix64."""
    value = (value ^ (value >> np.uint64(30))) * MIX1
    value = (value ^ (value >> np.uint64(27))) * MIX2
    return value ^ (value >> np.uint64(31))


TYPES = {np.dtype(np.float32): types.float32, np.dtype(np.float64): types.float64}


class Operation:
    """What an instruction of a program does.

    Args:
        function: Python function that numba compiles. Its arguments are pointers: the operands of the instruction, the
            table of the block (:mod:`bankgcn.kernels.ops.blocks`), the workspace, the parameters, and their
            gradients.
        operands: Names of the operands. ``x: buffer`` stands for three numbers: offset in the workspace, distance of
            two rows, padded width; ``w: slot`` for two: offset in the parameters, distance of two rows.
        in_place: Buffers that may share the memory of the result.
    """

    def __init__(self, function: Callable[..., None], operands: str, in_place: tuple[str, ...] = ()):
        self.name = function.__name__
        self.function = function
        parts = [part.strip().partition(":") for part in operands.split(",") if part.strip()]
        self.operands = {name.strip(): kind.strip() or "number" for name, _, kind in parts}
        self.in_place = in_place
        self._compiled: dict[np.dtype, Any] = {}

    def address(self, dtype: np.dtype) -> int:
        """Address of the machine code for floats of this type; compiles it or loads it from disk if necessary."""
        if dtype not in self._compiled:
            self._compiled[dtype] = self._compile(dtype)
        return int(self._compiled[dtype].address)

    def _compile(self, dtype: np.dtype) -> Any:
        integers, floats = types.CPointer(types.int64), types.CPointer(TYPES[dtype])
        signature = types.void(integers, integers, floats, floats, floats)
        options = {name: value for name, value in OPTIONS.items() if name != "nogil"}
        compiled = CFunc(self.function, (signature.args, signature.return_type), {}, options)
        cached_on_disk(compiled, self.function)
        details = {"dispatcher": numba.njit(self.function)}  # numba reports the compilation of dispatchers only
        with event.trigger_event("numba:compile", data=details):
            compiled.compile()
        return compiled


def operation(operands: str, in_place: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Operation]:
    """Make an :class:`Operation` of a function."""
    return lambda function: Operation(function, operands, in_place)


@intrinsic
def unpack(typingctx, instruction, count):
    """The first ``count`` operands of an instruction, as a tuple; ``count`` is a constant."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    numbers = types.UniTuple(types.int64, count.literal_value)

    def generate(context, builder, signature, arguments):
        places = (builder.gep(arguments[0], [ir.Constant(ir.IntType(64), k)]) for k in range(count.literal_value))
        return context.make_tuple(builder, numbers, [builder.load(place) for place in places])

    return numbers(instruction, count), generate


@intrinsic
def call(typingctx, address, instruction, table, work, parameters, gradients):
    """Call the operation at an address."""

    def generate(context, builder, signature, arguments):
        target, *rest = arguments
        kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in rest])
        builder.call(builder.inttoptr(target, kind.as_pointer()), rest)
        return context.get_dummy_value()

    return types.void(types.int64, instruction, table, work, parameters, gradients), generate
