"""All that commands write: messages, texts, tables, to a terminal or a file.

All that is printed goes through :func:`printable`: names and values come from files. A class or a file may be called
anything. Without the escapes, an escape sequence in its name could hide a line, rename the window or write to the
clipboard of whoever reads the output.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, ClassVar, Self

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from bankgcn.data.catalog import USUAL_FOLDERS, DataFolders
from bankgcn.files.checked import atomic_write

if TYPE_CHECKING:
    from rich.live import Live

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
    escaped = _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
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
    with above_display():
        console.print(terminal_text(message, lines=lines), soft_wrap=not (stderr and console.is_terminal))


def say_block(text: str) -> None:
    """Print a text of several lines, such as a table, to standard output."""
    with above_display():
        typer.echo(printable(text, lines=True), nl=False)


class Display:
    """Lines at the end of a terminal that are redrawn, see :meth:`render`. What is printed meanwhile is above them.

    Args:
        console: The terminal; elsewhere nothing is drawn.
        refreshes: How often a second a thread of its own redraws them; 0: :meth:`redraw` alone does.
    """

    current: ClassVar[Display | None] = None
    """The one that is in use."""

    def __init__(self, console: Console, refreshes: float):
        self.console, self.refreshes = console, refreshes
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            Display.current = self
            self.show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hide()
        if Display.current is self:
            Display.current = None

    def render(self) -> RenderableType:
        """The lines."""
        raise NotImplementedError

    def show(self) -> None:
        """Draw the lines below what has been printed."""
        from rich.live import Live  # a new one each time: it would erase as many lines as it drew before

        self._live = Live(
            console=self.console,
            get_renderable=self.render,
            auto_refresh=self.refreshes > 0,
            refresh_per_second=self.refreshes or 1.0,
            transient=True,
        )
        self._live.start(refresh=True)

    def hide(self) -> None:
        """Erase the lines."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def redraw(self) -> None:
        """Draw the lines again, if they are shown."""
        if self._live is not None:
            self._live.refresh()


@contextmanager
def above_display() -> Iterator[None]:
    """Hide the lines that are redrawn, while the block prints. They stay hidden if it is interrupted."""
    display = Display.current
    if display is not None:
        display.hide()
    yield
    if display is not None:
        display.show()


OR_STANDARD_OUTPUT = "'-' is standard output."
"""A sentence for the help of such options."""
VERIFIED = "verify.json"
"""The file of ``bankgcn paper verify --json`` in a packed folder; the page on the reproduction shows it."""


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
    folders: DataFolders = USUAL_FOLDERS,
) -> None:
    """Raise, before any work starts, if the output would replace a file that the command reads.

    A symbolic link to such a file and a hard link are the same file.

    Args:
        out: The output.
        run: The folder of a run, or of several.
        sources: Where graphs are read from.
        store: A folder of records.
        folders: Where to look for datasets.

    Raises:
        ValueError: It is one of the inputs; the message names it.
    """
    if out is None or is_standard_output(out) or not out.is_file():
        return
    named_sources = [source for source in sources if source is not None]
    for file in (*_run_files(run), *_source_files(named_sources, folders), *_store_files(store)):
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


def _source_files(sources: Iterable[str | Path], folders: DataFolders) -> list[Path]:
    """The files that the readers of sources read; a source that cannot be found is reported when it is read."""
    from bankgcn.data.sources import READERS, find_sources

    files: list[Path] = []
    for name in sources:
        with suppress(ValueError, OSError):
            for source in find_sources(name, folders):
                if source.path is not None:
                    files += [source.path, *READERS[source.reader].files(source.path)]
    return files


def _store_files(store: Path | None) -> list[Path]:
    """The files of records in a store or a packed folder. What ``paper verify --json`` wrote there is no record."""
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


def write_json(path: Path, values: Any, indent: int = 1, allow_nan: bool = False) -> None:
    """Write values to the output as JSON."""
    with open_output(path) as file:
        file.write(json.dumps(values, indent=indent, allow_nan=allow_nan).encode() + b"\n")


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


JsonFile = Annotated[Path | None, typer.Option("--json", help=f"Output file for all figures; {OR_STANDARD_OUTPUT}")]
