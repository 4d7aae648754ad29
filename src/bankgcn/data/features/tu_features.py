"""Which features of a TU set to use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class TUFeatures:
    """The node features to use.

    Args:
        attributes: The real numbers of each node: as they are, scaled to [0, 1] by column, or left out.
        labels: Whether to give the categories of each node, one-hot over their range from the smallest to the largest.
    """

    attributes: Literal["raw", "unit_range", "none"] = "none"
    labels: bool = False

    def __str__(self) -> str:
        phrases = {"raw": "node attributes", "unit_range": "node attributes scaled to [0, 1] by column", "none": ""}
        parts = [phrases[self.attributes], "one-hot node labels" if self.labels else ""]
        return " and ".join(filter(None, parts)) or "one-hot degree and clustering coefficient"
