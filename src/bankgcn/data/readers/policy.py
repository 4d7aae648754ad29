"""What a reader does with a graph that it cannot use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

from bankgcn.choices import pick
from bankgcn.files.errors import FileError

SHOWN = 5  # reasons that a message lists

Policy = Literal["refuse", "skip"]
"""``"refuse"`` raises an error; ``"skip"`` leaves the graph out and adds a note."""


def check_policy(policy: str, kind: str) -> None:
    """Raise an error that names the policies unless this is one of them; ``kind`` is what the message calls it."""
    pick(dict.fromkeys(get_args(Policy)), policy, kind)


class Skipped(dict[int, str]):
    """Rows that have no graph, with the reasons.

    Args:
        allowed: Whether a graph that cannot be read is left out; else it is an error.
    """

    def __init__(self, allowed: bool):
        super().__init__()
        self.allowed = allowed

    @contextmanager
    def catching(self, row: int) -> Iterator[None]:
        """Note the error of a row, if that is allowed."""
        try:
            yield
        except FileError as error:
            if not self.allowed:
                raise
            self[row] = str(error)

    def listed(self) -> str:
        """The first reasons, and how many more there are."""
        more = f"; and {len(self) - SHOWN:,} more" if len(self) > SHOWN else ""
        return "; ".join([*self.values()][:SHOWN]) + more

    def notes(self, total: int, what: str) -> tuple[str, ...]:
        """A note on these rows, if there are any; ``what`` is what the message calls the rows."""
        return (
            (f"{len(self):,} of {total:,} {what} could not be read and are left out: {self.listed()}",) if self else ()
        )
