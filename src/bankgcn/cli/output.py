"""Write the result of a command to a file, or to standard output for ``-``."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import typer

from bankgcn.cli.messages import say, say_block
from bankgcn.files.atomic import atomic_write

OR_STANDARD_OUTPUT = "'-' is standard output."
"""A sentence for the help of such options."""
VERIFIED = "verify.json"
"""The file of ``bankgcn verify --json`` in a packed folder; the page on the reproduction shows it."""


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


def check_not_input(
    out: Path | None,
    *,
    run: Path | None = None,
    sources: Iterable[str | Path | None] = (),
    store: Path | None = None,
    data_root: Path | None = None,
) -> None:
    """Raise, before any work starts, if the output would replace a file that the command reads.

    A symbolic link to such a file and a hard link are the same file.

    Args:
        out: The output.
        run: The folder of a run, or of several.
        sources: Where graphs are read from.
        store: A folder of records.
        data_root: Where to look for datasets first.

    Raises:
        ValueError: It is one of the inputs; the message names it.
    """
    if out is None or is_standard_output(out) or not out.is_file():
        return
    named_sources = [source for source in sources if source is not None]
    for file in (*_run_files(run), *_source_files(named_sources, data_root), *_store_files(store)):
        with suppress(OSError):  # it is not there
            if os.path.samefile(out, file):
                same = "an input" if str(file) == str(out) else file
                raise ValueError(f"{out} is {same}, which this command reads: name another file to write")


def _run_files(run: Path | None) -> list[Path]:
    """The files of a run, or of the runs in a folder."""
    if run is None:
        return []
    from bankgcn.training.run_folder import RunFolder

    folders = [run, *(inner for inner in run.iterdir() if inner.is_dir())] if run.is_dir() else [run]
    return [file for folder in folders for file in RunFolder(folder).files]


def _source_files(sources: Iterable[str | Path], data_root: Path | None) -> list[Path]:
    """The files that the readers of sources read; a source that cannot be found is reported when it is read."""
    from bankgcn.data.readers import READERS
    from bankgcn.data.sources import find_source

    files: list[Path] = []
    for name in sources:
        with suppress(ValueError, OSError):
            source = find_source(name, data_root)
            if source.path is not None:
                files += [source.path, *READERS[source.reader].files(source.path)]
    return files


def _store_files(store: Path | None) -> list[Path]:
    """The files of records in a store or a packed folder. What ``bankgcn verify --json`` wrote there is no record."""
    if store is None:
        return []
    files = (file for ending in ("json", "jsonl", "toml") for file in store.rglob(f"*.{ending}"))
    return [file for file in files if file.name != VERIFIED]


@contextmanager
def open_output(path: Path) -> Iterator[BinaryIO]:
    """Open the output. A file appears complete or not at all."""
    if is_standard_output(path):
        stream = typer.get_binary_stream("stdout")
        if not stream.isatty():
            yield stream
            stream.flush()
            return
        buffer = io.BytesIO()  # a terminal obeys what a file would keep
        yield buffer
        say_block(buffer.getvalue().decode(errors="replace"))
    else:
        with atomic_write(path) as file:
            yield file


def print_text(text: str, path: Path) -> None:
    """Print a text, or write it to a file and say so."""
    if is_standard_output(path):
        say_block(text)
        return
    with atomic_write(path) as file:
        file.write(text.encode())
    say(f"written to {path}")


def named(path: Path) -> str:
    """The name of the output in messages."""
    return "standard output" if is_standard_output(path) else str(path)
