"""Whether compiled kernels are switched on. Nothing here needs PyTorch: processes that only read graphs ask, too."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from bankgcn.settings import pick

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


def switched_on() -> bool:
    """Whether kernels are switched on, and numba is installed."""
    on = _switch.get()
    if on is None:
        on = pick(VALUES, (os.environ.get(VARIABLE) or "on").lower(), f"value of {VARIABLE}")
    return on and _has_numba()


@cache
def _has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None
