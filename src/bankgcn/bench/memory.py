"""The memory that a training step adds to the process, whoever asks for it: PyTorch, NumPy or compiled code."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Protocol

from bankgcn.training.memory import MMAP_THRESHOLD, TRIM_THRESHOLD, reuse_memory

GLIBC_DEFAULT = 128 << 10  # bytes, of both thresholds
STEPS = 20  # more than are taken at once
RESET_PEAK = "5"  # what /proc/self/clear_refs takes it for; see proc(5)


class Steps(Protocol):
    """Something that trains, a step at a time."""

    def steps(self) -> Iterator[None]:
        """One epoch; a step is done whenever this yields."""


def peak_bytes(training: Steps) -> int | None:
    """Most bytes that the process held at a time during some steps, beyond those at their start.

    Freed memory goes back to the system meanwhile, as it does unless a process asks for something else, so that what a
    step could use again counts for every contender alike. ``None`` where the system does not tell.
    """
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    for threshold in (MMAP_THRESHOLD, TRIM_THRESHOLD):
        libc.mallopt(threshold, GLIBC_DEFAULT)
    try:
        next(training.steps())  # what is made once is there now
        gc.collect()
        libc.malloc_trim(0)
        Path("/proc/self/clear_refs").write_text(RESET_PEAK)
        before = _bytes("VmRSS")
        for _ in islice((None for _ in cycle([None]) for _ in training.steps()), STEPS):
            pass
        return _bytes("VmHWM") - before
    except OSError:  # not every kernel lets itself be asked
        return None
    finally:
        reuse_memory.cache_clear()
        reuse_memory()


def _bytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))
