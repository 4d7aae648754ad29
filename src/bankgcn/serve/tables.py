"""Tables as requests: CSV or JSON lines come in, and the same rows go out with their predictions, block by block.

A table is read as it arrives. Its rows are predicted in blocks of what makes one call of the network, and a block is
answered before the next one is read. So a table of any length takes the memory of a block, and a client has to take the
answer while it sends.
"""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bankgcn.data.readers.molecule_tables import smiles_column
from bankgcn.files.checked import FileError
from bankgcn.files.tables import DELIMITERS, TextTable, table_of_rows, write_csv
from bankgcn.serve.access import Limits, RequestError
from bankgcn.serve.engine import CALL_NODES, Answer
from bankgcn.serve.requests import GRAPH_WORK, PredictRequest, sizes_of

LONGEST_ROW = 1 << 20  # bytes, if a request may have as many
UNREADABLE = "unreadable"
GRAPH_KEYS = ("nodes", "edges", "links", "graph", "directed", "multigraph")
"""What an answer does not repeat of a graph."""


class Record(NamedTuple):
    """The bytes of a row, and the line on which it begins."""

    line: int
    text: bytes


class Row(NamedTuple):
    """A row: what the answer repeats of it, and its SMILES or graph."""

    cells: dict[str, Any]
    item: Any
    features: dict[str, Any] | None = None  # of a molecule, by name


class Records:
    """Cuts a body into rows as it arrives.

    Args:
        quoted: Whether cells in quotes may have line feeds.
        longest: Bytes of the longest row.
    """

    def __init__(self, quoted: bool, longest: int):
        self._quoted, self._longest = quoted, longest
        self._line, self._start, self._size, self._quotes = 1, 1, 0, 0
        self._pieces: list[bytes] = []

    def feed(self, part: bytes) -> list[Record]:
        """The rows that are complete now; blank lines are none."""
        found = []
        *ended, rest = part.split(b"\n")
        for line in ended:
            self._add(line + b"\n")
            self._line += 1
            if self._quotes % 2 == 0:
                found += self._take()
        self._add(rest)
        return found

    def end(self) -> list[Record]:
        """The last row, if the body does not end with a line feed.

        Raises:
            RequestError: The body ends within a quoted cell.
        """
        if self._quotes % 2:
            raise RequestError(
                400, f"the body ends in the middle of a row: a quoted cell of line {self._start} has no end"
            )
        return self._take()

    def _add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        self._quotes += piece.count(b'"') if self._quoted else 0
        if self._size > self._longest:
            raise RequestError(413, f"the row of line {self._start} is longer than {self._longest:,} bytes")

    def _take(self) -> list[Record]:
        record = Record(self._start, b"".join(self._pieces))
        self._pieces, self._size, self._quotes, self._start = [], 0, 0, self._line
        return [record] if record.text.strip() else []


