"""Messages of commands."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text


def say(message: str, stderr: bool = False) -> None:
    """Print a line: results to standard output, other messages to standard error.

    On a terminal, long messages continue on a new line between words; results stay one line each, to be copied.
    """
    console = Console(stderr=stderr, highlight=False)
    console.print(Text(message), soft_wrap=not (stderr and console.is_terminal))
