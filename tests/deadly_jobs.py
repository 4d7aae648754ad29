"""What worker processes do in tests. They import it by its name, as the folder of the tests is on their path."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

from bankgcn.data.readers.molecules import Molecules, parse_smiles

KILLS = -1


def squares(numbers: Sequence[int], offset: int) -> list[int | str]:
    """Squares of numbers: one number kills the process, another is an error."""
    if KILLS in numbers:
        os.kill(os.getpid(), signal.SIGSEGV)
    if -2 in numbers:
        raise ValueError("no number may be -2")
    print("noise of a library")
    return [number * number + offset for number in numbers]


def deadly(texts: Sequence[str], *arguments: bool) -> Molecules:
    """Reads SMILES, but one of them kills the process."""
    if "CCCCCCO" in texts:
        os.kill(os.getpid(), signal.SIGSEGV)
    return parse_smiles(texts, *arguments)
