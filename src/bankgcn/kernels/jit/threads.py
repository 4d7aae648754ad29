"""Running a compiled pass on as many threads as PyTorch uses.

numba's threads come from OpenMP, TBB or a queue of its own, whichever it finds. Three things follow. Starting them may
change the number of threads of PyTorch, which shares OpenMP. The queue does not bear two callers at once. And none
of them survives a fork, after which numba would end the process. So PyTorch's number is put back, a second caller goes
alone, and so does a forked process. One thread never starts any of this.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numba
import torch

_taken = threading.Lock()
_forked = False


def available_threads() -> int:
    """How many threads a pass may use here: those of PyTorch, as far as numba has them."""
    numbas: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # set when numba is loaded
    return 1 if _forked else min(torch.get_num_threads(), numbas)


@contextmanager
def several_threads(threads: int) -> Iterator[bool]:
    """Set numba's number of threads and say whether they may be used, which is not so if somebody else does."""
    if threads == 1 or not _taken.acquire(blocking=False):
        yield False
        return
    torchs, numbas = torch.get_num_threads(), numba.get_num_threads()
    try:
        numba.set_num_threads(threads)
        yield True
    finally:
        numba.set_num_threads(numbas)
        if torch.get_num_threads() != torchs:
            torch.set_num_threads(torchs)
        _taken.release()


def _after_fork() -> None:
    global _forked
    _forked = True


os.register_at_fork(after_in_child=_after_fork)
