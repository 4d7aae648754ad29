"""How kernels are compiled: on first use, cached on disk, with a log message if compilation takes long."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

from bankgcn.kernels.jit.compile_cache import KernelCache

NOTICE_SECONDS = 2.0  # compilation time after which the user is told what the program waits for
# Reassociation and fused multiply-add let loops be vectorised; NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
OPTIONS: dict[str, Any] = {"fastmath": FASTMATH, "nogil": True, "error_model": "numpy"}  # division by 0 does not raise


def jit_cached(function: Callable[..., Any]) -> Any:
    """JIT-compiles a function when it is first called with new argument types, and caches the machine code on disk."""
    return _compile(function)


def jit_cached_parallel(function: Callable[..., Any]) -> Any:
    """Like :func:`jit_cached`, and runs each ``numba.prange`` on several threads (``bankgcn.kernels.jit.threads``)."""
    return _compile(function, parallel=True)


def jit_inner(function: Callable[..., Any]) -> Any:
    """JIT-compiles a helper of other compiled functions; it has no cache file of its own."""
    return numba.njit(**OPTIONS)(function)


def _compile(function: Callable[..., Any], parallel: bool = False) -> Any:
    dispatcher = numba.njit(**OPTIONS, parallel=parallel)(function)
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
