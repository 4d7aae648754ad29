"""Run a compiled function on as many threads as PyTorch uses.

numba takes its threads from OpenMP, TBB or its own work queue. Starting them may change the number of threads of
PyTorch, which shares OpenMP: we restore it. The work queue does not allow two callers at once: a second caller runs on
one thread. No thread pool survives a fork, and numba would end the process: a forked process runs on one thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import numba
import torch

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
