"""Memory that a training step frees is kept for the next one, instead of going back to the system page by page."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of mallopt(3)
KEPT_BYTES = 1 << 30
LARGEST_KEPT = 32 << 20  # the most that glibc allows


@cache
def reuse_memory() -> bool:
    """Let the C library keep freed memory of this process, up to a gibibyte; returns whether it could be told.

    Signals of a batch are larger than what glibc keeps by default, so each step would ask the system for fresh, zeroed
    pages for every intermediate result: a quarter of the time of small steps.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL(None)
        return bool(libc.mallopt(MMAP_THRESHOLD, LARGEST_KEPT) and libc.mallopt(TRIM_THRESHOLD, KEPT_BYTES))
    except (OSError, AttributeError):  # another C library
        return False
