"""Sets of graphs that come with the package."""

from __future__ import annotations

from collections.abc import Callable

from bankgcn.data.builtin.digits import digits
from bankgcn.data.builtin.generated import smooth_or_alternating
from bankgcn.data.builtin.mutag import mutag
from bankgcn.data.graphs import GraphSet

BUILTIN: dict[str, Callable[[], GraphSet]] = {
    "mutag": mutag,
    "digits": digits,
    "smooth-or-alternating": smooth_or_alternating,
}
