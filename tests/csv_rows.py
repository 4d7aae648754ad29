"""Tables that commands write."""

from __future__ import annotations

import csv
from pathlib import Path


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, by the names of its columns."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
