"""All that commands write: messages, texts, tables, to a terminal or a file.

All that is printed goes through :func:`printable`: names and values come from files. A class or a file may be called
anything. Without the escapes, an escape sequence in its name could hide a line, rename the window or write to the
clipboard of whoever reads the output.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, ClassVar, NamedTuple, Self

import numpy as np
import typer
from rich.console import Console, RenderableType
from rich.text import Text

from bankgcn.data.catalog import USUAL_FOLDERS, DataFolders
from bankgcn.extras import require
from bankgcn.files.checked import atomic_write
from bankgcn.files.journal import Finish, Journal
from bankgcn.files.tables import Cell, Columns, write_csv

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


WORDS = ("id", "name", "class", "predicted", "set", "unseen", "unreadable")
"""The columns of words; others that have no cell are columns of numbers."""

JsonFile = Annotated[Path | None, typer.Option("--json", help=f"Output file for all figures; {OR_STANDARD_OUTPUT}")]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe", help="In CSV, put ' before text that a spreadsheet would take for a formula (= + - @)."
    ),
]
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


GROUP = 65_536  # rows of a group in a Parquet file, whatever the blocks in which they come


def write_json_lines(file: BinaryIO, columns: Columns, header: bool = True) -> None:
    """One object a row; an empty cell is ``null``. The names of the columns are in each."""
    names = [name for name, _ in columns]
    for row in zip(*(cells for _, cells in columns), strict=True):
        values = dict(zip(names, row, strict=True))
        file.write(json.dumps(values, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def keep_rows(file: BinaryIO, columns: Columns, header: bool = True) -> None:
    """Rows as JSON, below the names of the columns, for formats that are written when all rows are there."""
    if header:
        file.write(json.dumps([name for name, _ in columns]).encode() + b"\n")
    for row in zip(*(cells for _, cells in columns), strict=True):
        file.write(json.dumps(row).encode() + b"\n")


def kept_rows(file: BinaryIO) -> tuple[list[str], Iterator[list[Cell]]]:
    """The names of the columns and the rows that :func:`keep_rows` wrote."""
    file.seek(0)
    return json.loads(file.readline()), map(json.loads, file)


def parquet_of_rows(rows: BinaryIO, file: BinaryIO) -> None:
    """Write rows that were kept as a Parquet file; needs pyarrow. All rows decide on the type of a column."""
    import pyarrow
    from pyarrow import parquet

    schema = _schema_of(rows)
    names, table = kept_rows(rows)
    with parquet.ParquetWriter(file, schema) as writer:
        while True:
            group = list(islice(table, GROUP))
            cells = zip(*group, strict=True) if group else ([] for _ in names)
            arrays = [pyarrow.array(list(column), one.type) for one, column in zip(schema, cells, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            if len(group) < GROUP:
                return


def _schema_of(rows: BinaryIO) -> Any:
    """The columns of kept rows, each of the type of its cells; without a cell, of words or of numbers."""
    import pyarrow

    names, table = kept_rows(rows)
    found: list[set[type]] = [set() for _ in names]
    for row in table:
        for kinds, cell in zip(found, row, strict=True):
            kinds.add(type(cell))
    fields = []
    for name, kinds in zip(names, found, strict=True):
        kinds -= {type(None)}
        kind = pyarrow.float64()
        if str in kinds or (not kinds and name in WORDS):
            kind = pyarrow.string()
        elif kinds and kinds <= {int, bool}:
            kind = pyarrow.int64() if int in kinds else pyarrow.bool_()
        fields.append(pyarrow.field(name, kind))
    return pyarrow.schema(fields)


def gzip_of_rows(rows: BinaryIO, file: BinaryIO) -> None:
    """Compress rows; equal rows become equal files."""
    rows.seek(0)
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        shutil.copyfileobj(rows, packed, 1 << 20)


class Format(NamedTuple):
    """How rows are written.

    Args:
        write: Writes columns to a file, with their names if no rows are there yet.
        finish: From what was written and the file to a file of the format, if that needs all rows.
    """

    write: Callable[[BinaryIO, Columns, bool], None]
    finish: Finish | None = None


FORMATS: dict[str, Format] = {
    ".csv": Format(write_csv),
    ".parquet": Format(keep_rows, parquet_of_rows),
    ".jsonl": Format(write_json_lines),
    ".csv.gz": Format(write_csv, gzip_of_rows),
}
"""How a table is written, by the ending of its file."""


def array_format(width: int) -> Format:
    """Columns of numbers alone, as an array of NumPy in single precision with as many columns as the width."""

    def write(file: BinaryIO, columns: Columns, header: bool) -> None:
        rows = np.array([cells for _, cells in columns], np.float32).reshape(width, -1)
        file.write(np.ascontiguousarray(rows.T).tobytes())

    def finish(rows: BinaryIO, file: BinaryIO) -> None:
        count = rows.seek(0, io.SEEK_END) // (4 * width)
        rows.seek(0)
        layout = {"descr": np.lib.format.dtype_to_descr(np.dtype(np.float32)), "fortran_order": False}
        np.lib.format.write_array_header_1_0(file, {**layout, "shape": (count, width)})
        shutil.copyfileobj(rows, file, 1 << 20)

    return Format(write, finish)


def check_output(path: Path, formats: tuple[str, ...] = tuple(FORMATS)) -> None:
    """Raise, before any work starts, if a table cannot be written to this path.

    Raises:
        ImportError: The format needs a library that is not installed.
        ValueError: The ending names no format.
    """
    if ending_of(path) not in formats:
        raise ValueError(
            f"{path}: cannot write a table with the ending {path.suffix!r}: expected {', '.join(formats)}, or - for "
            "CSV on standard output (--out)"
        )
    if ending_of(path) == ".parquet":
        require("pyarrow", "writing Parquet")


def check_spreadsheet_safe(path: Path, wanted: bool) -> None:
    """Raise if text shall be made safe for spreadsheets in a format that has no formulas."""
    if wanted and not ending_of(path).startswith(".csv"):
        raise ValueError(f"--spreadsheet-safe is for CSV; in {path}, text is text and cannot be a formula")


def safe_cell(cell: Cell) -> Cell:
    """Text that a spreadsheet might run as a formula, with an apostrophe before it; numbers and other text unchanged.

    Example:
        >>> [safe_cell(cell) for cell in ("=1+2", "-1.5", "-CCO", "CCO", -1.5, None)]
        ["'=1+2", '-1.5', "'-CCO", 'CCO', -1.5, None]
    """
    if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def ending_of(path: Path) -> str:
    """The ending in lower case; standard output, pipes and devices without an ending get CSV."""
    nameless = not path.suffix and (is_standard_output(path) or is_stream(path))
    if path.name.lower().endswith(".csv.gz"):
        return ".csv.gz"
    return ".csv" if nameless else path.suffix.lower()


def write_columns(path: Path, columns: Columns, spreadsheet_safe: bool = False) -> None:
    """Write columns in the format of the path.

    Args:
        path: The file.
        columns: The columns, with their names.
        spreadsheet_safe: Whether names and cells of CSV are made safe; see :func:`safe_cell`.

    Raises:
        ValueError: Two columns have one name.
    """
    rows = io.BytesIO()
    format = FORMATS[ending_of(path)]
    format.write(rows, checked_columns(columns, spreadsheet_safe), True)
    write_rows(path, rows, format.finish)


def checked_columns(columns: Columns, spreadsheet_safe: bool = False) -> Columns:
    """The columns, if no two have one name; see :func:`write_columns`."""
    names = [name for name, _ in columns]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"the table would have two columns {name!r}: choose the columns of the input to keep by --keep NAMES, "
                'separated by commas (--keep "" keeps none)'
            )
    if spreadsheet_safe:
        return [(str(safe_cell(name)), list(map(safe_cell, cells))) for name, cells in columns]
    return columns


def write_rows(path: Path, rows: BinaryIO, finish: Finish | None) -> None:
    """Write rows to the output, which appears complete or not at all."""
    with open_output(path) as file:
        if finish is not None:
            finish(rows, file)
        else:
            rows.seek(0)
            shutil.copyfileobj(rows, file, 1 << 20)


COLUMNS = "columns"  # what is noted of the first block: the names of its columns


class TableOutput:
    """A table that is written in blocks of rows.

    A file appears when it is complete. If there are several blocks, they are kept beside it, so that whoever is killed
    goes on with the same command; see :class:`~bankgcn.files.journal.Journal`. Standard output, pipes and devices get
    each block at once, unless the format needs all of them.

    Args:
        path: The file.
        format: How rows are written.
        made_from: What decides the content.
        overwrite: Whether to drop rows that are kept.
        spreadsheet_safe: See :func:`write_columns`.
    """

    def __init__(
        self,
        path: Path,
        format: Format,
        made_from: Mapping[str, Any],
        overwrite: bool = False,
        spreadsheet_safe: bool = False,
    ):
        self.path, self.format, self._safe = path, format, spreadsheet_safe
        self._open = ExitStack()
        self._journal: Journal | None = None
        self._first: tuple[bytes, Mapping[str, Any]] | None = None
        self._finishing = False
        if not (is_standard_output(path) or is_stream(path)):
            self._journal = self._open.enter_context(Journal(path, made_from, overwrite))
        elif format.finish is not None:
            self._kept: BinaryIO = self._open.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        elif is_standard_output(path):
            self._kept = self._open.enter_context(open_output(path))
        else:
            self._kept = self._open.enter_context(path.open("wb"))
        self.kept = [] if self._journal is None else self._journal.blocks.copy()
        """What was noted of the blocks that an earlier process wrote."""
        self._names: list[str] | None = self.kept[0][COLUMNS] if self.kept else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._open.__exit__(kind, error, trace)

    def keep(self) -> None:
        """Keep the first block, too, because something has ended the command before the table is complete."""
        if self._journal is not None and self._first is not None and not self._finishing:
            with suppress(OSError):  # the disk is full
                self._journal.append(*self._first)

    @property
    def kept_in(self) -> Path | None:
        """The file with the rows that no kill can take away, if there are any."""
        if self._journal is None or not self._journal.blocks:
            return None
        return self.path.with_name(self._journal.partial.name)

    def write(self, columns: Columns, noted: Mapping[str, Any]) -> None:
        """Add rows.

        Args:
            columns: The columns; those of all blocks are the same.
            noted: What to know of the block when the command goes on.
        """
        columns = checked_columns(columns, self._safe)
        names, begun = [name for name, _ in columns], self._names is not None
        if begun and names != self._names:
            raise ValueError(f"the columns of {self.path} would change from {self._names} to {names}")
        self._names, noted = names, noted if begun else {**noted, COLUMNS: names}
        if self._journal is None:
            self.format.write(self._kept, columns, not begun)
            self._kept.flush()
            return
        content = io.BytesIO()
        self.format.write(content, columns, not begun)
        if not begun:
            self._first = content.getvalue(), noted
            return
        if self._first is not None:
            self._journal.append(*self._first)
            self._first = None
        self._journal.append(content.getvalue(), noted)

    def finish(self) -> None:
        """Let the file appear."""
        self._finishing = True
        if self._journal is not None and self._first is None:
            self._journal.finish(self.format.finish)
        elif self._first is not None:
            write_rows(self.path, io.BytesIO(self._first[0]), self.format.finish)
        elif self.format.finish is not None:
            write_rows(self.path, self._kept, self.format.finish)
