"""Picking something by its name, with an error that helps."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping
from typing import TypeVar

T = TypeVar("T")


def pick(options: Mapping[str, T], name: str, kind: str) -> T:
    """The option of that name.

    Raises:
        ValueError: There is none; the message names the others, and the one that was probably meant.

    Example:
        >>> pick({"mean": 1, "max": 2}, "maxx", "readout")
        Traceback (most recent call last):
        ValueError: unknown readout 'maxx', expected one of mean, max; did you mean 'max'?
    """
    if isinstance(name, Hashable) and name in options:
        return options[name]
    by_lower = {option.lower(): option for option in options}
    near = difflib.get_close_matches(str(name).lower(), by_lower, n=1)
    hint = f"; did you mean {by_lower[near[0]]!r}?" if near else ""
    raise ValueError(f"unknown {kind} {name!r}, expected one of {', '.join(options)}{hint}")
