"""What a command tells its user."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text


def say(message: str, stderr: bool = False) -> None:
    """Print a line, however long: results to standard output, what is said on the way to standard error."""
    Console(stderr=stderr, highlight=False).print(Text(message), soft_wrap=True)
