"""Which numbers a setting may have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Range:
    """Finite numbers between two bounds.

    Args:
        at_least: Smallest number allowed.
        above: All numbers allowed are larger than this.
        below: All numbers allowed are smaller than this.
        whole: Whether only whole numbers are allowed.
        optional: Whether ``None`` is allowed, too.
    """

    at_least: float | None = None
    above: float | None = None
    below: float | None = None
    whole: bool = False
    optional: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise unless the value lies in the range.

        Example:
            >>> Range(at_least=1, whole=True).check("patience", 0)
            Traceback (most recent call last):
            ValueError: patience=0: expected at least 1
        """
        if value is None and self.optional:
            return
        if self.whole and (isinstance(value, bool) or not hasattr(value, "__index__")):
            raise ValueError(f"{name}={value!r}: expected a whole number")
        try:
            finite = math.isfinite(value)
        except (TypeError, OverflowError):  # not a number, or an integer beyond all floats
            finite = False
        if not finite:
            raise ValueError(f"{name}={value!r}: expected a finite number")
        if not (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        ):
            bounds = {"at least": self.at_least, "more than": self.above, "less than": self.below}
            expected = " and ".join(f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)
            raise ValueError(f"{name}={value!r}: expected {expected}")


COUNT = Range(at_least=0, whole=True)
POSITIVE_COUNT = Range(at_least=1, whole=True)
NOT_NEGATIVE = Range(at_least=0)


def check_ranges(ranges: Mapping[str, Range], values: Mapping[str, Any]) -> None:
    """Raise unless every value that has a range lies in it."""
    for name, allowed in ranges.items():
        if name in values:
            allowed.check(name, values[name])
