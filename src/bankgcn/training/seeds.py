"""One seed, several streams: what is drawn for one purpose never moves what is drawn for another."""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class Seeds(NamedTuple):
    """Independent seeds for all that a run draws.

    Each is the first eight bytes of the SHA-256 of ``"bankgcn/<stream>/<seed>"``: the same on any machine and in any
    version of the libraries, and neighbouring seeds share nothing.
    """

    split: int
    subset: int
    weights: int
    batches: int
    dropout: int

    @classmethod
    def of(cls, seed: int) -> Seeds:
        """The seeds that follow from one.

        Example:
            >>> Seeds.of(0).split == Seeds.of(0).split, Seeds.of(0).split == Seeds.of(1).split
            (True, False)
        """
        return cls(*(_derived(stream, seed) for stream in cls._fields))


def _derived(stream: str, seed: int) -> int:
    digest = hashlib.sha256(f"bankgcn/{stream}/{seed}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1  # 63 bits: torch and numpy both take it
