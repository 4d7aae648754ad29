"""Write the result of a command to a file, or to standard output for ``-``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import typer

from bankgcn.files.atomic import atomic_write

OR_STANDARD_OUTPUT = "'-' is standard output."
"""A sentence for the help of such options."""


def is_standard_output(path: Path | None) -> bool:
    """Whether the result goes to standard output; then all messages go to standard error."""
    return str(path) in ("-", "/dev/stdout")


def is_stream(path: Path) -> bool:
    """Whether this is a pipe or a device, whose name says nothing about the format."""
    return path.exists() and not path.is_file() and not path.is_dir()


def check_ending(path: Path, *endings: str) -> None:
    """Raise, before any work starts, unless the name of a file ends in one of these: it may be the name of an input.

    Raises:
        ValueError: It has another ending, and is no pipe or device.
    """
    if path.suffix.lower() not in endings and not is_stream(path):
        raise ValueError(f"{path}: expected a name that ends in {', '.join(endings)}")


@contextmanager
def open_output(path: Path) -> Iterator[BinaryIO]:
    """Open the output. A file appears complete or not at all."""
    if is_standard_output(path):
        stream = typer.get_binary_stream("stdout")
        yield stream
        stream.flush()
    else:
        with atomic_write(path) as file:
            yield file


def print_text(text: str, path: Path) -> None:
    """Print a text, or write it to a file and say so."""
    if is_standard_output(path):
        typer.echo(text, nl=False)
        return
    with atomic_write(path) as file:
        file.write(text.encode())
    typer.echo(f"written to {path}")


def named(path: Path) -> str:
    """The name of the output in messages."""
    return "standard output" if is_standard_output(path) else str(path)
