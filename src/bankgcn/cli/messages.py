"""Messages of commands. All that is printed goes through :func:`printable`: names and values come from files.

A class or a file may be called anything. Without the escapes, an escape sequence in its name could hide a line, rename
the window or write to the clipboard of whoever reads the output.
"""

from __future__ import annotations

import re

import typer
from rich.console import Console
from rich.text import Text

# Control characters of both sets, those that reverse the direction of text, further line ends, and what is no text.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, lines: bool = False) -> str:
    r"""The text with escapes for all characters that do something else than to show themselves. Tabs stay.

    Args:
        text: The text, or a part of it, may come from a file.
        lines: Whether its line ends are our own, and stay.

    Example:
        >>> print(printable("toxic\x1b[2J\nerror: none"))
        toxic\x1b[2J\nerror: none
    """
    escaped = _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return escaped if lines else escaped.replace("\n", r"\n")


def terminal_text(text: str, style: str = "", lines: bool = False) -> Text:
    """The text, made :func:`printable`, for a table or a console of Rich: never markup."""
    return Text(printable(text, lines), style=style)


def say(message: str, stderr: bool = False, lines: bool = False) -> None:
    """Print a line: results to standard output, other messages to standard error.

    On a terminal, long messages continue on a new line between words; results stay one line each, to be copied.

    Args:
        message: What to print; see :func:`printable`.
        stderr: Whether it is a message and no result.
        lines: Whether the message has line ends of our own.
    """
    console = Console(stderr=stderr, highlight=False)
    console.print(terminal_text(message, lines=lines), soft_wrap=not (stderr and console.is_terminal))


def say_block(text: str) -> None:
    """Print a text of several lines, such as a table, to standard output."""
    typer.echo(printable(text, lines=True), nl=False)
