"""How the passes are compiled: when first used, kept on disk for the next time, and with a word when it takes long."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

from bankgcn.kernels.jit.compile_cache import KernelCache

PATIENCE = 2.0  # seconds after which somebody who waits should be told what for
# Reassociation and fused multiply-add let loops be vectorised; NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
OPTIONS: dict[str, Any] = {"fastmath": FASTMATH, "nogil": True, "error_model": "numpy"}  # nor does division by 0 raise


def compiled(function: Callable[..., Any]) -> Any:
    """The function in machine code, made when it is first called with arguments of new types."""
    return _compile(function)


def compiled_parallel(function: Callable[..., Any]) -> Any:
    """The same, with each ``numba.prange`` shared among threads; see ``bankgcn.kernels.jit.threads``."""
    return _compile(function, parallel=True)


def part(function: Callable[..., Any]) -> Any:
    """A function that only compiled ones call: it is compiled and kept with them."""
    return numba.njit(**OPTIONS)(function)


def _compile(function: Callable[..., Any], parallel: bool = False) -> Any:
    dispatcher = numba.njit(**OPTIONS, parallel=parallel)(function)
    try:
        dispatcher._cache = KernelCache(function)  # what ``cache=True`` does, with a cache of our own
    except RuntimeError:  # numba found no folder that it may write to
        _word.kept = False
    return dispatcher


class SlowCompilation(event.Listener):
    """Says once, as soon as compiling has taken ``patience`` seconds in all, what the user is waiting for.

    numba tells of every compilation, one at a time, and not of code that it finds on disk.
    """

    def __init__(self, patience: float):
        self.kept = True
        self._patience = patience
        self._said = False
        self._depth = 0  # compiling a function compiles those that it calls
        self._started = 0.0
        self._timer: threading.Timer | None = None

    def on_start(self, event: event.Event) -> None:
        """Start to wait."""
        if not _is_ours(event):
            return
        self._depth += 1
        if self._depth == 1 and not self._said:
            self._started = time.monotonic()
            self._timer = threading.Timer(max(self._patience, 0), self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: event.Event) -> None:
        """Wait no longer, but remember how long it was."""
        if not _is_ours(event):
            return
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._patience -= time.monotonic() - self._started

    def _say(self) -> None:
        self._said = True
        how_often = "once" if self.kept else "each time: NUMBA_CACHE_DIR names no folder to keep them in"
        logging.getLogger("bankgcn").warning(
            "compiling the fused passes for this machine, %s, up to half a minute; BANKGCN_KERNELS=off does without",
            how_often,
        )


def _is_ours(event: event.Event) -> bool:
    function = event.data["dispatcher"].py_func
    return str(function.__module__).startswith("bankgcn.")  # a function that somebody made of text has no module


_word = SlowCompilation(PATIENCE)
event.register("numba:compile", _word)