class Table(ABC):
    """How the rows of a table are read and written.

    Args:
        form: What the rows have: ``"smiles"`` or ``"graphs"``.
        column: The column or key of the SMILES, if the client names it.
        predicted: Names of the columns of predictions.
        features: Names of the features of molecules that the model takes.
    """

    quoted: bool
    """Whether cells in quotes may have line feeds."""

    def __init__(self, form: str, column: str | None, predicted: Sequence[str], features: Sequence[str]):
        self.form, self.column, self.predicted, self.features = form, column, predicted, features

    @abstractmethod
    def row(self, record: Record) -> Row | None:
        """The row; ``None`` if it names the columns.

        Raises:
            RequestError: It is none.
        """

    @abstractmethod
    def head(self) -> bytes:
        """What stands before the rows of an answer."""

    @abstractmethod
    def written(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """Some rows of an answer."""

    @abstractmethod
    def end(self, reason: str) -> bytes:
        """The last line of an answer that ends early."""

    def answer(self, rows: Sequence[Row], results: Sequence[dict[str, Any] | str]) -> bytes:
        """Rows with their predictions, or with the reasons why they have none."""
        none = dict.fromkeys(self.predicted)
        return self.written(
            [
                {**row.cells, **none, UNREADABLE: result}
                if isinstance(result, str)
                else {**row.cells, **result, UNREADABLE: None}
                for row, result in zip(rows, results, strict=True)
            ]
        )

    def check_names(self, names: Sequence[str]) -> None:
        """Raise if a column of the table has the name of one of the answer."""
        for name in (*self.predicted, UNREADABLE):
            if name in names:
                raise RequestError(422, f"the answer would have two columns {name!r}: leave yours out or rename it")


class CsvTable(Table):
    """Comma-separated values; semicolons and tabs are found, too. The first line names the columns."""

    quoted = True

    def __init__(self, form: str, column: str | None, predicted: Sequence[str], features: Sequence[str]):
        super().__init__(form, column, predicted, features)
        if form != "smiles":
            raise RequestError(415, "the model takes graphs, which CSV cannot hold: send JSON lines")
        self._header: tuple[str, ...] = ()
        self._delimiter = ","

    def row(self, record: Record) -> Row | None:
        """The row; ``None`` if it names the columns."""
        if not self._header:
            self._read_header(record._replace(text=record.text.removeprefix(b"\xef\xbb\xbf")))
            return None
        cells = self._cells(record)
        count = len(self._header)
        if len(cells) < count or any(cell.strip() for cell in cells[count:]):
            early = "" if record.text.endswith(b"\n") else "the body ends in the middle of a row: "
            raise RequestError(400, f"{early}line {record.line} has {len(cells)} cell(s) where the header has {count}")
        named = dict(zip(self._header, cells, strict=False))
        features = {name: _number(named[name]) for name in self.features} if self.features else None
        return Row(named, named[str(self.column)].strip(), features)

    def head(self) -> bytes:
        """The names of the columns."""
        if not self._header:
            raise RequestError(400, "the body is empty: the first line must name the columns")
        return self._table([])

    def written(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """Some rows of an answer."""
        return self._table(rows)[len(self.head()) :]

    def end(self, reason: str) -> bytes:
        """A row with nothing but the reason."""
        return self.written([{UNREADABLE: f"the answer ends here: {reason}"}])

    def _table(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        text = io.BytesIO()
        names = (*self._header, *self.predicted, UNREADABLE)
        write_csv(text, [(name, [row.get(name) for row in rows]) for name in names])
        return text.getvalue()

    def _read_header(self, record: Record) -> None:
        self._delimiter = max(DELIMITERS, key=record.text.decode("utf-8", "replace").count)
        try:
            table = table_of_rows(Path(), [(record.line, self._cells(record))])
        except FileError as error:
            raise RequestError(400, f"the table {error.message}") from None
        self.check_names(table.header)
        self.column = self._smiles_column(table)
        for name in self.features:
            if name not in table.header:
                raise RequestError(422, f"the model needs the feature {name!r}, and the table has no such column")
        self._header = table.header

    def _smiles_column(self, table: TextTable) -> str:
        if self.column is None:
            try:
                return smiles_column(table)
            except FileError:
                reason = "which column holds the molecules is not clear"
        elif self.column in table.header:
            return self.column
        else:
            reason = f"no column is called {self.column!r}"
        raise RequestError(422, f"{reason}: name one by /predict?smiles=NAME; there are {table.listed()}")

    def _cells(self, record: Record) -> list[str]:
        try:
            return next(csv.reader([record.text.decode("utf-8")], delimiter=self._delimiter, strict=True))
        except (csv.Error, UnicodeDecodeError) as error:
            raise RequestError(400, f"line {record.line} cannot be read as CSV in UTF-8: {error}") from None


class JsonTable(Table):
    """An object on each line: with a SMILES and anything else, or a graph."""

    quoted = False

    def row(self, record: Record) -> Row:
        """The row."""
        try:
            content = orjson.loads(record.text)
        except orjson.JSONDecodeError as error:
            early = "" if record.text.endswith(b"\n") else "the body ends in the middle of a row, or "
            raise RequestError(400, f"{early}line {record.line} is not JSON: {error}") from None
        if not isinstance(content, dict):
            raise RequestError(400, f"line {record.line} is no object")
        self.check_names(list(content))
        if self.form == "graphs":
            return Row({key: value for key, value in content.items() if key not in GRAPH_KEYS}, content)
        features = {name: content.get(name) for name in self.features} if self.features else None
        return Row(content, content.get(self.column or "smiles"), features)

    def head(self) -> bytes:
        """Nothing."""
        return b""

    def written(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """Some rows of an answer."""
        return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)

    def end(self, reason: str) -> bytes:
        """An object with nothing but the reason."""
        return self.written([{"error": reason}])


TABLES: Mapping[str, type[Table]] = {
    "text/csv": CsvTable,
    "application/x-ndjson": JsonTable,
    "application/jsonl": JsonTable,
}
"""The forms of tables, by their media types."""


def _number(cell: str) -> float | str | None:
    """What a cell says of a feature: a number, a word, or nothing."""
    try:
        return float(cell) if cell.strip() else None
    except ValueError:
        return cell


async def answer_table(
    table: Table,
    parts: AsyncIterator[tuple[bytes, bool]],
    predict: Callable[[PredictRequest], Awaitable[Answer]],
    limits: Limits,
) -> AsyncIterator[bytes]:
    """The answer, a part for each block. The first one comes when the first block is predicted.

    Args:
        table: How rows are read and written.
        parts: The body as it arrives, each part with whether it is the last one.
        predict: From a request to its answer.
        limits: What is accepted.

    Raises:
        RequestError: The table cannot be read any further, or a block cannot be answered.
    """
    head: bytes | None = None
    async for rows in _blocks(table, parts, limits):
        answer = await _answer_block(table, rows, predict, limits)
        yield (table.head() if head is None else b"") + answer
        head = b""
    if head is None:
        yield table.head()


async def _blocks(table: Table, parts: AsyncIterator[tuple[bytes, bool]], limits: Limits) -> AsyncIterator[list[Row]]:
    """The rows of a table, as many as make one call, or as have arrived."""
    records, count = Records(table.quoted, min(LONGEST_ROW, limits.body)), 0

    def blocks(found: Sequence[Record]) -> Iterator[list[Row]]:
        nonlocal count
        rows: list[Row] = []
        work = 0
        for record in found:
            row = table.row(record)
            if row is None:
                continue
            count += 1
            if count > limits.rows:
                raise RequestError(413, f"a table may have {limits.rows:,} rows, and line {record.line} is one more")
            if rows and (work + len(record.text) > CALL_NODES or len(rows) == limits.graphs):
                yield rows
                rows, work = [], 0
            rows.append(row)
            work += len(record.text) + GRAPH_WORK
        if rows:
            yield rows

    async for part, last in parts:
        for rows in blocks([*records.feed(part), *(records.end() if last else ())]):
            yield rows


async def _answer_block(
    table: Table, rows: Sequence[Row], predict: Callable[[PredictRequest], Awaitable[Answer]], limits: Limits
) -> bytes:
    """The rows with their predictions."""
    results: dict[int, dict[str, Any] | str] = {}
    sizes: dict[int, int] = {}
    for place, row in enumerate(rows):
        try:
            (sizes[place],) = sizes_of(table.form, [row.item], limits)
        except RequestError as error:
            results[place] = error.detail.removeprefix(f"{table.form}[0]: ")
    if sizes:
        features = [rows[place].features or {} for place in sizes] if table.features else None
        items = [rows[place].item for place in sizes]
        answer = await predict(PredictRequest(table.form, items, [*sizes.values()], features=features, by_column=True))
        if isinstance(answer, RequestError):
            raise answer
        results |= zip(sizes, answer["rows"], strict=True)
    return table.answer(rows, [results[place] for place in range(len(rows))])
