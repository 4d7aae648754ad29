"""Messages of commands."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text


def say(message: str, stderr: bool = False) -> None:
    """Print a line without wrapping: results to standard output, other messages to standard error."""
    Console(stderr=stderr, highlight=False).print(Text(message), soft_wrap=True)
