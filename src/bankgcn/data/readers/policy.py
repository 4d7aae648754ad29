"""What a reader does with a graph that it cannot use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

from bankgcn.choices import pick
from bankgcn.files.checked import FileError

SHOWN = 5  # reasons that an error lists
CHARACTERS = 160  # of a reason in a note
LEFT_OUT = "could not be read and are left out"
"""What notes say of graphs that are skipped."""

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
        return (left_out_note(len(self), total, what, next(iter(self.values()))),) if self else ()


def left_out_note(count: int, total: int, what: str, first: str) -> str:
    """How many graphs could not be read, and why the first could not; the reasons of all are in ``skipped``.

    Args:
        count: Their number.
        total: The number of all graphs.
        what: What the message calls them.
        first: The first reason.
    """
    shown = first if len(first) <= CHARACTERS else f"{first[:CHARACTERS]}..."
    return f"{count:,} of {total:,} {what} {LEFT_OUT}; the first: {shown}"
